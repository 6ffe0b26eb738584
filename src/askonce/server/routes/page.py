"""The page, its files and the API documentation. Nothing is loaded from another site."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, FileSystemLoader

SERVER = Path(__file__).parents[1]


def add_page(app: FastAPI) -> None:
    """Serve the page at ``/``, its files below ``/static/``, the API documentation at ``/docs``."""
    files = StaticFiles(directory=SERVER / "static")
    app.mount("/static", files)
    templates = Environment(loader=FileSystemLoader(SERVER / "templates"), autoescape=True)

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def page(request: Request) -> Response:
        return await files.get_response("index.html", request.scope)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        openapi = app.openapi()
        template = templates.get_template("docs.html")
        return HTMLResponse(template.render(info=openapi["info"], operations=operations(openapi)))


def operations(openapi: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The operations of an OpenAPI document, each with the examples of its bodies."""
    schemas = openapi["components"]["schemas"]
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            bodies = [("Request", operation.get("requestBody", {}))]
            bodies += [
                (f"Response {status}", response)
                for status, response in operation["responses"].items()
                if status.startswith("2")
            ]
            examples = [(title, _example(body, schemas)) for title, body in bodies]
            yield operation | {
                "method": method.upper(),
                "path": path,
                "examples": [(title, text) for title, text in examples if text],
            }


def _example(body: dict[str, Any], schemas: dict[str, Any]) -> str:
    """The first example of a request or response body; "" if there is none."""
    for content in body.get("content", {}).values():
        if "example" in content:
            return str(content["example"])
        schema = content.get("schema", {})
        for choice in (schema, *schema.get("oneOf", ()), *schema.get("anyOf", ())):
            name = choice.get("$ref", "").rpartition("/")[2]
            for example in schemas.get(name, {}).get("examples", ()):
                return json.dumps(example, indent=2, ensure_ascii=False)
    return ""
