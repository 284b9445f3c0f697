"""The answer prompt of systems without agents of their own: the lines that were found, and then the question."""

from collections.abc import Iterable, Sequence
from contextlib import aclosing
from datetime import datetime

from m2a.agents.material import Boundary, prompt_text
from m2a.agents.material import render as render_of_agents
from m2a.systems.metered import MeteredChatModel, tokens_of
from m2a.systems.shared import Memory
from m2a.systems.system import Answer, Meter, Question
from m2a.types import Message
from models.chat_model import ChatMessage, ChatModel, ChatModelError, PhotoPart

MAX_PHOTOS = 8


def render(name: str, **values: object) -> str:
    """Returns the systems' prompt file of that name with its values filled in; see `prompt_text`."""
    return prompt_text("m2a.systems", name, values)


def message_line(message: Message, captions: Iterable[str] = ()) -> str:
    """Returns a message in one line: day and time, speaker, text, and captions of its photos."""
    pieces = [f"{message.said_at:%A %-d %B %Y, %H:%M}, {message.speaker}:", message.text]
    return " ".join(piece for piece in [*pieces, *(f"[photo: {caption}]" for caption in captions)] if piece)


def photos_of(messages: Iterable[Message]) -> list[tuple[str, str]]:
    """Returns the photos of the messages as (label, photo id), for `ask`."""
    return [(f"A photo of: {message_line(message)}", photo) for message in messages for photo in message.photos]


def answer_messages(
    question: Question,
    lines: Sequence[str],
    memory: Memory,
    *,
    photos: Sequence[tuple[str, str]] = (),
    sees_photos: bool,
) -> list[ChatMessage]:
    """Returns the prompt. `photos` are (label, photo id) of the found messages; a model that sees no photos gets none."""
    boundary = Boundary()
    system = render("answer", today=day(question.asked_at), boundary=render_of_agents("boundary", fence=boundary.fence))
    parts: list[str | PhotoPart] = [boundary.enclose("Found", lines or ["nothing"]) + "\n\n"]
    if sees_photos:
        parts += [PhotoPart(label, memory.photo_data(photo), "image/jpeg") for label, photo in photos[:MAX_PHOTOS]]
        parts += [
            PhotoPart(f"Photo {number} of the question", memory.photo_data(photo), "image/jpeg")
            for number, photo in enumerate(question.photos, start=1)
        ]
    parts.append(f"The question: {question.text}")
    return [
        ChatMessage("system", (f"{system}\n\n{question.instructions or render('style')}",)),
        ChatMessage("user", tuple(parts)),
    ]


async def ask(
    chat_model: ChatModel,
    question: Question,
    lines: Sequence[str],
    memory: Memory,
    meter: Meter,
    *,
    sources: Sequence[int],
    search_seconds: float,
    photos: Sequence[tuple[str, str]] = (),
    trace: Sequence[object] = (),
) -> Answer:
    """Answers the question from the lines that were found. Raises `ChatModelError`."""
    metered = MeteredChatModel(chat_model, meter)
    prompt = answer_messages(question, lines, memory, photos=photos, sees_photos=metered.sees_photos)
    text = ""
    async with aclosing(metered.stream(prompt)) as pieces:
        async for piece in pieces:
            text += piece if isinstance(piece, str) else ""
    if not text.strip():
        raise ChatModelError("The chat model gave an empty reply.")
    return Answer(
        text.strip(),
        tuple(sources),
        context_tokens=sum(tokens_of(line) for line in lines),
        search_seconds=search_seconds,
        trace=[*trace, {"found": list(lines)}],
    )


def day(moment: datetime) -> str:
    """Returns a day like `Sunday 7 May 2023`."""
    return moment.strftime("%A %-d %B %Y")
