"""The route by which visitors say whether a hit was right."""

from fastapi import APIRouter, HTTPException, Request

from askonce.engine.feedback import record_feedback, remove_feedback
from askonce.server.schemas.feedback import FeedbackBody, FeedbackResponse
from askonce.server.service import Service
from askonce.text.sanitise import clean_text


def feedback_routes(service: Service) -> APIRouter:
    router = APIRouter(route_class=service.route("read", service.writes), tags=["feedback"])
    engine = service.engine

    @router.post("/api/feedback", summary="Say whether a result was right")
    async def feedback(body: FeedbackBody, request: Request) -> FeedbackResponse:
        """Store one mark per visitor, question and post; a later one replaces it.

        ``visitor`` is a random token that the client keeps. Only a salted hash of it and of the
        client's address is stored. Marks enter the next training; those of one visitor share a
        limited influence.
        """
        address = request.client.host if request.client else ""
        service.feedback_rates.check(address)
        question = clean_text(body.question, " ").strip()
        if not question:
            raise HTTPException(422, "the question is empty; send the question that was asked")
        if body.mark == "click" and not service.settings.clicks:
            raise HTTPException(403, "clicks are not recorded; start the server with --clicks")
        if body.mark == "none":
            removed = await service.run(
                remove_feedback, engine.archive, question, body.id, body.visitor
            )
            return FeedbackResponse(stored=removed, mark="none")
        if await service.run(engine.archive.post, body.id) is None:
            raise HTTPException(404, f"no post {body.id[:100]!r}")
        await service.run(
            record_feedback, engine, question, body.id, body.mark, body.visitor, address
        )
        return FeedbackResponse(stored=True, mark=body.mark)

    return router
