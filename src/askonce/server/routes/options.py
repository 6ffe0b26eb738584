"""What the operator has switched on, what people look for, synonyms and pinned results."""

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query, Request, Response

from askonce.engine import Engine
from askonce.engine.wording import PINNED, SYNONYMS
from askonce.server.schemas.options import Insights, PageOptions, SearchOptions
from askonce.server.schemas.posts import PostTitle
from askonce.server.service import Service

EXAMPLES = 6  # questions on the home page
TOP = 50  # searches
CSV = "text/csv; charset=utf-8"
_CSV: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/csv": {"example": "question,searches,claimed,answered\n"}}}
}
Table = Annotated[
    Literal["days", "top", "without"],
    Query(
        description="Which table: by day, top searches, those without a good hit.",
        examples=["top"],
    ),
]


def option_routes(service: Service) -> APIRouter:
    """What the page needs to know."""
    router = APIRouter(route_class=service.route("read", service.queries), tags=["page"])

    @router.get("/api/page", summary="Describe the page's options")
    async def page(request: Request) -> PageOptions:
        """What the operator has switched on, and questions to start with."""
        settings = service.settings
        return PageOptions(
            clicks=settings.clicks,
            ask_url=settings.ask_url,
            writes=_may_write(service, request),
            insights=bool(settings.log_days),
            image_hosts=list(settings.image_hosts),
            one_of_several=settings.one_of_several,
            examples=await service.run(_examples, service.engine),
        )

    return router


def insight_routes(service: Service) -> APIRouter:
    """For operators: all of them require the write key."""
    router = APIRouter(route_class=service.route("write", service.bulk), tags=["insights"])
    engine = service.engine

    @router.get("/api/insights", summary="Describe what people look for")
    async def insights() -> Insights:
        """Searches by day, the most frequent ones, and those without a good hit."""
        return await service.run(_insights, service)

    @router.get(
        "/api/insights.csv",
        summary="Export what people look for",
        response_class=Response,
        responses=_CSV,
    )
    async def insights_csv(table: Table = "top") -> Response:
        """One table of the insights as CSV, in full."""
        return Response(await service.run(_csv, service, table), media_type=CSV)

    @router.get("/api/options", summary="Read synonyms and pinned results")
    async def options() -> SearchOptions:
        """Groups of words that mean the same, and posts that are shown first."""
        return await service.run(_options, engine)

    @router.put("/api/options", summary="Replace synonyms and pinned results")
    async def set_options(body: SearchOptions) -> SearchOptions:
        """Both lists as a whole; the next query uses them."""
        pinned = [pin.model_dump() for pin in body.pinned]
        await service.run(engine.wording.set, body.synonyms, pinned)
        return await service.run(_options, engine)

    return router


def _insights(service: Service) -> Insights:
    if service.searches.days:
        service.searches.flush()
    table = service.engine.archive.searches
    return Insights.model_validate(
        {
            "days": service.searches.days,
            "by_day": _all_days(table.by_day()),
            "top": table.top(TOP),
            "without": table.top(TOP, unclaimed=True),
        }
    )


def _all_days(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The days of a log, with those between them on which nobody searched."""
    if not rows:
        return []
    known = {row["day"]: dict(row) for row in rows}
    first, last = (date.fromisoformat(rows[n]["day"]).toordinal() for n in (0, -1))
    days = (date.fromordinal(n).isoformat() for n in range(first, last + 1))
    none = {"searches": 0, "claimed": 0, "answered": 0}
    return [known.get(day, {"day": day, **none}) for day in days]


def _csv(service: Service, name: str) -> str:
    table = service.engine.archive.searches
    rows = _all_days(table.by_day()) if name == "days" else table.top(unclaimed=name == "without")
    out = io.StringIO()
    first = "day" if name == "days" else "question"
    writer = csv.DictWriter(out, [first, "searches", "claimed", "answered"], lineterminator="\n")
    writer.writeheader()
    writer.writerows({**row, first: _harmless(row[first])} for row in rows)
    return out.getvalue()


def _harmless(text: str) -> str:
    """A text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) else text


def _options(engine: Engine) -> SearchOptions:
    options = engine.archive.options
    return SearchOptions(synonyms=options.get(SYNONYMS, []), pinned=options.get(PINNED, []))


def _examples(engine: Engine) -> list[PostTitle]:
    """Well-received questions that have an answer."""
    return [
        PostTitle(id=post.id, title=post.title)
        for post in engine.archive.popular(EXAMPLES)
        if post.title
    ]


def _may_write(service: Service, request: Request) -> bool:
    try:
        service.settings.keys.check(request, "write")
    except HTTPException:
        return False
    return not service.engine.read_only
