"""The route that takes photos for a temporary chat into memory; Gradio would write them to the disk."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from m2a.sentences import sentence_of

if TYPE_CHECKING:
    from m2a.assistant import Assistant

PREFIX = "/temporary"


def temporary_routes(assistant: "Assistant", owner_of: Callable[[Request], str]) -> APIRouter:
    """Returns the route `/temporary/{conversation_id}/photos`. It takes the bytes of one photo for the chat's next message."""
    router = APIRouter(prefix=PREFIX)

    @router.post("/{conversation_id}/photos")
    async def attach(conversation_id: str, request: Request, owner: Annotated[str, Depends(owner_of)]) -> Response:
        data = await request.body()
        try:
            await run_in_threadpool(assistant.temporary_chats.attach, owner, conversation_id, data)
        except LookupError as error:
            raise HTTPException(404, str(error)) from None
        except ValueError as error:
            raise HTTPException(422, sentence_of(error) or "This photo was not accepted.") from None
        return Response(status_code=204)

    return router
