"""Several archives in one server: names, keys, metrics, the joint search, faults of one of them."""

import re
import signal
from types import SimpleNamespace

import pytest

from askonce.archive import Archive
from askonce.cli.archives import serve
from askonce.cli.archives.serving.options import ArchiveOptions, options_by_archive
from askonce.engine import Engine
from askonce.errors import AskonceError, ConfigError
from askonce.ranking.manifest import Manifest, new_folder, write_manifest
from askonce.server.guard.hosts import AllowedHosts
from askonce.server.guard.keys import read_keys
from askonce.server.service import ServerSettings, Service
from askonce.server.several.app import create_several_app
from askonce.server.several.members import Member, named
from askonce.server.several.routes import join_by_rank, join_similar
from askonce.types import Post
from tests.server.conftest import running_app, until

BIKES = [Post("q1", "How do I clean a rusty chain?"), Post("q2", "Which oil for my chain?")]
COOKING = [Post("q1", "How do I clean a rusty pan?"), Post("q3", "How do I boil an egg?")]
BIKE_KEY, PAN_KEY, PAN_READER = "key-of-bikes-0123", "key-of-cooking-01", "reader-of-cooking"


def make(folder, posts):
    archive = Archive.open(folder, create=True)
    archive.write(posts)
    archive.close()
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
    return make(folder / "bikes.askonce", BIKES), make(folder / "cooking.askonce", COOKING)


@pytest.fixture(scope="module")
def client(folders):
    """A server with an open archive, one that wants a key from readers, and one out of order."""
    bikes, cooking = folders
    locked = {"ASKONCE_API_KEY": PAN_KEY, "ASKONCE_READ_KEY": PAN_READER}
    with Engine.open(bikes) as one, Engine.open(cooking) as other:
        members = [
            Member("bikes", Service(one, settings(ASKONCE_API_KEY=BIKE_KEY))),
            Member("cooking", Service(other, settings(**locked))),
            Member("damaged", error="/secret/place: not a database"),
        ]
        with running_app(create_several_app(members, AllowedHosts())) as client:
            yield client


def settings(rate=0.0, **environment):
    return ServerSettings(rate=rate, keys=read_keys(environment), one_of_several=True)


def key(value):
    return {"x-api-key": value}


def found(client, value="", **params):
    response = client.get("/api/search", params={"q": "clean rusty", **params}, headers=key(value))
    assert response.status_code == 200, response.text
    return response.json()


def test_each_archive_has_its_own_posts_and_keys(client):
    post = {"id": "q9", "title": "A new question about spokes"}
    for name, own, other in (("bikes", BIKE_KEY, PAN_KEY), ("cooking", PAN_KEY, BIKE_KEY)):
        for wrong in ("", other, PAN_READER):
            refused = client.post(f"/{name}/api/posts", json=post, headers=key(wrong))
            assert refused.status_code in (401, 403), (name, wrong)
        assert client.delete(f"/{name}/api/posts/q1", headers=key(other)).status_code == 401
        read = client.get(f"/{name}/api/similar", params={"q": "rusty"}, headers=key(own)).json()
        assert [hit["id"] for hit in read["similar"]] == ["q1"]
    assert client.get("/cooking/api/rankers").status_code == 401
    assert client.get("/cooking/api/rankers", headers=key(BIKE_KEY)).status_code == 401
    assert client.get("/cooking/api/rankers", headers=key(PAN_READER)).status_code == 200
    assert client.get("/bikes/api/rankers").status_code == 200
    assert client.post("/bikes/api/posts", json=post, headers=key(BIKE_KEY)).status_code == 201
    assert client.get("/bikes/api/posts/q9").status_code == 200
    assert client.get("/cooking/api/posts/q9", headers=key(PAN_KEY)).status_code == 404


def test_the_joint_search_covers_what_the_key_may_read(client):
    everyone = found(client)
    assert everyone["searched"] == ["bikes"] and list(everyone["failed"]) == ["damaged"]
    assert "/secret" not in str(everyone)
    assert [(hit["archive"], hit["id"]) for hit in everyone["similar"]] == [("bikes", "q1")]
    both = found(client, PAN_READER)
    assert both["searched"] == ["bikes", "cooking"] and both["joined_by"] == "rank"
    ids = [(hit["archive"], hit["id"]) for hit in both["similar"]]
    assert ids[:2] == [("bikes", "q1"), ("cooking", "q1")]
    assert found(client, PAN_READER, k=1)["similar"][0]["archive"] == "bikes"
    one = found(client, PAN_READER, archive="cooking")
    assert one["searched"] == ["cooking"] and {h["archive"] for h in one["similar"]} == {"cooking"}

    def status(**params):
        return client.get("/api/search", params=params).status_code

    assert status(q="x", archive="cooking") == 401
    assert status(q="x", archive="damaged") == 503
    assert status(q="x", archive=["cooking", "damaged"]) == 401
    assert status(q="x", archive="nobody") == 404
    assert status(q=" ") == status(q="x", k=0) == 422


def test_probabilities_compare_archives_and_else_ranks_do():
    def hit(name, probability, pinned=False):
        return SimpleNamespace(id=name, duplicate_probability=probability, pinned=pinned)

    def ids(joined):
        return [f"{archive}-{hit.id}" for archive, hit in joined]

    calibrated = {"a": [hit("1", 0.6), hit("2", 0.5)], "b": [hit("1", 0.9), hit("2", 0.5)], "c": []}
    joined, by = join_similar(calibrated, 9)
    assert by == "probability" and ids(joined) == ["b-1", "a-1", "a-2", "b-2"]
    joined, by = join_similar(calibrated | {"c": [hit("1", None)]}, 4)
    assert by == "rank" and ids(joined) == ["a-1", "b-1", "c-1", "a-2"]
    joined, _ = join_similar(calibrated | {"c": [hit("1", 0.0, pinned=True)]}, 2)
    assert ids(joined) == ["c-1", "b-1"]
    assert ids(join_by_rank(calibrated, 3)) == ["a-1", "b-1", "a-2"]


def test_metrics_are_apart(client):
    def asked(archive):
        text = client.get("/metrics", headers=key(PAN_READER)).text
        pattern = rf'requests_total{{archive="{archive}",.*route="/api/rankers".*}} (\d+)'
        return sum(int(n) for n in re.findall(pattern, text))

    bikes, cooking = asked("bikes"), asked("cooking")
    client.get("/bikes/api/rankers")
    assert (asked("bikes"), asked("cooking")) == (bikes + 1, cooking)
    text = client.get("/metrics", headers=key(PAN_READER)).text
    assert 'askonce_posts{archive="cooking"} 2.0' in text
    assert 'askonce_ready{archive="bikes"} 1.0' in text
    assert 'askonce_ready{archive="damaged"} 0.0' in text
    assert text.count("# TYPE askonce_posts ") == 1
    assert 'archive="cooking"' not in client.get("/metrics").text
    own = client.get("/bikes/metrics").text
    assert "archive=" not in own and 'route="/api/rankers"' in own
    assert client.get("/cooking/metrics").status_code == 401
    client.get("/bikes/static/app.js")
    client.get("/bikes/nothing/here")
    # a file is counted when it is closed, which may be after the client has read it
    routes = ('route="/static"', 'route="other"')
    until(lambda: all(route in client.get("/bikes/metrics").text for route in routes))
    assert "nothing" not in client.get("/bikes/metrics").text


def test_the_server_as_a_whole(client):
    assert client.get("/healthz").json() == {"status": "ok"}
    state = client.get("/readyz")
    assert state.status_code == 200 and state.json()["failed"] == ["damaged"]
    assert list(state.json()["archives"]) == ["bikes", "cooking"]
    page = client.get("/")
    assert 'href="bikes/"' in page.text and "Cannot be served now" in page.text
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert client.head("/").status_code == client.head("/readyz").status_code == 200
    moved = client.get("/bikes?q=chain")
    assert moved.status_code == 307 and moved.headers["location"] == "bikes/?q=chain"
    for path in ("/nobody", "/nobody/api/ask", "/nobody/"):
        assert client.get(path).status_code == 404
    for path in ("/damaged/", "/damaged/api/ask", "/damaged/readyz"):
        refused = client.get(path)
        assert refused.status_code == 503 and "secret" not in refused.text
    assert client.get("/", headers={"host": "evil.example"}).status_code == 421
    assert client.get("/bikes/", headers={"host": "evil.example"}).status_code == 421
    assert client.get("/bikes/healthz", headers={"host": "evil.example"}).status_code == 200
    assert "/bikes/docs" in client.get("/bikes/nothing").json()["error"]["message"]
    assert client.delete("/bikes/api/rankers").headers["allow"] == "GET"
    assert client.get("/bikes/openapi.json").json()["servers"] == [{"url": "/bikes"}]
    assert "/api/search" in client.get("/docs").text
    assert client.get("/bikes/api/page").json()["one_of_several"] is True


@pytest.mark.filterwarnings("ignore")  # of the package and its streams
def test_assistants_use_one_archive(client):
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    listed = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"accept": "application/json, text/event-stream"}
    assert client.post("/cooking/mcp", json=listed, headers=accept).status_code == 401
    tools = client.post("/bikes/mcp", json=listed, headers=accept)
    assert tools.status_code == 200 and "search_questions" in tools.text


def test_a_rate_is_that_of_an_archive(bicycles):
    members = [
        Member("slow", Service(bicycles, settings(rate=0.001))),
        Member("quick", Service(bicycles, settings())),
    ]
    with running_app(create_several_app(members, AllowedHosts())) as client:
        statuses = [client.get("/slow/api/rankers").status_code for _ in range(2)]
        assert statuses == [200, 429]
        assert client.get("/quick/api/rankers").status_code == 200
        assert client.get("/api/search", params={"q": "chain"}).status_code == 429
        quick = {"q": "chain", "archive": "quick"}
        assert client.get("/api/search", params=quick).status_code == 200


def test_a_fault_of_one_archive_leaves_the_others(bicycles, bicycles_folder, caplog, monkeypatch):
    with Engine.open(bicycles_folder) as broken:
        monkeypatch.setattr(broken, "ask_many", lambda *_: 1 / 0)
        members = [
            Member("a", Service(broken, settings())),
            Member("b", Service(bicycles, settings())),
        ]
        with running_app(create_several_app(members, AllowedHosts())) as client:
            answer = client.get("/api/search", params={"q": "chain"}).json()
    assert answer["searched"] == ["b"] and "server log" in answer["failed"]["a"]
    assert "division by zero" in caplog.text


def test_names_of_archives(tmp_path):
    assert named(["x/bikes.askonce", "Pan=y/c.askonce", "bicycles", "posts.jsonl.gz"]) == {
        "bikes": "x/bikes.askonce",
        "Pan": "y/c.askonce",
        "bicycles": "bicycles",
        "posts": "posts.jsonl.gz",
    }
    address = "postgresql://forum@db/bikes?host=/run&options=-cx%3D1"
    assert named([address, "a=" + address]) == {"bikes": address, "a": address}
    assert named(["with space.askonce"]) == {"with space": "with space.askonce"}  # the only one
    (tmp_path / "a=b").mkdir()
    assert list(named([str(tmp_path / "a=b")]).values()) == [str(tmp_path / "a=b")]
    for words, message in (
        (["a/x.askonce", "b/x.askonce"], "two archives have the name 'x'; choose another with"),
        (["api=a", "b"], "'api' is an address of the server itself"),
        (["with space", "b"], "'with space' cannot be part of an address"),
        ([".", "b"], "'' cannot be part of an address"),
    ):
        with pytest.raises(AskonceError, match=re.escape(message)):
            named(words)


def test_options_of_single_archives(tmp_path):
    config = tmp_path / "several.toml"
    config.write_text(
        "[b]\nrate = 5\napi-key-file = 'b.keys'\nallow-origin = ['https://b.example']"
    )
    a, b = options_by_archive(["a", "b"], ArchiveOptions(rate=1.0, clicks=True), config)
    assert a.options == ArchiveOptions(rate=1.0, clicks=True)
    assert (b.options.rate, str(b.options.api_key_file), b.options.clicks) == (5, "b.keys", True)
    assert b.options.allow_origin == ("https://b.example",)
    for text, message in (
        ("[c]\nrate = 5", "no archive 'c'"),
        ("[b]\nrat = 5", "unknown setting 'b.rat'; did you mean 'rate'"),
        ("[b]\nrate = 'x'", "b.rate = 'x'; expected float"),
        ("[b]\nreading = 2.0", "reading from 0 to 1"),
        ("b = 1", "expected a table"),
    ):
        config.write_text(text)
        with pytest.raises(ConfigError, match=re.escape(message)):
            options_by_archive(["a", "b"], ArchiveOptions(), config)
    with pytest.raises(AskonceError, match="set folder in --config"):
        options_by_archive(["a", "b"], ArchiveOptions(folder=tmp_path), None)


@pytest.mark.slow
def test_the_command_serves_what_it_can(tmp_path, served, wait_until):
    good, other = make(tmp_path / "good.askonce", BIKES), make(tmp_path / "b.askonce", COOKING)
    bad = make(tmp_path / "bad.askonce", COOKING)
    (bad / "archive.sqlite3").write_bytes(b"no database" * 1000)
    config, keys = tmp_path / "several.toml", tmp_path / "keys"
    keys.write_text(f"read {PAN_READER}\n")
    config.write_text(f"[pans]\napi-key-file = '{keys}'")
    arguments = (good, f"pans={other}", bad, "--config", config)
    with served(*arguments, key=None) as (process, client):
        lines = [process.stdout.readline() for _ in range(2)]
        assert [line.split(" until")[0] for line in lines] == [
            "Token for writing to good",
            "Token for writing to pans",
        ]
        tokens = [re.search(r"stops: (\S+)", line)[1] for line in lines]
        wait_until(lambda: client.get("/readyz").status_code == 200)
        assert client.get("/readyz").json()["failed"] == ["bad"]
        post = {"id": "new", "title": "Zebrafish"}
        for name, own, wrong in (("good", *tokens), ("pans", *reversed(tokens))):
            path = f"/{name}/api/posts"
            assert client.post(path, json=post, headers=key(wrong)).status_code == 401
            assert client.post(path, json=post, headers=key(own)).status_code == 201
        assert client.get("/pans/api/posts/new").status_code == 401
        assert client.get("/pans/api/posts/new", headers=key(PAN_READER)).status_code == 200
        assert client.get("/bad/").status_code == 503

        write_manifest(new_folder(good), Manifest("2026-01-01T00:00:00+00:00"))  # a training ends
        wait_until(lambda: client.get("/good/readyz").json()["model"] == "0001")
        assert client.get("/pans/readyz").json()["model"] is None
        assert client.get("/pans/readyz").json()["building"] is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        said = process.stderr.read()
    assert "Traceback" not in said
    assert "bad cannot be served: " in said and "good: ready: searching 2 posts" in said
    with Engine.open(good, exclusive=True) as engine:  # saved and released
        assert engine.similar("zebrafish")[0].id == "new"


def test_no_archive_to_serve(tmp_path):
    places = [str(tmp_path / "a.askonce"), str(tmp_path / "b.askonce")]
    with pytest.raises(AskonceError, match=r"a cannot be served: no archive .* b cannot be served"):
        serve.serve(places, port=0)


def test_a_wrong_option_of_any_archive_stops_the_start(tmp_path):
    config = tmp_path / "several.toml"
    config.write_text("[b]\napi-key-file = 'nowhere'")
    with pytest.raises(AskonceError, match="cannot read the API key file"):
        serve.serve(["a=bicycles", "b=bicycles"], port=0, config=config)
