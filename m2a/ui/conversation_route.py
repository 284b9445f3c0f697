"""A conversation as a Markdown file, by our own route: only its owner gets it."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import Response

from m2a.types import Message, standing
from m2a.ui.conversations_panel import title_of
from m2a.ui.markup import day, plural

if TYPE_CHECKING:
    from m2a.assistant import Assistant


def conversation_routes(assistant: "Assistant", owner_of: Callable[[Request], str]) -> APIRouter:
    """`/conversations/{conversation_id}.md`. Another owner's is as unknown as one that never was: 404."""
    router = APIRouter(prefix="/conversations")

    @router.get("/{conversation_id}.md")
    def markdown(conversation_id: str, owner: Annotated[str, Depends(owner_of)]) -> Response:
        known = {one.conversation_id: one for one in assistant.memory(owner).conversations()}
        if conversation_id not in known:
            raise HTTPException(404, "There is no such conversation.")
        title = title_of(known[conversation_id])
        messages = assistant.messages(owner, conversation_id)
        bank = assistant.memory(owner)
        shown = bank.photos.captions([photo_id for one in messages for photo_id in one.photos])
        shown |= {photo_id: one.name for one in bank.concepts() for photo_id in one.photo_ids}
        name = quote(f"{title}.md", safe="")
        headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}", "Cache-Control": "no-store"}
        text = conversation_markdown(title, messages, shown)
        return Response(text.encode("utf-8", "replace"), media_type="text/markdown; charset=utf-8", headers=headers)

    return router


def conversation_markdown(title: str, messages: Sequence[Message], shown: Mapping[str, str]) -> str:
    """Returns the messages in order, each with who said it and when; of a message that was edited the newest version.

    `shown` says of a photo what it shows: the name that the user gave it, or else its caption.
    """
    parts = [f"# {' '.join(title.split())}"]
    parts += [_message(message, shown) for message, _aside in standing(messages)]
    return "\n\n".join(parts) + "\n"


def _message(message: Message, shown: Mapping[str, str]) -> str:
    said = message.said_at.astimezone()
    lines = [f"**{message.speaker}**, {day(said)}, {said:%H:%M}"]
    if message.photos:
        names = "; ".join(dict.fromkeys(shown[one] for one in message.photos if shown.get(one)))
        lines.append(f"*{plural(len(message.photos), 'photo')}{': ' + names if names else ''}*")
    if message.text:
        lines.append(message.text)
    return "\n\n".join(lines)
