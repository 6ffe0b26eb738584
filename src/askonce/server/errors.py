"""Every error in one shape: ``{"error": {"type": ..., "message": ...}}``."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import Scope

from askonce.engine import NotReady
from askonce.errors import ArchiveUnavailable, AskonceError, NotAnEncoder, shorten
from askonce.index.base import IndexDamaged, IndexUnavailable
from askonce.server.guard.lanes import RETRY
from askonce.server.schemas import Error

STATUSES = {  # type in the response, description in the OpenAPI document
    400: ("bad_request", "The body is not valid JSON or gzip"),
    401: ("unauthorized", "An API key is required"),
    403: ("forbidden", "The API key does not allow this"),
    404: ("not_found", "Not found"),
    405: ("method_not_allowed", "Method not allowed"),
    408: ("timeout", "The body did not arrive in time"),
    409: ("conflict", "Not possible in the archive's current state"),
    413: ("too_large", "The body is too large"),
    415: (
        "unsupported_media_type",
        "The content type is not application/json, or the encoding not gzip",
    ),
    421: ("misdirected", "The host name is not allowed"),
    422: ("invalid", "Invalid request; the message says why"),
    429: ("rate_limited", "Too many requests; see Retry-After"),
    500: ("internal", "Unexpected error"),
    503: ("unavailable", "Not ready or overloaded; see Retry-After"),
}
_ERROR_SCHEMA = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
# One model describes the schema to which the others refer: FastAPI prepares each model of a route
# for serialisation, which would be most of what the first request takes.
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"description": about}
    | ({"model": Error} if status == 500 else {"content": _ERROR_SCHEMA})
    for status, (_, about) in STATUSES.items()
}
UNAVAILABLE = (ArchiveUnavailable, IndexDamaged, IndexUnavailable, NotReady)  # temporary
_TAGS = ("one", "many")  # of ``OneOrMany``; pydantic reports them as if they were fields


def error_response(
    status: int, message: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    kind, _ = STATUSES.get(status, ("error", ""))
    content = {"error": {"type": kind, "message": message}}
    return JSONResponse(content, status, headers=dict(headers) if headers else None)


def add_error_handlers(app: FastAPI) -> None:
    # coroutines: Starlette runs other functions in a thread, which is most of what a refusal costs
    app.exception_handler(HTTPException)(_http_error)
    app.exception_handler(RequestValidationError)(_validation_error)
    app.exception_handler(AskonceError)(_askonce_error)


async def _http_error(request: Request, error: HTTPException) -> JSONResponse:
    message = str(error.detail)
    if error.status_code == 404 and message == "Not Found":
        docs = f"{request.scope.get('root_path', '')}/docs"
        message = f"no route {shorten(request.url.path)}; see {docs} for all routes"
    if error.status_code == 405:
        message = f"{shorten(request.url.path)} does not support {request.method[:20]}"
        return error_response(405, message, _allowed(request) or error.headers)
    return error_response(error.status_code, message, error.headers)


def _allowed(request: Request) -> dict[str, str]:
    """All methods of a path; Starlette only reports those of the first matching route."""
    operations: Mapping[str, Mapping[str, object]] = request.app.openapi()["paths"]
    path = path_in_app(request.scope)
    # a template such as /api/posts/{post_id} matches what begins as it does
    matches = [o for o in operations if "{" in o and path.startswith(o.partition("{")[0])]
    matches = [path] if path in operations else matches
    methods = sorted(method.upper() for o in matches for method in operations[o])
    return {"Allow": ", ".join(methods)} if methods else {}


def path_in_app(scope: Scope) -> str:
    """The path below the address of the application, which may be one of several in a server."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


async def _askonce_error(_: Request, error: AskonceError) -> JSONResponse:
    if isinstance(error, UNAVAILABLE):
        return error_response(503, str(error), RETRY)
    if isinstance(error, NotAnEncoder):
        return error_response(409, str(error))
    return error_response(422, str(error))


async def _validation_error(request: Request, error: RequestValidationError) -> JSONResponse:
    problems = error.errors()
    first = problems[0]
    if first["type"] == "json_invalid":
        return error_response(400, f"the request body is not valid JSON: {first['ctx']['error']}")
    if isinstance(first.get("input"), bytes):
        sent = shorten(request.headers.get("content-type", "nothing"))
        return error_response(415, f"expected the content type 'application/json', got {sent}")
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return error_response(422, _sentence(first) + more)


def _sentence(problem: Mapping[str, Any]) -> str:
    """The field, what was expected and what was sent."""
    location = [str(part) for part in problem["loc"] if part not in _TAGS]
    field = ".".join(location[1:]) or location[0]
    message = str(problem["msg"])
    text = f"{field}: {message[:1].lower()}{message[1:]}"
    value = problem.get("input")
    if problem["type"] == "missing" or isinstance(value, dict | list):
        return text
    return f"{text}, got {shorten(value)}"
