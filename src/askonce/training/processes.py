"""One training on several processes, as torchrun starts them: shares of a batch, sums over all."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar, cast

import torch
from torch import Tensor, nn

if TYPE_CHECKING:  # it takes as long to import as torch
    from lightning_fabric import Fabric

Item = TypeVar("Item")


def launched() -> "Fabric":
    """One process, on a GPU when there is one; under torchrun, as many as it started."""
    from lightning_fabric import Fabric

    processes = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    machines = int(os.environ.get("GROUP_WORLD_SIZE", "1"))
    fabric = Fabric(accelerator="auto", devices=processes, num_nodes=machines)
    fabric.launch()
    return fabric


def alone() -> "Fabric":
    """This process on the CPU."""
    from lightning_fabric import Fabric

    return Fabric(accelerator="cpu", devices=1)


def own_part(items: Sequence[Item], fabric: "Fabric") -> list[Item]:
    """This process's share of the items; empty for some if there are fewer than processes."""
    return list(items[fabric.global_rank :: fabric.world_size])


def broadcast_weights(module: nn.Module, fabric: "Fabric") -> None:
    """Give every process the first one's weights."""
    if fabric.world_size > 1:
        for value in module.state_dict().values():
            torch.distributed.broadcast(value, src=0)


def sum_gradients(weights: Sequence[nn.Parameter], fabric: "Fabric") -> None:
    """Give every process the sum of all gradients.

    Unlike DDP this allows steps that leave out some weights, such as the rare words of an adaptive
    softmax, and processes without any example.
    """
    if fabric.world_size == 1:
        return
    grads = [torch.zeros_like(w) if w.grad is None else w.grad for w in weights]
    total = sum_over_processes(torch.cat([grad.flatten() for grad in grads]), fabric)
    parts = torch.split(total, [weight.numel() for weight in weights])
    for weight, part in zip(weights, parts, strict=True):
        weight.grad = part.view_as(weight)


def sum_over_processes(value: Tensor, fabric: "Fabric") -> Tensor:
    """The sum of the processes' values."""
    if fabric.world_size == 1:
        return value
    return cast(Tensor, fabric.all_reduce(value.to(fabric.device), reduce_op="sum"))
