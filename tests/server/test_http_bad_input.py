"""Whatever is sent, the server answers with one shape of error and goes on."""

import gzip
import json
import socket
import time
from urllib.parse import quote
from urllib.request import urlopen

import pytest

from askonce.archive.rows import MOST_TAGS
from askonce.text.sanitise import clean_text, safe_html

MEGABYTES = 10 * 2**20
GZIPPED = {"content-type": "application/json", "content-encoding": "gzip"}


def refused(response, status):
    assert response.status_code == status, response.text
    body = response.json()
    assert set(body) == {"error"} and set(body["error"]) == {"type", "message"}
    message = body["error"]["message"]
    assert message and "\n" not in message and "Traceback" not in message
    return message


def gzipped(content):
    return {"content": gzip.compress(content), "headers": GZIPPED}


def test_a_gzipped_body_is_unpacked_up_to_the_limit(reading):
    draft = b'{"title": "Rear tyre keeps going flat"}'
    assert reading.post("/api/duplicates", **gzipped(draft)).json()["similar"]
    bomb = gzipped(b'{"title": "' + b" " * 100 * 2**20 + b'"}')
    assert len(bomb["content"]) < 2**20
    assert "longer than 4,194,304 bytes" in refused(reading.post("/api/duplicates", **bomb), 413)
    for damaged in (draft, gzip.compress(draft)[:-5], gzip.compress(draft) + b"more"):
        refused(reading.post("/api/duplicates", content=damaged, headers=GZIPPED), 400)


def test_other_encodings_are_refused(reading):
    headers = {**GZIPPED, "content-encoding": "br"}
    refusal = reading.post("/api/duplicates", content=b"x", headers=headers)
    assert "'br'" in refused(refusal, 415) and refusal.headers["accept-encoding"] == "gzip"


def test_the_limit_of_tags_is_that_of_the_archive(writing):
    post = {"id": "tagged", "title": "Tags"}
    most = [f"tag {number:<195}x" for number in range(MOST_TAGS)]
    assert writing.post("/api/posts", json=post | {"tags": most}).status_code == 201
    message = refused(writing.post("/api/posts", json=post | {"tags": [*most, "one"]}), 422)
    assert f"at most {MOST_TAGS} items" in message


@pytest.mark.parametrize("k", ["-1", "0", "1000000000", "ten", "1.5", ""])
def test_an_impossible_number_of_results(reading, k):
    assert "k:" in refused(reading.get("/api/similar", params={"q": "wheel", "k": k}), 422)


@pytest.mark.parametrize("q", ["", "   ", "\x00\x01", "\u0085", "x" * 8001])
def test_an_empty_or_endless_question(reading, q):
    for path in ("/api/similar", "/api/answers", "/api/ask"):
        refused(reading.get(path, params={"q": q}), 422)


def test_a_missing_question(reading):
    assert refused(reading.get("/api/similar"), 422) == "q: field required"


def test_the_longest_question_passes_in_any_script(reading):
    # httpx refuses addresses of more than 64 KiB
    address = f"{reading.base_url}/api/similar?q={quote('車輪' * 4000)}"
    with urlopen(address.replace("//api", "/api")) as response:
        assert response.status == 200


@pytest.mark.parametrize(
    "q", ["wheel\x00\x07air", "\u202ewheel", "🚲 wheel", '"wheel AND (', "'; --", "%ff", "a" * 7000]
)
def test_an_odd_question_is_a_question(reading, q):
    assert reading.get("/api/ask", params={"q": q}).status_code == 200


def test_bytes_that_are_no_text(reading):
    assert reading.get("/api/similar?q=%ff%fewheel").status_code == 200


def test_an_unknown_ranker(reading):
    message = refused(reading.get("/api/similar", params={"q": "wheel", "ranker": "magic"}), 422)
    assert "magic" in message


def test_paths_and_methods_that_do_not_exist(reading):
    assert "/docs" in refused(reading.get("/api/nothing"), 404)
    response = reading.post("/api/similar", json={})
    refused(response, 405)
    assert response.headers["allow"] == "GET"
    assert reading.patch("/api/posts/q002").headers["allow"] == "DELETE, GET, PUT"
    assert reading.patch("/api/posts/delete").headers["allow"] == "POST"
    refused(reading.request("PROPFIND", "/api/posts"), 405)
    refused(reading.request("BREW", "/api/posts"), 400)  # no method of HTTP
    refused(reading.get("/static/nothing.js"), 404)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/posts", {"title": 3}),
        ("/api/posts", {"title": "x", "colour": "red"}),
        ("/api/posts", {"title": "x", "tags": "wheels"}),
        ("/api/posts", {"title": "x", "score": 10**30}),
        ("/api/posts", {"title": "x", "score": True}),
        ("/api/posts", {"title": "x", "created": "yesterday"}),
        ("/api/posts", {"title": "x", "kind": "comment"}),
        ("/api/posts", {"title": "x" * 1_000_001}),
        ("/api/posts", {"title": ""}),
        ("/api/posts", {"title": "x", "id": " padded "}),
        ("/api/posts", {"title": "x", "id": "y" * 201}),
        ("/api/posts", {"body": "x", "kind": "answer"}),
        ("/api/posts", {"body": "x", "parent": "nobody"}),
        ("/api/posts", {"posts": [{"title": "x"}] * 1001}),
        ("/api/posts", {"posts": [], "links": [{"source": "q001", "target": "nobody"}]}),
        ("/api/posts", []),
        ("/api/posts", "x"),
        ("/api/posts", None),
        ("/api/posts/delete", {"ids": []}),
        ("/api/duplicates", {"title": "x", "k": -1}),
        ("/rerank", {"query": "x", "documents": []}),
        ("/rerank", {"query": "x", "documents": ["y"] * 501}),
        ("/rerank", {"query": "", "documents": ["y"]}),
        ("/rerank", {"query": "\x19", "documents": ["y"]}),
        ("/rerank", {"query": "x", "documents": ["y"], "top_n": 0}),
        ("/v1/embeddings", {"input": []}),
        ("/v1/embeddings", {"input": [1, 2]}),
        ("/v1/embeddings", {"input": ["x"] * 257}),
    ],
)
def test_a_body_of_the_wrong_shape(reading, bicycles, path, body):
    before = bicycles.archive.change
    message = refused(reading.post(path, json=body), 422)
    assert len(message) < 400
    assert "one." not in message and "many." not in message
    assert bicycles.archive.change == before


def test_half_a_surrogate_pair_is_no_text(reading):
    body = b'{"title": "\\ud800 wheel"}'
    refused(reading.post("/api/posts", content=body, headers=JSON), 422)


JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    "body", [b"{", b"\xff\xfe", b'{"title": "x"', b"[" * 100_000, b"1" * 10_000, b"\x00"]
)
def test_a_body_that_is_not_json(reading, body):
    refused(reading.post("/api/posts", content=body, headers=JSON), 400)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
def test_a_form_of_another_site_cannot_write(reading, kind):
    headers = {"content-type": kind} if kind else {}
    response = reading.post("/api/posts", content=b'{"title": "x"}', headers=headers)
    assert "application/json" in refused(response, 415)


def test_a_body_of_ten_megabytes_with_and_without_its_length(reading):
    started = time.process_time()
    body = json.dumps({"title": "x" * MEGABYTES}).encode()
    refused(reading.post("/api/posts", content=body, headers=JSON), 413)

    def pieces():
        for _ in range(160):
            yield b" " * 2**16

    refused(reading.post("/api/posts", content=pieces(), headers=JSON), 413)
    assert time.process_time() - started < 5
    assert reading.get("/healthz").status_code == 200


def test_a_length_that_is_absurd_is_refused_before_the_body(reading):
    with socket.create_connection((reading.base_url.host, reading.base_url.port)) as raw:
        raw.sendall(
            b"POST /api/posts HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            b"content-length: 1000000000000\r\n\r\n{}"
        )
        assert raw.recv(100).startswith(b"HTTP/1.1 413")


def test_a_script_in_a_post_comes_out_harmless(writing):
    html = (
        "<p onclick='steal()'>Loose <b style='x'>nut</b></p><script>alert(1)</script>"
        "<a href='javascript:alert(1)'>a</a><a href='https://example.org/x'>b</a>"
        "<img src=x onerror=alert(1)><iframe src='https://example.org'></iframe>"
        "<svg onload=alert(1)><style>*{}</style><form action=/x><input></form>"
    )
    sent = {"id": "harm", "title": "<script>alert(2)</script>", "html": html}
    assert writing.post("/api/posts", json=sent).status_code == 201
    post = writing.get("/api/posts/harm").json()["post"]
    assert post["title"] == "<script>alert(2)</script>"  # text, and shown as text
    assert post["html"].startswith("<p>Loose <b>nut</b></p>")
    for bad in ("script", "onclick", "onerror", "style", "iframe", "svg", "form", "javascript"):
        assert bad not in post["html"]
    assert (
        '<a href="https://example.org/x" rel="nofollow noopener noreferrer">b</a>' in post["html"]
    )
    assert post["body"].startswith("Loose nut") and "alert" not in post["body"]


def test_control_characters_of_a_post_go_and_line_ends_stay(writing):
    sent = {"id": "ctl", "title": "be\x00ll\x07", "body": "one\n\ttwo\x1b[31m"}
    assert writing.post("/api/posts", json=sent).status_code == 201
    post = writing.get("/api/posts/ctl").json()["post"]
    assert (post["title"], post["body"]) == ("bell", "one\n\ttwo[31m")
    assert clean_text("a\r\nb\x85c") == "a\r\nb\x85c"


@pytest.mark.parametrize(
    "piece",
    ["<b>", "<div>", "<p><b c={}>", "<a href=x{}><p>", "<p><b c='<' d={}>", "<li/x={}>", "<"],
)
def test_sanitising_takes_no_time_whatever_the_markup(piece):
    html = "".join(piece.format(number) for number in range(100_000))[:500_000]
    for part in (html, html[:20_000], html[:2_000]):
        started = time.process_time()
        assert len(safe_html(part)) < 5_000_000
        assert time.process_time() - started < 1


def test_an_unexpected_error_shows_no_traceback(serve, bicycles, caplog):
    class Broken(type(bicycles)):
        def rankers(self):
            raise ZeroDivisionError("secret detail")

    broken = Broken.__new__(Broken)
    broken.__dict__ = bicycles.__dict__
    client = serve(engine=broken)
    response = client.get("/api/rankers")
    message = refused(response, 500)
    number = message.rpartition(" ")[2]
    assert "secret" not in message
    assert any(number in record.getMessage() and record.exc_info for record in caplog.records)
    assert response.headers["x-content-type-options"] == "nosniff"
    assert client.get("/healthz").status_code == 200
