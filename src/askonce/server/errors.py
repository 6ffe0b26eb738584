"""Every error in one shape: ``{"error": {"type": ..., "message": ...}}``."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from askonce.engine import NotReady
from askonce.errors import ArchiveUnavailable, AskonceError, NotAnEncoder, shorten
from askonce.index.base import IndexDamaged, IndexUnavailable
from askonce.server.guard.lanes import RETRY

TYPES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid",
    429: "rate_limited",
    500: "internal",
    503: "unavailable",
}
UNAVAILABLE = (ArchiveUnavailable, IndexDamaged, IndexUnavailable, NotReady)  # temporary
_TAGS = ("one", "many")  # of ``OneOrMany``; pydantic reports them as if they were fields


def error_response(
    status: int, message: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """An error response."""
    kind = TYPES.get(status, "error")
    content = {"error": {"type": kind, "message": message}}
    return JSONResponse(content, status, headers=dict(headers) if headers else None)


def add_error_handlers(app: FastAPI) -> None:
    """Give every error the same shape."""
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(AskonceError, _askonce_error)


def _http_error(request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, HTTPException):
        raise TypeError(f"no HTTP error: {error!r}")
    message = str(error.detail)
    if error.status_code == 404 and message == "Not Found":
        message = f"no route {shorten(request.url.path)}; see /docs for all routes"
    if error.status_code == 405:
        message = f"{shorten(request.url.path)} does not support {request.method[:20]}"
        return error_response(405, message, _allowed(request) or error.headers)
    return error_response(error.status_code, message, error.headers)


def _allowed(request: Request) -> dict[str, str]:
    """All methods of a path; Starlette only reports those of the first matching route."""
    operations: Mapping[str, Mapping[str, object]] = request.app.openapi()["paths"]
    path = request.url.path
    matches = [path] if path in operations else [o for o in operations if _matches(o, path)]
    methods = sorted(method.upper() for o in matches for method in operations[o])
    return {"Allow": ", ".join(methods)} if methods else {}


def _matches(template: str, path: str) -> bool:
    """Whether a path matches a template such as ``/api/posts/{post_id}``."""
    prefix, brace, _ = template.partition("{")
    return bool(brace) and path.startswith(prefix)


def _askonce_error(_: Request, error: Exception) -> JSONResponse:
    if isinstance(error, UNAVAILABLE):
        return error_response(503, str(error), RETRY)
    if isinstance(error, NotAnEncoder):
        return error_response(409, str(error))
    return error_response(422, str(error))


def _validation_error(request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, RequestValidationError):
        raise TypeError(f"no validation error: {error!r}")
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
