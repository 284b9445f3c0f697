"""A few words about a photo."""

from collections.abc import Callable, Iterable
from typing import Protocol

from models.chat_model import TokenUsage

Count = Callable[[TokenUsage], None]

_PERHAPS, _OR = "perhaps ", " or "


def uncounted(_usage: TokenUsage) -> None:
    """For who does not ask what a caption took."""


class Captioner(Protocol):
    captioner_id: str

    async def caption(self, photo: bytes, count: Count = uncounted) -> str:
        """A short caption of an encoded photo, or "" where nothing can be said. A guess is worded as one.

        `count` is called with what each call of a chat model took.
        """
        ...


def guess(phrases: Iterable[str]) -> str:
    """What a photo may show, as a caption: "perhaps an otter or a mink"; "" for no phrase."""
    said = _OR.join(phrases)
    return f"{_PERHAPS}{said}" if said else ""


def together(captions: Iterable[str]) -> str:
    """One caption for several photos, in their order. What an earlier one says is not said again, nor any guess."""
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
