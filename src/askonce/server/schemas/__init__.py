"""What every answer of the HTTP interface is made of, as the OpenAPI document shows it."""

from pydantic import BaseModel, ConfigDict

from askonce.server.schemas.examples import closed


class Shape(BaseModel):
    """A value of the HTTP interface."""

    model_config = ConfigDict(extra="forbid")


class ErrorDetail(Shape):
    """What went wrong."""

    type: str
    message: str


class Error(Shape):
    """Every error looks like this."""

    model_config = closed(error={"type": "invalid", "message": "q: field required"})

    error: ErrorDetail
