"""The route that returns a conversation as a Markdown file to its owner only."""

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
    """Returns the route `/conversations/{conversation_id}.md`. It answers 404 for another owner's conversation, too."""
    router = APIRouter(prefix="/conversations")

    @router.get("/{conversation_id}.md")
    def markdown(conversation_id: str, owner: Annotated[str, Depends(owner_of)]) -> Response:
        bank = assistant.memory(owner)
        conversation = next((c for c in bank.conversations() if c.conversation_id == conversation_id), None)
        if conversation is None:
            raise HTTPException(404, "There is no such conversation.")
        title = title_of(conversation)
        messages = assistant.messages(owner, conversation_id)
        descriptions = bank.photos.captions([photo_id for message in messages for photo_id in message.photos])
        descriptions |= {photo_id: concept.name for concept in bank.concepts() for photo_id in concept.photo_ids}
        name = quote(f"{title}.md", safe="")
        headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}", "Cache-Control": "no-store"}
        text = conversation_markdown(title, messages, descriptions)
        return Response(text.encode("utf-8", "replace"), media_type="text/markdown; charset=utf-8", headers=headers)

    return router


def conversation_markdown(title: str, messages: Sequence[Message], descriptions: Mapping[str, str]) -> str:
    """Returns the messages in order, each with its speaker and time; only the newest version of an edited message.

    `descriptions` maps a photo id to the name that the user gave to what it shows, or else to its caption.
    """
    parts = [f"# {' '.join(title.split())}"]
    parts += [_message(message, descriptions) for message, _aside in standing(messages)]
    return "\n\n".join(parts) + "\n"


def _message(message: Message, descriptions: Mapping[str, str]) -> str:
    said_at = message.said_at.astimezone()
    lines = [f"**{message.speaker}**, {day(said_at)}, {said_at:%H:%M}"]
    if message.photos:
        names = "; ".join(dict.fromkeys(filter(None, map(descriptions.get, message.photos))))
        lines.append(f"*{plural(len(message.photos), 'photo')}{': ' + names if names else ''}*")
    if message.text:
        lines.append(message.text)
    return "\n\n".join(lines)
