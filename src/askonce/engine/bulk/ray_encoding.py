"""Encode shards of an archive with Ray Data: on this machine, or on a cluster by its address."""

import atexit
import logging
import os
import socket
from collections.abc import Iterator, Sequence
from typing import Any

from askonce.archive import open_archive
from askonce.engine.bulk.shards import Shard, encode_shard
from askonce.errors import AskonceError, MissingExtra
from askonce.index.base import KeyEncoder
from askonce.types import PostKind

LOCAL = "local"
CONNECT_SECONDS = 5.0  # timeout for a cluster
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_worker_niceness": "0",  # Ray would run workers at low priority
}


class RayEncoding:
    """Encodes shards on all cores of Ray; pass it to ``encode_archive``.

    Each worker reads its shards from the archive and gets the encoder from this process, so the
    machines of a cluster need askonce and access to the archive, but no files. Ray starts with the
    first call.
    """

    def __init__(self, address: str = LOCAL) -> None:
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)
        try:
            import ray.data
        except ModuleNotFoundError as error:
            raise MissingExtra(str(error.name), "ray", "encoding with Ray") from None
        self._ray, self._address = ray, address

    def __enter__(self) -> "RayEncoding":
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()

    def __call__(
        self, source: str, kind: PostKind, coder: KeyEncoder, shards: Sequence[Shard]
    ) -> Iterator[tuple[Shard, bytes]]:
        ray = self._ray
        if not ray.is_initialized():
            self._connect()
            self._be_quiet()
        cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
        items = [{"start": shard.start, "end": shard.end} for shard in shards]
        encoded = ray.data.from_items(items, override_num_blocks=len(items)).map(
            _Worker,
            fn_constructor_args=(source, kind, ray.put(coder)),
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=min(cores, len(items))),
            num_cpus=1,
        )
        try:
            for row in encoded.iter_rows():
                yield Shard(int(row["start"]), int(row["end"])), row["content"]
        except ray.exceptions.RayError as error:
            raise AskonceError(f"encoding with Ray failed: {_reason(error)}") from error

    def _connect(self) -> None:
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if self._address == LOCAL:
            self._ray.init(LOCAL, include_dashboard=False, **quiet)
            return
        try:
            _need_answer(self._address)
            self._ray.init(self._address, **quiet)
        except (OSError, ValueError) as error:  # ray's ConnectionError is an OSError
            reason = str(error).partition("\n")[0]
            raise AskonceError(
                f"no Ray cluster at {self._address!r}: {reason}; start one with "
                "`ray start --head --port 6379` and name HOST:6379 (with RAY_AUTH_MODE=token if it "
                "wants a token), or 'local' for this machine"
            ) from None

    def _be_quiet(self) -> None:
        """The caller shows progress and errors."""
        for name in ("ray", "ray.data"):
            logging.getLogger(name).setLevel(logging.ERROR)
        context = self._ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False


class _Worker:
    def __init__(self, source: str, kind: PostKind, coder: Any) -> None:  # noqa: ANN401 - Ray's
        import ray
        import torch

        torch.set_num_threads(1)  # there are as many workers as cores
        # native threads may keep the process from ending; there is nothing to clean up
        atexit.register(os._exit, 0)
        self._archive, self._kind = open_archive(source), kind
        self._coder = ray.get(coder)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        shard = Shard(int(row["start"]), int(row["end"]))
        return {**row, "content": encode_shard(self._archive, self._kind, self._coder, shard)}


def _need_answer(address: str) -> None:
    """Fail quickly if nothing listens at a host and port; Ray would retry for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()


def _reason(error: BaseException) -> str:
    """The error of the worker, without Ray's traceback."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, AskonceError):
            return str(inner)
        inner = getattr(inner, "cause", None) or inner.__cause__
    return str(error).strip().rpartition("\n")[2]
