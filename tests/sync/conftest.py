"""A real HTTP server whose forum changes while it is read, and which fails on purpose."""

import json
import random
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from askonce.archive import Archive
from askonce.sync.http import Client


class Forum:
    """Posts by id with the time of their last change, which only grows."""

    def __init__(self, seed=1):
        self.random = random.Random(seed)
        self.posts, self.links, self.deleted, self.clock = {}, [], {}, 0
        self.page_size = 7
        self.faults = 0.0  # share of requests that fail
        self.moving = False  # whether the forum changes between requests
        self.requests = []

    def now(self):
        self.clock += self.random.choice((0, 1))  # several changes share a moment
        return f"2024-01-01T00:00:{self.clock:06}Z"

    def ask(self):
        name = f"q{len(self.posts) + len(self.deleted)}"
        self.posts[name] = {"id": name, "kind": "question", "title": f"Why {name}?"}
        self.posts[name]["updated"] = self.now()
        return name

    def answer(self):
        questions = [name for name, post in self.posts.items() if post["kind"] == "question"]
        if not questions:
            return
        name = f"a{len(self.posts) + len(self.deleted)}"
        post = {"id": name, "kind": "answer", "parent": self.random.choice(questions)}
        self.posts[name] = post | {"body": f"So {name}.", "updated": self.now()}

    def edit(self):
        if self.posts:
            post = self.posts[self.random.choice(list(self.posts))]
            post |= {"score": self.random.randrange(100), "updated": self.now()}

    def remove(self, silently=False):
        answers = [name for name, post in self.posts.items() if post["kind"] == "answer"]
        if answers:
            name = self.random.choice(answers)
            del self.posts[name]
            self.deleted[name] = None if silently else self.now()

    def happen(self, count):
        for _ in range(count):
            self.random.choice((self.ask, self.answer, self.answer, self.edit, self.remove))()

    def page(self, since, number):
        """Items changed at a time or later, in the order of change; ties in any order."""
        items = [("posts", post["updated"], post) for post in self.posts.values()]
        gone = self.deleted.items()
        items += [("deleted", t, {"id": name, "updated": t}) for name, t in gone if t]
        items = [item for item in items if item[1] >= since]
        items.sort(key=lambda item: (item[1], str(item[2])))
        start = (number - 1) * self.page_size
        shown = items[start : start + self.page_size]
        self.random.shuffle(shown)  # answers may come before their questions
        page = {"posts": [], "deleted": [], "more": start + self.page_size < len(items)}
        for name, _, item in shown:
            page[name].append(item)
        return page

    def truth(self):
        fields = ("kind", "title", "body", "parent", "score")
        return {
            name: {key: post[key] for key in fields if key in post}
            for name, post in self.posts.items()
        }


def stored(archive):
    return {
        post.id: {
            "kind": post.kind,
            **({"title": post.title} if post.title else {}),
            **({"body": post.body} if post.body else {}),
            **({"parent": post.parent} if post.parent else {}),
            **({"score": post.score} if post.score is not None else {}),
        }
        for post in archive.iterate()
    }


@contextmanager
def serving(answer):
    """A server on a free port; ``answer(handler)`` answers its requests."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            answer(self)

        do_POST = do_GET

        def log_message(self, *_):
            pass

        def reply(self, status, body=b"", **headers):
            raw = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer_for(forum):
    lock = threading.Lock()

    def answer(handler):
        with lock:
            forum.requests.append(handler.path)
            if forum.random.random() < forum.faults:
                fault = forum.random.choice(("500", "429", "cut", "drop"))
                if fault == "drop":
                    handler.close_connection = True
                elif fault == "cut":
                    handler.send_response(200)
                    handler.send_header("Content-Length", "1000")
                    handler.end_headers()
                    handler.wfile.write(b'{"posts": [')
                    handler.close_connection = True
                else:
                    handler.reply(int(fault), Retry_After="1")
                return
            query = parse_qs(urlsplit(handler.path).query)
            page = forum.page(query.get("since", [""])[0], int(query.get("page", ["1"])[0]))
            tag = f'"{hash(json.dumps(page, sort_keys=True))}"'
            if handler.headers.get("If-None-Match") == tag:
                handler.reply(304, ETag=tag)
            else:
                handler.reply(200, page, ETag=tag)
            if forum.moving:
                forum.happen(1)

    return answer


@pytest.fixture
def forum():
    forum = Forum()
    forum.happen(60)
    return forum


@pytest.fixture
def address(forum):
    with serving(answer_for(forum)) as url:
        yield url


def quick():
    return Client(rate=0, sleep=lambda _: None)


@pytest.fixture
def client():
    client = quick()
    yield client
    client.close()


@pytest.fixture
def archive(tmp_path):
    archive = Archive.open(tmp_path / "a.askonce", create=True)
    yield archive
    archive.close()
