"""API keys, scopes and rate limits."""

import hmac

import pytest
from fastapi import Request

from askonce.engine import Engine
from askonce.errors import AskonceError, ConfigError
from askonce.server import Keys, ServerSettings
from askonce.server.guard.keys import MIN_KEY, is_loopback, origin_of, read_keys
from askonce.server.guard.rates import Rates

WRITE, READ = "write-key-0123456789", "read-key-0123456789"
POST = {"id": "keyed", "title": "A post that needs a key"}


def bearer(key):
    return {"authorization": f"Bearer {key}"}


def settings(**environment):
    return ServerSettings(keys=read_keys(environment))


@pytest.fixture
def engine(bicycles_folder):
    with Engine.open(bicycles_folder) as engine:
        yield engine


def test_no_log_holds_a_question_and_no_log_or_message_a_key(engine, serve, caplog):
    caplog.set_level("DEBUG")
    own = settings(ASKONCE_API_KEY=WRITE, ASKONCE_READ_KEY=READ)
    client = serve(own, engine)
    wrong = "another-key-0123456789"
    answers = [
        client.request(method, path, headers=bearer(key), content=b"{")
        for key in (WRITE, READ, wrong)
        for method, path in (("GET", "/api/similar"), ("POST", "/api/posts"), ("GET", "/nothing"))
    ]
    asked = client.get("/api/ask", params={"q": "zebrafish in the hub"}, headers=bearer(READ))
    own_lines = [r.getMessage() for r in caplog.records if not r.name.startswith("http")]
    assert asked.status_code == 200 and "zebrafish" not in "".join(own_lines)  # not the client's
    reported = caplog.text + repr(own) + "".join(answer.text for answer in answers)
    assert not any(key in reported for key in (WRITE, READ, wrong))
    assert not any(digest.hex() in reported for digest in own.keys.write + own.keys.read)


def test_keys_are_compared_in_constant_time(monkeypatch):
    compared = []
    real = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append(1) or real(a, b))
    keys = read_keys({"ASKONCE_API_KEY": WRITE, "ASKONCE_READ_KEY": READ})
    scope = {"type": "http", "headers": [(b"x-api-key", WRITE.encode())]}
    keys.check(Request(scope), "read")
    assert len(compared) == len(keys.write)  # all of them, whichever it is


def test_scopes(engine, serve):
    client = serve(settings(ASKONCE_API_KEY=WRITE, ASKONCE_READ_KEY=READ), engine)

    def statuses(headers):
        read = client.get("/api/rankers", headers=headers)
        return read.status_code, client.post("/api/posts", json=POST, headers=headers).status_code

    assert statuses({}) == (401, 401)
    assert statuses(bearer("wrong")) == (401, 401)
    assert statuses({"authorization": "Basic abc"}) == (401, 401)
    assert statuses({"x-api-key": "wr\u00f6ng".encode()}) == (401, 401)
    assert statuses(bearer(READ)) == (200, 403)
    assert statuses({"x-api-key": READ}) == (200, 403)
    assert statuses(bearer(WRITE)) == (200, 201)
    assert statuses({"x-api-key": WRITE}) == (200, 201)
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers=bearer(READ)).status_code == 200
    for open_path in ("/", "/healthz", "/readyz", "/openapi.json", "/docs", "/static/app.js"):
        assert client.get(open_path).status_code == 200
    refused = client.get("/api/rankers")
    assert refused.headers["www-authenticate"] == "Bearer"
    assert refused.json()["error"]["type"] == "unauthorized"
    operations = client.get("/openapi.json").json()["paths"]
    assert operations["/api/posts"]["post"]["security"]


# what a reader may send: questions, drafts and marks; webhooks are signed
OPEN = {
    *("/api/ask", "/api/duplicates", "/api/feedback", "/api/hooks/{sender}"),
    *("/rerank", "/v1/rerank", "/v1/embeddings"),
}


def test_every_operation_that_changes_the_archive_needs_a_write_key(engine, serve):
    client = serve(settings(ASKONCE_API_KEY=WRITE, ASKONCE_READ_KEY=READ), engine)
    paths = client.get("/openapi.json").json()["paths"]
    writes = [
        (method.upper(), path.replace("{number}", "1").replace("{post_id}", "q002"))
        for path, operations in paths.items()
        for method in operations
        if method != "get" and path not in OPEN
    ]
    assert len(writes) >= 9 and not any("{" in path for _, path in writes)
    for method, path in writes:
        for headers, status in (({}, 401), (bearer("wrong"), 401), (bearer(READ), 403)):
            refused = client.request(method, path, content=b"{}", headers=headers)
            assert refused.status_code == status, (method, path)


def test_a_key_is_asked_for_before_the_body_is_looked_at(engine, serve):
    client = serve(settings(ASKONCE_API_KEY=WRITE), engine)
    assert client.post("/api/posts", content=b"{").status_code == 401
    assert client.put("/api/posts/q002", json={"title": "x"}).status_code == 401
    assert client.delete("/api/posts/q002").status_code == 401
    assert client.post("/api/posts/delete", json={"ids": ["q002"]}).status_code == 401
    assert client.get("/api/posts/q002").status_code == 200  # reading needs none


def test_without_a_key_nobody_writes_not_even_this_machine(engine, serve):
    client = serve(ServerSettings(), engine)
    refused = client.post("/api/posts", json=POST)
    assert refused.status_code == 403 and "ASKONCE_API_KEY" in refused.json()["error"]["message"]
    assert client.get("/api/posts/q002").status_code == 200


def test_a_token_writes(engine, serve):
    keys, token = Keys().with_token()
    assert len(token) >= MIN_KEY and token not in repr(keys)
    assert Keys().with_token()[1] != token
    client = serve(ServerSettings(keys=keys), engine)
    assert client.post("/api/posts", json=POST).status_code == 401
    assert client.post("/api/posts", json=POST, headers=bearer(token)).status_code == 201


def test_open_writes_are_not_open_to_pages_of_other_sites(engine, serve):
    client = serve(ServerSettings(keys=Keys(open_writes=True)), engine)
    own = str(client.base_url).rstrip("/")
    assert client.post("/api/posts", json=POST, headers={"origin": own}).status_code == 201
    for origin in ("https://evil.example", "null"):
        headers = {"origin": origin}
        assert client.post("/api/posts", json=POST, headers=headers).status_code == 403


def test_keys_of_a_file(tmp_path):
    file = tmp_path / "keys"
    file.write_text(f"# of 2026\nwrite {WRITE}\nread {READ}  # for the page\n\nread {READ}2\n")
    keys = read_keys({}, file)
    assert (len(keys.write), len(keys.read)) == (1, 2)
    assert WRITE not in repr(keys) and "write=" not in repr(keys)
    file.write_text(f"admin {WRITE}\n")
    with pytest.raises(AskonceError, match="line 1: expected 'write KEY'") as reported:
        read_keys({}, file)
    assert WRITE not in str(reported.value)
    with pytest.raises(AskonceError, match="an API key of 5 characters"):
        read_keys({"ASKONCE_API_KEY": "short"})
    with pytest.raises(AskonceError, match="cannot read the API key file"):
        read_keys({}, tmp_path / "none")


def test_loopback():
    assert all(map(is_loopback, ("127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "example.org", "")))


def test_a_client_over_its_rate_gets_retry_after(serve):
    client = serve(ServerSettings(rate=0.5))
    assert client.get("/api/rankers").status_code == 200
    refused = client.get("/api/rankers")
    assert refused.status_code == 429 and refused.json()["error"]["type"] == "rate_limited"
    assert 1 <= int(refused.headers["retry-after"]) <= 2
    assert client.get("/healthz").status_code == 200


def test_a_bucket_fills_again_and_every_client_has_its_own():
    now = [0.0]
    rates = Rates(2, lambda: now[0])

    def passes(address):
        try:
            rates.check(address)
        except Exception as error:
            assert error.status_code == 429
            return False
        return True

    assert [passes("a") for _ in range(5)] == [True] * 4 + [False]
    assert passes("b")
    now[0] = 0.5
    assert [passes("a"), passes("a")] == [True, False]
    assert [passes("2001:db8::1"), *(passes(f"2001:db8::{n:x}") for n in range(2, 6))] == [
        *[True] * 4,
        False,
    ]
    for number in range(20_000):
        passes(f"10.0.{number // 256}.{number % 256}")
    assert len(rates._buckets) == 10_000


@pytest.mark.parametrize(
    ("given", "origin"),
    [
        ("https://Forum.example", "https://forum.example"),
        ("https://forum.example:443/", "https://forum.example"),
        ("http://localhost:3000", "http://localhost:3000"),
    ],
)
def test_an_origin_is_as_browsers_send_it(given, origin):
    assert origin_of(given) == origin


@pytest.mark.parametrize("given", ["forum.example", "https://", "https://a.example/b", "ftp://a.b"])
def test_what_is_no_origin_is_refused(given):
    with pytest.raises(ConfigError, match="is not an origin"):
        origin_of(given)
