"""Photos by our own route: only their owner gets them, as what they are, and no shared cache keeps them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import Response

from m2a.sentences import sentence_of

if TYPE_CHECKING:
    from m2a.assistant import Assistant

_HEADERS = {
    "Cache-Control": "private, max-age=31536000, immutable",
    "Content-Disposition": "inline",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def photo_routes(assistant: "Assistant", owner_of: Callable[[Request], str]) -> APIRouter:
    """`/photos/{photo_id}` and its thumbnail. Another owner's photo is as unknown as one that never was: 404."""
    router = APIRouter(prefix="/photos")

    @router.get("/{photo_id}")
    def photo(photo_id: str, owner: Annotated[str, Depends(owner_of)]) -> Response:
        held = assistant.temporary_chats.holding(owner, photo_id)
        return _shown((held or assistant.memory(owner)).photos.data, photo_id, is_temporary=held is not None)

    @router.get("/{photo_id}/thumbnail")
    def thumbnail(photo_id: str, owner: Annotated[str, Depends(owner_of)]) -> Response:
        held = assistant.temporary_chats.holding(owner, photo_id)
        return _shown((held or assistant.memory(owner)).photos.thumbnail, photo_id, is_temporary=held is not None)

    @router.delete("/cached", status_code=204)
    def drop_cached(owner: Annotated[str, Depends(owner_of)]) -> Response:
        """After an erasure the page asks for this: the browser drops what it cached of this host, photos among it."""
        return Response(status_code=204, headers={"Clear-Site-Data": '"cache"'})

    return router


def _shown(load: Callable[[str], bytes], photo_id: str, *, is_temporary: bool) -> Response:
    """What was stored, or nothing: a file that is missing, was altered or is a link is not served.

    A photo of a temporary chat is in no cache either, the browser's included.
    """
    headers = _HEADERS | {"Cache-Control": "no-store"} if is_temporary else _HEADERS
    try:
        return Response(load(photo_id), media_type="image/jpeg", headers=headers)
    except LookupError as error:
        raise HTTPException(404, sentence_of(error) or "There is no such photo.") from None
