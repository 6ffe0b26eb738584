"""The page, its files and the API documentation. Nothing is loaded from another site."""

import re
from functools import cache
from hashlib import sha256
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from jinja2 import Environment, FileSystemLoader
from starlette.datastructures import Headers
from starlette.staticfiles import NotModifiedResponse, StaticFiles
from starlette.types import Scope

from askonce.server.errors import STATUSES
from askonce.server.openapi_tables import operations

SERVER = Path(__file__).parents[1]
TEMPLATES = Environment(loader=FileSystemLoader(SERVER / "templates"), autoescape=True)


FOLDER = SERVER / "static"
JOINED = "page.js"  # app.js and all that it imports
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w-]+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|class|const) (\w+)", re.MULTILINE)


class PageFiles(StaticFiles):
    """Files of ``static/``, and its modules joined into one: a browser asks once, not 36 times.

    They keep to one form, which is all that is understood here: ``import { … } from "./x.js";`` and
    ``export`` before a function, a class or a constant, each at the start of a line.
    """

    def __init__(self) -> None:
        super().__init__(directory=FOLDER)

    async def get_response(self, path: str, scope: Scope) -> Response:
        if path != JOINED or scope["method"] not in ("GET", "HEAD"):
            return await super().get_response(path, scope)
        script = joined("app", FOLDER)
        tag = f'"{sha256(script).hexdigest()[:32]}"'
        response = Response(script, media_type="text/javascript", headers={"etag": tag})
        if self.is_not_modified(response.headers, Headers(scope=scope)):
            return NotModifiedResponse(response.headers)
        return response


@cache
def joined(entry: str, folder: Path) -> bytes:
    """A module after all that it imports, each in a scope of its own."""
    scripts: dict[str, str] = {}

    def add(name: str) -> None:
        source = (folder / f"{name}.js").read_text("utf-8")
        for _, needed in _IMPORT.findall(source):
            if needed not in scripts:
                add(needed)
        exports = ", ".join(name for _, name in _EXPORT.findall(source))
        source = _EXPORT.sub(r"\1 \2", _IMPORT.sub(_taken, source))
        scripts[name] = (
            f"const {_scope(name)} = (() => {{\n{source}\nreturn {{ {exports} }};\n}})();"
        )

    add(entry)
    return "\n".join(scripts.values()).encode()


def _taken(match: re.Match[str]) -> str:
    names, module = match.groups()
    return f"const {{{names.replace(' as ', ': ')}}} = {_scope(module)};"


def _scope(module: str) -> str:
    return "$" + module.replace("-", "_")


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
