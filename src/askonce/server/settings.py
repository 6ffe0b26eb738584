"""How a server is run: how much it takes on at once, from whom, and who may write."""

import math
from dataclasses import dataclass, field

from askonce.server.guard.keys import Keys


@dataclass(frozen=True)
class LaneSettings:
    """How many requests of a kind are in work, how many may wait, and for how long."""

    work: int
    queue: int
    patience: float  # seconds; who waited longer is refused rather than served late
    steady: float = math.inf  # seconds in work; when it takes longer, fewer are in work
    least: int = 2  # but so many always


@dataclass(frozen=True)
class ServerSettings:
    """Limits and keys of a server; what a request may hold is in ``limits``."""

    body_bytes: int = 4 * 2**20
    threads: int = 2  # runs of the engine at the same time; more than cores makes all slower
    batch: int = 8  # questions that go through the models together
    # 80 ms of waiting and about 100 ms in work, on machines of any speed, stay below 300 ms
    queries: LaneSettings = LaneSettings(work=8, queue=64, patience=0.08, steady=0.1)
    # one at a time, so that two edits of a post never lose one; importers rather wait than fail
    writes: LaneSettings = LaneSettings(work=1, queue=64, patience=5.0)
    bulk: LaneSettings = LaneSettings(work=2, queue=8, patience=1.0)  # embeddings, rerank, overview
    rate: float = 0.0  # requests per second of one client address; 0 is no limit
    keys: Keys = field(default_factory=Keys)
