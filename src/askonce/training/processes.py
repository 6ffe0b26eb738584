"""One run on several processes, as torchrun starts them: who does what, and how sums are made."""

import os
from collections.abc import Sequence
from typing import TypeVar, cast

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

Item = TypeVar("Item")


def launched() -> Fabric:
    """One process, on a GPU when there is one; under torchrun, as many as it started."""
    processes = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    machines = int(os.environ.get("GROUP_WORLD_SIZE", "1"))
    fabric = Fabric(accelerator="auto", devices=processes, num_nodes=machines)
    fabric.launch()
    return fabric


def alone() -> Fabric:
    """This process on the CPU."""
    return Fabric(accelerator="cpu", devices=1)


def own_part(items: Sequence[Item], fabric: Fabric) -> tuple[list[Item], bool]:
    """This process's items, no two processes sharing one, and whether it has any.

    A process without an item gets the first, since it must take part in every sum; what it finds
    should count for nothing.
    """
    own = list(items[fabric.global_rank :: fabric.world_size])
    return (own, True) if own else ([items[0]], False)


def add_up_gradients(weights: Sequence[nn.Parameter], fabric: Fabric) -> None:
    """Give every process the sum of all processes' gradients.

    For losses that leave some weights out, such as the rare words of an adaptive softmax, where
    DDP would wait for gradients that never come.
    """
    if fabric.world_size == 1:
        return
    grads = [torch.zeros_like(w) if w.grad is None else w.grad for w in weights]
    total = added_up(torch.cat([grad.flatten() for grad in grads]), fabric)
    parts = torch.split(total, [weight.numel() for weight in weights])
    for weight, part in zip(weights, parts, strict=True):
        weight.grad = part.view_as(weight)


def added_up(value: Tensor, fabric: Fabric) -> Tensor:
    """The sum over processes."""
    if fabric.world_size == 1:
        return value
    return cast(Tensor, fabric.all_reduce(value.to(fabric.device), reduce_op="sum"))
