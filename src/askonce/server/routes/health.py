"""Routes for monitoring."""

from typing import Any

from fastapi import APIRouter, Request, Response

from askonce.engine import Status
from askonce.server.guard.lanes import RETRY
from askonce.server.schemas import Error
from askonce.server.schemas.models import Health
from askonce.server.service import Service

Responses = dict[int | str, dict[str, Any]]

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
_NOT_READY: Responses = {503: {"model": Status | Error, "description": "Not ready"}}
METRICS: Responses = {200: {"content": {"text/plain": {"example": "askonce_ready 1.0\n"}}}}


def health_router() -> APIRouter:
    router = APIRouter(tags=["health"])

    @router.head("/healthz", include_in_schema=False)
    @router.get("/healthz", summary="Liveness")
    async def healthz() -> Health:
        """Always 200 while the process runs."""
        return Health()

    return router


def health_routes(service: Service) -> APIRouter:
    """Liveness, readiness and metrics. They never queue behind other requests."""
    router = health_router()

    @router.head("/readyz", include_in_schema=False)
    @router.get("/readyz", summary="Readiness", responses=_NOT_READY)
    async def readyz(response: Response) -> Status:
        """200 once the archive can be searched, 503 before; shows what is being built."""
        status = await service.run(service.engine.status)
        if not status.ready:
            response.status_code = 503
            response.headers.update(RETRY)
        return status

    @router.head("/metrics", include_in_schema=False)
    @router.get("/metrics", summary="Prometheus", response_class=Response, responses=METRICS)
    async def metrics(request: Request) -> Response:
        """Requests, latencies, queues, index and model; needs the read key if one is set."""
        service.admit(request, "read")
        return Response(await service.run(service.metrics.text), media_type=PROMETHEUS)

    return router
