"""Every question that can be asked over HTTP, and the shape of its answer."""

import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest

from askonce.cli.archives.ask import as_json
from askonce.server.routes.models import _encoded

QUESTION = "my back wheel keeps losing air overnight"


def get(client, path, **params):
    response = client.get(path, params=params)
    assert response.status_code == 200, response.text
    return response.json()


def test_similar_questions_are_those_of_the_engine(reading, bicycles):
    actual = get(reading, "/api/similar", q=QUESTION, k=5)
    assert actual["query"] == QUESTION and actual["ranker"] == "best" and actual["took_ms"] > 0
    hits = bicycles.similar(QUESTION, 5)
    assert [hit["id"] for hit in actual["similar"]] == [hit.post.id for hit in hits]
    first = actual["similar"][0]
    assert set(first) == {
        *("id", "title", "excerpt", "score", "duplicate_probability", "claimed", "close"),
        "duplicate_of",
        *(
            "duplicate_of_title",
            "matched",
            "pinned",
            "folded",
            "answers",
            "accepted",
            "votes",
            "tags",
        ),
        *("created", "stages", "words", "url", "author", "author_url", "site", "licence"),
    }
    assert first["score"] == pytest.approx(hits[0].score)
    assert first["votes"] == hits[0].post.score and first["tags"] == list(hits[0].post.tags)
    assert all(len(hit["excerpt"]) <= 241 for hit in actual["similar"])


def test_a_hit_has_the_same_fields_in_python_over_http_and_as_json(reading, bicycles):
    over_http = get(reading, "/api/ask", q=QUESTION, k=5)
    similar, answers = bicycles.ask(QUESTION, 5)
    assert over_http["similar"] == [hit.model_dump(mode="json") for hit in similar]
    assert over_http["answers"] == [hit.model_dump(mode="json") for hit in answers]
    printed = json.loads(json.dumps(as_json(similar, answers)))
    for kind in ("similar", "answers"):
        for hit, shown in zip(over_http[kind], printed[kind], strict=True):
            assert shown == {field: hit[field] for field in shown}


def test_answers_are_those_of_the_engine(reading, bicycles):
    actual = get(reading, "/api/answers", q=QUESTION, k=3)
    assert [a["id"] for a in actual["answers"]] == [
        hit.post.id for hit in bicycles.answers(QUESTION, 3)
    ]
    assert set(actual["answers"][0]) == {
        *("id", "question_id", "question_title", "thread", "thread_title", "text", "html"),
        *("score", "votes", "accepted", "created", "stages", "words"),
        *("url", "author", "author_url", "site", "licence"),
    }


def test_votes_may_count(reading, bicycles):
    actual = get(reading, "/api/answers", q=QUESTION, votes=True)
    wanted = bicycles.answers(QUESTION, votes=True)
    assert [a["id"] for a in actual["answers"]] == [hit.post.id for hit in wanted]


def test_ask_gives_both(reading):
    both = get(reading, "/api/ask", q=QUESTION, k=4)
    assert both["similar"] == get(reading, "/api/similar", q=QUESTION, k=4)["similar"]
    assert both["answers"] == get(reading, "/api/answers", q=QUESTION, k=4)["answers"]


def test_a_draft_is_checked_while_it_is_typed(reading):
    draft = {"title": "Rear tyre keeps", "body": "going flat", "k": 3.0}  # whole, as JSON has it
    actual = reading.post("/api/duplicates", json=draft).json()
    assert len(actual["similar"]) == 3
    assert actual["duplicate"] is False  # no model that could tell
    nothing = reading.post("/api/duplicates", json={"title": " ", "body": "\x00"}).json()
    assert nothing["similar"] == [] and nothing["duplicate"] is False


def test_why_shows_stages_and_words(reading):
    hit = get(reading, "/api/similar", q=QUESTION)["similar"][0]
    why = get(reading, "/api/why", q=QUESTION, id=hit["matched"])
    assert set(why) == {"id", "score", "stages", "words", "shared"}
    assert why["id"] == hit["matched"] and why["shared"]
    assert {stage["name"] for stage in why["stages"]} >= {"bm25"}
    assert reading.get("/api/why", params={"q": QUESTION, "id": "nobody"}).status_code == 404


def test_a_post_with_its_answers_and_duplicates(reading):
    thread = get(reading, "/api/posts/q002")
    assert thread["post"]["id"] == "q002" and thread["post"]["kind"] == "question"
    assert [answer["parent"] for answer in thread["answers"]] == ["q002"] * len(thread["answers"])
    assert thread["answers"][0]["accepted"]
    assert thread["duplicates"] == [
        {"id": "q015", "title": "Back wheel goes flat again days after every repair"}
    ]
    assert get(reading, "/api/posts/q015")["duplicate_of"] == "q002"
    assert reading.get("/api/posts/nobody").status_code == 404


def test_overview_models_and_rankers(reading):
    overview = get(reading, "/api/overview")
    assert overview["counts"]["questions"] > 200
    assert overview["growth"][0]["month"] == "2021-01"
    models = get(reading, "/api/models")
    assert models["current"] is None and models["tasks"] == {"questions": None, "answers": None}
    assert {"best", "bm25"} <= set(get(reading, "/api/rankers")["rankers"])


def test_rerank_in_the_shape_of_others(reading):
    documents = ["Oil the chain.", {"text": "The wheel is losing air: patch the tube."}, "Sell it."]
    wanted = {"query": QUESTION, "documents": documents, "top_n": 2, "model": "whatever"}
    results = reading.post("/rerank", json=wanted).json()["results"]
    assert [result["index"] for result in results] == [1, 0]
    assert set(results[0]) == {"index", "relevance_score"}
    shown = reading.post("/rerank", json=wanted | {"return_documents": True}).json()["results"]
    assert shown[0]["document"] == {"text": "The wheel is losing air: patch the tube."}


def test_embeddings_need_an_encoder(reading):
    response = reading.post("/v1/embeddings", json={"input": "a wheel", "model": "x"})
    assert response.status_code == 409
    assert "askonce train" in response.json()["error"]["message"]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_monitors_may_ask_for_the_head_only(reading, path):
    head, whole = reading.head(path), reading.get(path)
    assert head.status_code == 200 and head.content == b""
    assert head.headers["content-type"] == whole.headers["content-type"]


def test_health_readiness_and_metrics(reading):
    assert get(reading, "/healthz") == {"status": "ok"}
    status = get(reading, "/readyz")
    assert status["ready"] and status["archive"] == "bicycles"
    assert status["change"] == status["indexed"]
    get(reading, "/api/similar", q="a wheel")
    reading.get("/api/made/up")
    text = reading.get("/metrics").text
    assert f"askonce_posts {status['posts']:.1f}" in text
    assert 'askonce_requests_total{method="GET",route="/api/similar",status="200"}' in text
    assert 'askonce_request_seconds_count{route="/api/similar"}' in text
    assert 'route="other",status="404"' in text and "made" not in text
    assert "askonce_index_lag 0.0" in text and 'askonce_model{version="none"} 1.0' in text


def test_the_page_and_its_files(reading):
    page = reading.get("/")
    assert page.status_code == 200 and "text/html" in page.headers["content-type"]
    assert page.headers["cache-control"] == "no-cache"
    again = reading.get("/", headers={"If-None-Match": page.headers["etag"]})
    assert again.status_code == 304
    script = reading.get("/static/app.js")
    assert script.status_code == 200 and "javascript" in script.headers["content-type"]
    for climbing in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py"):
        assert reading.get(climbing).status_code == 404


def test_the_modules_of_the_page_come_as_one_file(reading):
    assert re.findall(r'type="module" src="(.*?)"', reading.get("/").text) == ["static/page.js"]
    script = reading.get("/static/page.js")
    assert script.status_code == 200 and "javascript" in script.headers["content-type"]
    assert not re.search(r"^\s*(import|export)\b", script.text, re.MULTILINE)
    separate = [reading.get("/static/app.js").text]
    for source in separate:  # all that it imports, and what they import
        needed = re.findall(r'from "\./(.*?)"', source)
        sources = [reading.get(f"/static/{name}").text for name in needed]
        separate += [source for source in sources if source not in separate]
    assert len(separate) > 30
    for source in separate:
        for line in re.findall(r"^export (.*)", source, re.MULTILINE):
            assert script.text.count(f"\n{line}\n") == 1
    again = reading.get("/static/page.js", headers={"If-None-Match": script.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert reading.post("/static/page.js").status_code == 405


@pytest.mark.parametrize("path", ["/", "/api/rankers", "/api/made/up", "/static/app.js", "/docs"])
def test_every_response_has_the_security_headers(reading, path):
    headers = reading.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy and "script-src" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers or headers["server"] == "uvicorn"


def test_the_list_of_operations_loads_nothing_from_elsewhere(reading):
    page = reading.get("/docs").text
    assert 'src="http' not in page and 'href="http' not in page and "<script" not in page
    for path in reading.get("/openapi.json").json()["paths"]:
        assert path in page


def test_the_openapi_document_has_an_example_for_every_operation(reading):
    document = reading.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    schemas = document["components"]["schemas"]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            where = f"{method} {path}"
            assert operation["summary"] and operation["description"], where
            for parameter in operation.get("parameters", ()):
                assert parameter["schema"].get("examples") or parameter.get("examples"), where
            answer = next(r for s, r in operation["responses"].items() if s.startswith("2"))
            for holder in filter(None, (operation.get("requestBody"), answer)):
                assert '"example' in json.dumps([holder, *refs(holder, schemas)]), where


def test_every_route_is_in_the_docs(reading):
    text = (Path(__file__).parents[2] / "docs" / "http.md").read_text("utf-8")
    for path, methods in reading.get("/openapi.json").json()["paths"].items():
        for method in methods:
            name = path.replace("{post_id}", "{id}")
            assert f"{method.upper()} {name}" in text, name


def refs(holder, schemas):
    return [s for name, s in schemas.items() if f'schemas/{name}"' in json.dumps(holder)]


def test_embeddings_as_base64_hold_the_same_numbers():
    vector = np.array([0.5, -1.25, 3.0], dtype=np.float32)
    assert np.frombuffer(base64.b64decode(_encoded(vector, "base64")), "<f4").tolist() == [
        *_encoded(vector, "float")
    ]
