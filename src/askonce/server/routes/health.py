"""Routes for those who watch the server."""

from typing import Any

from fastapi import APIRouter, Request, Response

from askonce.server.guard.lanes import RETRY
from askonce.server.schemas import Error
from askonce.server.schemas.state import Health, StatusShown
from askonce.server.service import Service

Responses = dict[int | str, dict[str, Any]]

PLAIN = "text/plain; version=0.0.4; charset=utf-8"
_NOT_YET: Responses = {503: {"model": StatusShown | Error, "description": "Not yet"}}
_FIGURES: Responses = {200: {"content": {"text/plain": {"example": "askonce_ready 1.0\n"}}}}


def health_routes(service: Service) -> APIRouter:
    """Alive, ready, figures. They never wait behind other work."""
    router = APIRouter(tags=["health"])

    @router.get("/healthz", summary="Is the process alive?")
    async def healthz() -> Health:
        """Always 200 while the process runs."""
        return Health()

    @router.get("/readyz", summary="Are questions answered?", responses=_NOT_YET)
    async def readyz(response: Response) -> StatusShown:
        """200 once the archive can be searched, 503 before; what is being built now."""
        status = StatusShown.of(await service.run(service.engine.status))
        if not status.ready:
            response.status_code = 503
            response.headers.update(RETRY)
        return status

    @router.get("/metrics", summary="Prometheus", response_class=Response, responses=_FIGURES)
    async def metrics(request: Request) -> Response:
        """Requests, latencies, queues, index, model; needs the read key where one is set."""
        service.admit(request, "read")
        return Response(await service.run(service.metrics.text), media_type=PLAIN)

    return router
