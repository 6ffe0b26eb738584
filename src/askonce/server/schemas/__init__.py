"""Request and response bodies, as the OpenAPI document shows them."""

from pydantic import BaseModel, ConfigDict, JsonValue


def closed(**example: JsonValue) -> ConfigDict:
    """A body with exactly these fields, and an example."""
    return ConfigDict(extra="forbid", strict=True, json_schema_extra={"examples": [example]})


def tolerant(**example: JsonValue) -> ConfigDict:
    """A body that may have more fields, which are ignored: clients of other services send them."""
    return ConfigDict(extra="ignore", strict=True, json_schema_extra={"examples": [example]})


def growing(**example: JsonValue) -> ConfigDict:
    """A body that shows whatever else the engine reports."""
    return ConfigDict(extra="allow", json_schema_extra={"examples": [example]})


class Shape(BaseModel):
    """A response body."""

    model_config = ConfigDict(extra="forbid")


class ErrorDetail(Shape):
    """What went wrong."""

    type: str
    message: str


class Error(Shape):
    """Every error has this shape."""

    model_config = closed(error={"type": "invalid", "message": "q: field required"})

    error: ErrorDetail
