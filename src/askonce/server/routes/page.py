"""The page, its files, and the list of operations; nothing comes from another site."""

import json
from html import escape
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from fastapi.staticfiles import StaticFiles

STATIC = Path(__file__).parents[1] / "static"


def add_page(app: FastAPI) -> None:
    """Serve the page at ``/``, its files below ``/static/``, the operations at ``/docs``."""
    files = StaticFiles(directory=STATIC)
    app.mount("/static", files)

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def page(request: Request) -> Response:
        return await files.get_response("index.html", request.scope)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(describe(app.openapi()))


def describe(openapi: dict[str, Any]) -> str:
    """The operations of an OpenAPI document as a page."""
    operations = [
        _operation(f"{method.upper()} {path}", operation, openapi)
        for path, methods in openapi["paths"].items()
        for method, operation in methods.items()
    ]
    about = escape(openapi["info"]["description"])
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<title>Askonce: HTTP</title><link rel="stylesheet" href="static/style.css">'
        f'</head><body><main id="main"><h1>HTTP interface</h1><p>{about}'
        ' For tools: <a href="openapi.json">openapi.json</a>. '
        '<a href="./">Back to the page</a>.</p>' + "".join(operations) + "</main></body></html>"
    )


def _operation(name: str, operation: dict[str, Any], openapi: dict[str, Any]) -> str:
    rows = "".join(
        f"<li><code>{escape(p['name'])}</code>{' (needed)' if p['required'] else ''}: "
        f"{escape(p.get('description', ''))}</li>"
        for p in operation.get("parameters", ())
    )
    parts = [
        f"<h2><code>{escape(name)}</code></h2><p><strong>{escape(operation['summary'])}.</strong> "
        f"{escape(operation['description'])}</p>",
        f"<ul>{rows}</ul>" if rows else "",
        _example("Send", operation.get("requestBody"), openapi),
    ]
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            parts.append(_example(status, response, openapi))
    return f"<section>{''.join(parts)}</section>"


def _example(title: str, holder: dict[str, Any] | None, openapi: dict[str, Any]) -> str:
    shown = next(iter(examples(holder, openapi)), None) if holder else None
    if shown is None:
        return ""
    text = shown if isinstance(shown, str) else json.dumps(shown, indent=2, ensure_ascii=False)
    return f"<p>{escape(title)}</p><pre>{escape(text)}</pre>"


def examples(holder: dict[str, Any], openapi: dict[str, Any]) -> list[Any]:
    """The examples of a request body or of a response."""
    found: list[Any] = []
    for content in holder.get("content", {}).values():
        if "example" in content:
            found.append(content["example"])
        schema = content.get("schema", {})
        for choice in (schema, *schema.get("oneOf", ()), *schema.get("anyOf", ())):
            name = choice.get("$ref", "").rpartition("/")[2]
            found += openapi["components"]["schemas"].get(name, {}).get("examples", ())
    return found
