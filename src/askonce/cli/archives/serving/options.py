"""The options that each archive of ``askonce serve`` has for itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from askonce.config import as_dict, read_toml, settings
from askonce.errors import AskonceError, ConfigError
from askonce.registry import nearest

MAX_WAIT = 1.0  # seconds that a question of a burst may wait
MOST_WORKERS = 4  # processes that answer questions, unless more are asked for
PUBLIC_RATE = 50.0  # requests per second and address, if other machines can connect


@dataclass(frozen=True)
class ArchiveOptions:
    """Options of one archive, by their names on the command line."""

    rate: float = 0.0
    max_wait: float = MAX_WAIT
    api_key_file: Path | None = None
    allow_unauthenticated_writes: bool = False
    allow_origin: tuple[str, ...] = ()
    clicks: bool = False
    log_searches: int = 0
    image_host: tuple[str, ...] = ()
    ask_url: str | None = None
    webhook: str | None = None
    reading: float = 0.5
    index: str | None = None
    folder: Path | None = None

    def __post_init__(self) -> None:
        if min(self.rate, self.max_wait, self.log_searches) < 0 or not 0 <= self.reading <= 1:
            raise ConfigError(
                f"rate = {self.rate:g}, max-wait = {self.max_wait:g}, log-searches = "
                f"{self.log_searches}, reading = {self.reading:g}; expected rate, max-wait and "
                "log-searches of at least 0, reading from 0 to 1"
            )
        url = self.ask_url
        if url is not None and not (url.startswith(("https://", "http://")) and "{title}" in url):
            raise AskonceError(
                f"--ask-url {url!r}; expected an http or https address that contains {{title}}"
            )


class ArchiveToServe(NamedTuple):
    """An archive by its name, where it is, and its options."""

    name: str
    location: str
    options: ArchiveOptions


def options_by_archive(
    words: Sequence[str], shared: ArchiveOptions, config: Path | None
) -> list[ArchiveToServe]:
    """The archives that were named, each with the shared options and those of its own table."""
    from askonce.server.several.members import named

    archives = named(words)
    if len(archives) > 1 and shared.folder is not None:
        raise AskonceError("--folder is for one archive; with several, set folder in --config")
    tables = read_toml(config) if config is not None else {}
    for name, table in tables.items():
        if name not in archives:
            raise ConfigError(f"{config}: no archive {name!r}; {nearest(name, archives)}")
        if not isinstance(table, dict):
            raise ConfigError(f"{config}: {name} = {table!r}; expected a table [{name}]")
    return [
        ArchiveToServe(name, location, _with(shared, tables.get(name, {}), name))
        for name, location in archives.items()
    ]


def _with(shared: ArchiveOptions, table: dict[str, object], name: str) -> ArchiveOptions:
    own = {key.replace("-", "_"): value for key, value in table.items()}
    return settings(ArchiveOptions, as_dict(shared) | own, where=f"{name}.") if own else shared
