"""The page, its files and the API documentation. Nothing is loaded from another site."""

from functools import cache
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from jinja2 import Environment, FileSystemLoader

from askonce.server.errors import STATUSES
from askonce.server.openapi_tables import operations
from askonce.server.page_files import PageFiles

SERVER = Path(__file__).parents[1]
TEMPLATES = Environment(loader=FileSystemLoader(SERVER / "templates"), autoescape=True)


def add_page(app: FastAPI) -> None:
    """Serve the page at ``/``, its files below ``/static/``, the API documentation at ``/docs``."""
    files = add_files(app)

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def page(request: Request) -> Response:
        return await files.get_response("index.html", request.scope)

    @app.api_route("/widget.js", methods=["GET", "HEAD"], include_in_schema=False)
    async def widget(request: Request) -> Response:
        return await files.get_response("widget.js", request.scope)


def add_files(app: FastAPI) -> PageFiles:
    """Serve the files of pages below ``/static/``, and the API documentation at ``/docs``.

    The document at ``/openapi.json`` is written once: FastAPI would do so for every request, which
    takes milliseconds.
    """
    files = PageFiles()
    app.mount("/static", files)

    @cache
    def document(root: str) -> bytes:
        servers = {"servers": [{"url": root}]} if root else {}
        return bytes(JSONResponse({**app.openapi(), **servers}).body)

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi_document(request: Request) -> Response:
        root = request.scope.get("root_path", "").rstrip("/")
        return Response(document(root), media_type="application/json")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        openapi = app.openapi()
        listed = list(operations(openapi))
        return render("docs.html", info=openapi["info"], operations=listed, statuses=STATUSES)

    return files


def render(template: str, **values: object) -> HTMLResponse:
    """A page made of a template."""
    return HTMLResponse(TEMPLATES.get_template(template).render(values))
