"""The routes of photos, for their owner only: stored ones, which no shared cache keeps, and those sent to a temporary chat."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from m2a.sentences import known_sentence

if TYPE_CHECKING:
    from m2a.assistant import Assistant

TEMPORARY = "/temporary"

_HEADERS = {
    "Cache-Control": "private, max-age=31536000, immutable",
    "Content-Disposition": "inline",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def photo_routes(assistant: "Assistant", owner_of: Callable[[Request], str]) -> APIRouter:
    """Returns the routes of photos. They answer 404 for another owner's photo or temporary chat, too."""
    router = APIRouter()

    @router.get("/photos/{photo_id}")
    def photo(photo_id: str, owner: Annotated[str, Depends(owner_of)]) -> Response:
        bank = assistant.temporary_chats.holding(owner, photo_id)
        return _response((bank or assistant.memory(owner)).photos.data, photo_id, is_temporary=bank is not None)

    @router.get("/photos/{photo_id}/thumbnail")
    def thumbnail(photo_id: str, owner: Annotated[str, Depends(owner_of)]) -> Response:
        bank = assistant.temporary_chats.holding(owner, photo_id)
        return _response((bank or assistant.memory(owner)).photos.thumbnail, photo_id, is_temporary=bank is not None)

    @router.delete("/photos/cached", status_code=204)
    def drop_cached(owner: Annotated[str, Depends(owner_of)]) -> Response:
        """Makes the browser clear its cache of this host, photos included; the page requests this after an erasure."""
        return Response(status_code=204, headers={"Clear-Site-Data": '"cache"'})

    @router.post(TEMPORARY + "/{conversation_id}/photos")
    async def attach(conversation_id: str, request: Request, owner: Annotated[str, Depends(owner_of)]) -> Response:
        """Takes the bytes of a photo for the next message of a temporary chat; Gradio would write them to the disk."""
        data = await request.body()
        try:
            await run_in_threadpool(assistant.temporary_chats.attach, owner, conversation_id, data)
        except LookupError as error:
            raise HTTPException(404, str(error)) from None
        except ValueError as error:
            raise HTTPException(422, known_sentence(error) or "This photo was not accepted.") from None
        return Response(status_code=204)

    return router


def _response(load: Callable[[str], bytes], photo_id: str, *, is_temporary: bool) -> Response:
    """Returns the stored photo. A missing file, an altered one or a link is not served.

    Not even the browser caches a photo of a temporary chat.
    """
    headers = _HEADERS | {"Cache-Control": "no-store"} if is_temporary else _HEADERS
    try:
        return Response(load(photo_id), media_type="image/jpeg", headers=headers)
    except LookupError as error:
        raise HTTPException(404, known_sentence(error) or "There is no such photo.") from None
