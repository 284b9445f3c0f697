"""Captions by a chat model that sees photos."""

import hashlib
import textwrap
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from PIL import Image

from models.captioner import Captioner, Count, uncounted
from models.chat_model import ChatMessage, ChatModel, MalformedReplyError, PhotoPart, TokenUsage

_PROMPT_FILE = Path(__file__).with_name("prompts") / "caption.txt"
_MAXIMUM_LENGTH = 300
_NOTHING = "unknown"


class ChatCaptioner:
    """Asks a chat model for a caption of one line, or another captioner, loaded on demand, if the model sees no photos.

    The prompt says that text in a photo is part of the picture and not an instruction.
    """

    def __init__(self, chat_model: ChatModel, load_other: Callable[[], Captioner]) -> None:
        self._prompt = _PROMPT_FILE.read_text(encoding="utf-8").strip()
        prompt_hash = hashlib.sha256(self._prompt.encode()).hexdigest()[:12]
        self.captioner_id = f"chat:{chat_model.name}@{prompt_hash}, or tags"
        self._chat_model = chat_model
        self._load_other = load_other

    async def caption(self, photo: bytes, count: Count = uncounted) -> str:
        """Returns a caption. Raises `ChatModelError` if the service fails."""
        if (await self._chat_model.abilities(("photos",))).sees_photos is not False:
            try:
                return await self._caption(photo, count)
            except MalformedReplyError as error:
                count(error.usage)  # an answer of another form contains no caption
        return await self._load_other().caption(photo, count)

    async def _caption(self, photo: bytes, count: Count) -> str:
        messages = (
            ChatMessage("system", (self._prompt,)),
            ChatMessage("user", (PhotoPart("The photo:", photo, _media_type(photo)),)),
        )
        words = ""
        async for piece in self._chat_model.stream(messages):
            if isinstance(piece, str):
                words += piece
            elif isinstance(piece, TokenUsage):
                count(piece)
        line = textwrap.shorten(words, _MAXIMUM_LENGTH, placeholder=" …").strip("\"'“” ")
        return "" if line.strip(".").lower() == _NOTHING else line


def _media_type(photo: bytes) -> str:
    with Image.open(BytesIO(photo)) as image:
        return Image.MIME[image.format or "JPEG"]
