"""A real server on the bicycles archive, and a real browser that looks at its page."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import httpx
import numpy as np
import pytest

from askonce.archive import Archive
from askonce.cli.archives.serving.options import ArchiveOptions, ArchiveToServe
from askonce.cli.archives.serving.run import open_archives
from askonce.ranking.calibration import Calibration
from askonce.ranking.manifest import Manifest, Serving, new_folder, write_manifest
from askonce.ranking.votes import VoteWeights
from askonce.server.guard.hosts import AllowedHosts
from askonce.types import Post
from tests.server.conftest import running_app, until

CHROMIUM = shutil.which("chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
    # less to start for each page
    "--in-process-gpu",
    "--process-per-site",
]
BICYCLES = Path(__file__).parents[2] / "src" / "askonce" / "data" / "bicycles.jsonl"
MODERATOR = "a-key-of-a-moderator-01"
COPIED = "Why does my rear tyre go flat every single week?"
# pictures of the documentation, and their heights
PICTURES = {"archives": 640, "desk": 800, "results": 860, "suggestions": 640, "widget": 424}
PATIENCE = 60_000  # milliseconds that the page may take for anything, on a busy machine


@contextmanager
def serving(
    archive: Path, model: str | None = None, more: ArchiveOptions | None = None, **environment: str
) -> Iterator[str]:
    """Serve as ``askonce serve`` does until the tests are done; the address, once it is ready.

    In this process, which has loaded torch already.
    """
    options = more or ArchiveOptions(
        allow_unauthenticated_writes="ASKONCE_API_KEY" not in environment
    )
    to_serve = ArchiveToServe(archive.stem, str(archive), options)
    hosts = AllowedHosts.bound_to("127.0.0.1")
    with ExitStack() as stack:
        with patch.dict(os.environ, environment):
            served = open_archives([to_serve], hosts, threads=2, stack=stack)
        engine = served.members[0].needed().engine
        engine.start(background=True)
        until(lambda: engine.status().model == model)
        client = stack.enter_context(running_app(served.app))
        yield str(client.base_url).rstrip("/") + "/"


@pytest.fixture(scope="session")
def bicycles(
    tmp_path_factory: pytest.TempPathFactory,
    askonce: Callable[..., subprocess.CompletedProcess[str]],
) -> Path:
    """The bicycles archive, imported by the command line."""
    folder = tmp_path_factory.mktemp("page") / "bicycles.askonce"
    assert askonce("import", "jsonl", BICYCLES, "--into", folder).returncode == 0
    return folder


@pytest.fixture(scope="session")
def bare(bicycles: Path) -> Iterator[str]:
    """The address of a server without a trained model."""
    with serving(bicycles) as address:
        yield address


@pytest.fixture(scope="session")
def http() -> Iterator[httpx.Client]:
    """A client of all servers, made once: loading certificates takes longer than a request."""
    with httpx.Client(verify=False, timeout=60) as client:
        yield client


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address of a server that wants a key from its readers, and the key."""
    key = "a-key-of-a-reader-0001"
    folder = tmp_path / "locked.askonce"
    archive = Archive.open(folder, create=True)
    archive.write([Post("q1", "Why do I keep getting punctures?")])
    archive.close()
    with serving(folder, ASKONCE_READ_KEY=key) as address:
        yield address, key


@pytest.fixture(scope="session")
def modelled_archive(bicycles: Path) -> Path:
    """The same archive with models, left as a training leaves them."""
    folder = bicycles.parent / "modelled" / bicycles.name
    folder.parent.mkdir()
    archive = Archive.open(folder, create=True)
    source = Archive.open(bicycles)
    archive.write(source.iterate(html=True), source.links())
    source.close()
    _leave_models(archive, folder)
    archive.close()
    return folder


@pytest.fixture(scope="session")
def modelled(modelled_archive: Path) -> Iterator[str]:
    """The address of a server with models and their figures."""
    with serving(modelled_archive, model="0001") as address:
        yield address


def _leave_models(archive: Archive, folder: Path) -> None:
    """Small models with seeded weights: what they rank is no good, but all of it is real."""
    from askonce.ranker import Ranker
    from askonce.text.lexicon import Lexicon

    lexicon = Lexicon.build(archive.iterate())
    vectors = np.random.default_rng(1).normal(0, 0.1, (len(lexicon.vocabulary), 16))
    home = new_folder(folder)
    ranker = Ranker.create("hyperqa", lexicon, vectors.astype(np.float32), {"dim": 16})
    ranker.save(home / "encoder")
    serving = Serving(
        "encoder",
        weights={"bm25": 1.0, "vectors": 0.25},
        calibration=Calibration(-3.0, {"bm25": 0.15, "shared": 4.0}),
        blend=VoteWeights(votes=0.5, accepted=1.0),
        labels="duplicates",
        figures={
            "dev": {"bm25": _figures(0.58), "vectors": _figures(0.51), "fused": _figures(0.66)},
            "test": {"bm25": _figures(0.55), "vectors": _figures(0.5), "fused": _figures(0.62)},
        },
        queries={"train": 120, "dev": 30, "test": 30},
        history=tuple(_epoch(number) for number in range(1, 13)),
        seconds=74.0,
    )
    write_manifest(home, Manifest("2026-01-01T00:00:00+00:00", serving, serving))


def _figures(value: float) -> dict[str, float]:
    return {"MAP": value, "MRR": value + 0.05, "P@1": value - 0.1, "nDCG@10": value + 0.07}


def _epoch(number: int) -> dict[str, object]:
    dev = {"MAP": 0.51 - 0.2 / number + 0.003 * (number % 3)}
    return {"epoch": number, "loss": 0.6 / number, "rate": 0.01, "seconds": 2.0, "dev": dev}


@pytest.fixture(scope="session")
def desk(tmp_path_factory):
    """The address of a server with likely duplicates, whose moderator has a key."""
    folder = tmp_path_factory.mktemp("desk") / "desk.askonce"
    archive = Archive.open(folder, create=True)
    archive.write(
        [
            Post("q1", COPIED, "Always the rear one.", created="2020-01-01"),
            Post("q2", COPIED, "Always the rear one, help.", created="2020-02-01"),
            Post("a1", body="A thorn is stuck.", kind="answer", parent="q1", accepted=True),
            Post("a2", body="Change the tube.", kind="answer", parent="q2"),
            Post("q3", "How do I true a wheel?", "It wobbles.", created="2020-03-01"),
            Post("q4", "Truing a wheel that wobbles", "How do I do it?", created="2020-04-01"),
            Post("a3", body="Turn the nipples.", kind="answer", parent="q3", score=3),
        ]
    )
    archive.close()
    url = "https://forum.example/ask?t={title}&b={body}"
    more = ArchiveOptions(log_searches=30, ask_url=url, image_host=("images.example",))
    with serving(folder, more=more, ASKONCE_API_KEY=MODERATOR) as address:
        yield address


@pytest.fixture(scope="session")
def browser():
    """Debian's Chromium; absent, the tests are skipped everywhere but in CI."""
    sync_api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        reason = "no chromium on this machine; apt-get install chromium fonts-dejavu"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@dataclass
class Trouble:
    """What a browser complained of; a test that provokes an error says which."""

    seen: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    @contextmanager
    def watch(self, profile) -> Iterator[None]:
        """Note errors and warnings of the console, failed requests and error answers."""
        listeners = {
            "weberror": lambda error: self.seen.append(f"error: {error.error}"),
            "console": self._console,
            "requestfailed": self._failed,
            "response": lambda r: r.status >= 400 and self.seen.append(f"{r.status} {r.url}"),
        }
        for event, listener in listeners.items():
            profile.on(event, listener)
        yield
        for event, listener in listeners.items():
            profile.remove_listener(event, listener)

    def _console(self, message) -> None:
        if message.type in ("error", "warning"):
            self.seen.append(f"console: {message.text}")

    def _failed(self, request) -> None:
        if "ERR_ABORTED" not in (request.failure or ""):  # the page drops what is out of date
            self.seen.append(f"failed: {request.url} {request.failure}")

    def unexpected(self) -> list[str]:
        return [text for text in self.seen if not any(part in text for part in self.expected)]


@pytest.fixture
def trouble() -> Trouble:
    return Trouble()


@pytest.fixture(scope="session")
def profile(browser):
    """A profile for all tests with two pages, emptied after each test.

    Pages of one site share a process as long as one of them is open, and a page that stays takes
    half the time of a new one: processes and pages for each test would be most of what they cost.
    """
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    stays = context.new_page()
    stays.route("**", lambda route: route.fulfill(body="", content_type="text/html"))
    stays.goto("http://127.0.0.1/")
    context.new_page()
    yield context
    context.close()


def empty(profile) -> None:
    """Close the pages that a test opened beside the first, and forget all that they stored."""
    profile.set_offline(False)
    _, first, *others = profile.pages
    for page in others:
        page.close()
    for frame in first.frames:
        frame.evaluate("() => { try { sessionStorage.clear(); } catch {} }")
    first.unroute_all()
    first.goto("about:blank")
    session = profile.new_cdp_session(first)
    session.send("Page.resetNavigationHistory")
    session.send("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})
    session.send("Network.clearBrowserCache")
    session.detach()


@pytest.fixture
def open_page(profile, trouble: Trouble):
    """A function that opens an address in an empty profile; nothing may go wrong there."""
    used = []

    def open_page(address: str, width: int = 1280, height: int = 860, theme: str = "light"):
        page = profile.new_page() if used else profile.pages[1]
        used.append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        page.goto(address)
        return page

    with trouble.watch(profile):
        yield open_page
        empty(profile)
    assert trouble.unexpected() == []


@pytest.fixture(scope="session")
def photograph(request: pytest.FixtureRequest) -> Callable[..., None]:
    """A function that saves a picture of the whole page; not in the quick tests, as it is slow."""
    folder = request.config.rootpath / "build" / "screenshots"
    quick = request.config.option.markexpr == "not slow"

    def save(page, name: str) -> None:
        if not quick:
            folder.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=folder / f"{name}.png", full_page=True)

    return save


@pytest.fixture
def picture():
    """A function that saves what a page shows, if it is a picture of the documentation.

    ``make pictures`` names the folder; otherwise nothing is written.
    """
    folder = os.environ.get("ASKONCE_SCREENSHOTS")

    def save(page, name: str) -> None:
        if folder and name in PICTURES:
            clip = {"x": 0, "y": 0, "width": page.viewport_size["width"], "height": PICTURES[name]}
            page.screenshot(path=Path(folder) / f"{name}.png", clip=clip, animations="disabled")

    return save
