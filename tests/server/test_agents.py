"""Assistants: the MCP server by its own client, and passages within a number of characters."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest

from askonce.engine import Engine
from askonce.engine.context import context
from askonce.server import ServerSettings
from askonce.server.guard.keys import read_keys
from askonce.types import Post

TOOLS = ["check_duplicate", "get_context", "read_thread", "search_questions"]


async def use(server):
    """List the tools, search, and read the first thread."""
    from mcp import Client

    async with Client(server) as client:
        names = sorted(tool.name for tool in (await client.list_tools()).tools)
        hits = await client.call_tool("search_questions", {"question": "clean disc brake rotors"})
        first = _value(hits)["questions"][0]
        thread = _value(await client.call_tool("read_thread", {"id": first["id"]}))
        draft = {"title": "What can I use to clean disc brake rotors?"}
        check = _value(await client.call_tool("check_duplicate", draft))
        missing = await client.call_tool("read_thread", {"id": "nobody"})
        return names, first, thread, check, missing


def used(server):
    """Use it in a thread of its own: the browser's tests leave a running loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(anyio.run, use, server).result()


def _value(result):
    return result.structured_content or json.loads(result.content[0].text)


def expect(names, first, thread, check, missing):
    assert names == TOOLS
    assert first["id"] == "q001" and first["answers"] > 0
    assert "Isopropyl alcohol" in str(thread["answers"])
    assert check["questions"][0]["id"] == "q001"
    assert missing.is_error and "no post 'nobody'" in missing.content[0].text


@pytest.mark.filterwarnings("ignore")  # of the package and its streams
def test_over_stdin_and_stdout():
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    from mcp import StdioServerParameters

    command = ["-m", "askonce.cli", "mcp", "bicycles"]
    server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
    expect(*used(server))


@pytest.mark.filterwarnings("ignore")
def test_over_http(reading):
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    expect(*used(str(reading.base_url).rstrip("/") + "/mcp"))


def test_over_http_a_key_is_needed_where_reading_needs_one(bicycles, serve):
    keys = read_keys({"ASKONCE_READ_KEY": "a-key-of-a-reader-01"})
    client = serve(ServerSettings(keys=keys), bicycles)
    assert client.post("/mcp", json={}).status_code == 401


def test_passages_fit_and_name_their_sources(reading, bicycles):
    for characters in (200, 700, 4000):
        shown = reading.get(
            "/api/context", params={"q": "clean disc brake rotors", "characters": characters}
        ).json()
        assert shown["characters"] == len(shown["text"]) <= characters
        for number, passage in enumerate(shown["passages"], start=1):
            assert f"[{number}] {passage['question_title']}\n{passage['text']}" in shown["text"]
    assert len(shown["passages"]) > 2
    assert reading.get("/api/context", params={"q": "x", "characters": 1}).status_code == 422


def test_of_a_long_answer_the_paragraphs_that_match(bicycles_folder):
    with Engine.open(bicycles_folder) as engine:
        parts = [f"Paragraph {n} about nothing in particular. " * 12 for n in range(6)]
        parts[4] = "Zebrafish live in the hub. " * 12
        answer = Post("long-a", "", "\n\n".join(parts), "answer", "long", url="https://x.example/1")
        engine.write([Post("long", "Zebrafish in the hub?"), answer])
        shown = context(engine, "zebrafish hub", 1000)
        assert "Zebrafish live" in shown.passages[0].text
        assert len(shown.text) <= 1000 and "Source: https://x.example/1" in shown.text
