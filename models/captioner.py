"""Captions of photos: the protocol, and how captions are worded."""

from collections.abc import Callable, Iterable
from typing import Protocol

from models.chat_model import TokenUsage

Count = Callable[[TokenUsage], None]

_PERHAPS, _OR = "perhaps ", " or "


def uncounted(_usage: TokenUsage) -> None:
    """Ignores the usage, for callers that do not count it."""


class Captioner(Protocol):
    captioner_id: str

    async def caption(self, photo: bytes, count: Count = uncounted) -> str:
        """Returns a short caption of an encoded photo, or "" if nothing can be said. A guess is worded as one.

        Calls `count` with the usage of each chat model call.
        """
        ...


def guess(phrases: Iterable[str]) -> str:
    """Returns a caption that guesses what a photo shows: "perhaps an otter or a mink", or "" without phrases."""
    alternatives = _OR.join(phrases)
    return f"{_PERHAPS}{alternatives}" if alternatives else ""


def together(captions: Iterable[str]) -> str:
    """Returns one caption for several photos, in order, without repeated captions and guesses."""
    kept: dict[str, None] = {}
    guessed: set[str] = set()
    for caption in captions:
        if caption.startswith(_PERHAPS):
            phrases = [phrase for phrase in caption.removeprefix(_PERHAPS).split(_OR) if phrase not in guessed]
            guessed.update(phrases)
            caption = guess(phrases)
        if caption:
            kept.setdefault(caption)
    return "; ".join(kept)
