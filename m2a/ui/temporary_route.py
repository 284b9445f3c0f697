"""Photos for a temporary chat, straight into this process: Gradio would put them on the disk."""

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
    """`/temporary/{conversation_id}/photos` takes the bytes of one photo for the next message of an open chat."""
    router = APIRouter(prefix=PREFIX)

    @router.post("/{conversation_id}/photos")
    async def attach(conversation_id: str, request: Request, owner: Annotated[str, Depends(owner_of)]) -> Response:
        data = await request.body()
        try:
            await run_in_threadpool(assistant.temporary_chats.attach, owner, conversation_id, data)
        except LookupError as error:
            raise HTTPException(404, str(error)) from None
        except ValueError as error:
            raise HTTPException(422, sentence_of(error) or "This photo is not taken.") from None
        return Response(status_code=204)

    return router
