"""Settings of a shape, with the example that the OpenAPI document shows."""

from pydantic import ConfigDict, JsonValue


def closed(**example: JsonValue) -> ConfigDict:
    """A shape with these fields and no others."""
    return ConfigDict(extra="forbid", strict=True, json_schema_extra={"examples": [example]})


def tolerant(**example: JsonValue) -> ConfigDict:
    """Clients of other services send fields of their own, which change nothing here."""
    return ConfigDict(extra="ignore", strict=True, json_schema_extra={"examples": [example]})


def growing(**example: JsonValue) -> ConfigDict:
    """A shape that shows more as the engine learns to say more."""
    return ConfigDict(extra="allow", json_schema_extra={"examples": [example]})
