"""Small questions that test the abilities of a chat model."""

import io
from functools import cache

from models.chat_model import ChatMessage, PhotoPart, Tool

_COLOURS = ("yellow", "blue")
_SIDE = 224  # some vision models refuse a photo of a few pixels

SAY_YES = Tool(
    "answer",
    "Answer the question.",
    {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
)
ASK_FOR_YES = (ChatMessage("user", ("Call the tool with the word yes.",)),)


def ask_for_colours() -> list[ChatMessage]:
    """Returns a question that can only be answered by seeing the picture."""
    question = (
        "The left half of this picture has one colour and the right half another. Which two? Answer in two words."
    )
    return [ChatMessage("user", (PhotoPart("A picture:", _picture(), "image/png"), question))]


def names_colours(answer: str) -> bool:
    return all(colour in answer.lower() for colour in _COLOURS)


@cache
def _picture() -> bytes:
    from PIL import Image

    picture = Image.new("RGB", (_SIDE, _SIDE), _COLOURS[0])
    picture.paste(_COLOURS[1], (_SIDE // 2, 0, _SIDE, _SIDE))
    data = io.BytesIO()
    picture.save(data, "PNG")
    return data.getvalue()
