"""The files of the page, with its modules joined into one: a browser asks once instead of 36 times.

Its modules keep to one form, which is all that is understood here: ``import { … } from "./x.js";``
and ``export`` before a function, a class or a constant, each at the start of a line.
"""

import re
from functools import cache
from hashlib import sha256
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.staticfiles import NotModifiedResponse, StaticFiles
from starlette.types import Scope

FOLDER = Path(__file__).with_name("static")
JOINED = "page.js"  # app.js and all that it imports
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w-]+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|class|const) (\w+)", re.MULTILINE)


class PageFiles(StaticFiles):
    """Files of ``static/``, and ``page.js``."""

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
