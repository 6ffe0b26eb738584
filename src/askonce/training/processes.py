"""Training on several processes, as torchrun starts them, and the time of a single core."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, nn

Item = TypeVar("Item")


@dataclass(frozen=True)
class Processes:
    """This process among those of one training; by default alone, on the CPU."""

    device: torch.device | str = "cpu"
    global_rank: int = 0
    world_size: int = 1

    def seed(self, number: int) -> None:
        if torch.device(self.device).type == "cpu":
            torch.default_generator.manual_seed(number)  # the others: see models.base.seeded
        else:
            torch.manual_seed(number)

    def barrier(self) -> None:
        if self.world_size > 1:
            torch.distributed.barrier()


ALONE = Processes()


def launched() -> Processes:
    """One process, on a GPU when there is one; under torchrun, as many as it started."""
    accelerated = torch.cuda.is_available() or torch.backends.mps.is_available()
    if "LOCAL_WORLD_SIZE" not in os.environ and not accelerated:
        return ALONE
    from lightning_fabric import Fabric  # it takes longer to import than torch

    devices = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    machines = int(os.environ.get("GROUP_WORLD_SIZE", "1"))
    fabric = Fabric(accelerator="auto", devices=devices, num_nodes=machines)
    fabric.launch()
    return Processes(fabric.device, fabric.global_rank, fabric.world_size)


def own_part(items: Sequence[Item], processes: Processes) -> list[Item]:
    """This process's share of the items; empty for some if there are fewer than processes."""
    return list(items[processes.global_rank :: processes.world_size])


def broadcast_weights(module: nn.Module, processes: Processes) -> None:
    if processes.world_size > 1:
        for value in module.state_dict().values():
            torch.distributed.broadcast(value, src=0)


def sum_gradients(weights: Sequence[nn.Parameter], processes: Processes) -> None:
    """Give every process the sum of all gradients.

    Unlike DDP this allows steps that leave out some weights, such as the rare words of an adaptive
    softmax, and processes without any example.
    """
    if processes.world_size == 1:
        return
    grads = [torch.zeros_like(w) if w.grad is None else w.grad for w in weights]
    total = sum_over_processes(torch.cat([grad.flatten() for grad in grads]), processes)
    parts = torch.split(total, [weight.numel() for weight in weights])
    for weight, part in zip(weights, parts, strict=True):
        weight.grad = part.view_as(weight)


def sum_over_processes(value: Tensor, processes: Processes) -> Tensor:
    if processes.world_size > 1:
        value = value.to(processes.device)
        torch.distributed.all_reduce(value)
    return value


def core_seconds(call: Callable[[], object]) -> float:
    """Seconds of one core that a call takes, however busy the machine is."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        begin = time.process_time()
        call()
        return time.process_time() - begin
    finally:
        torch.set_num_threads(threads)
