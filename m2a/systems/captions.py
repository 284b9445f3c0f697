"""Captions that the systems of a run share: each photo is looked at once, and everyone who uses what was seen pays for it.

So what a system costs does not depend on who came before it. They are kept in a file, for a run that goes on later.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from m2a.systems.metered import MeteredChatModel
from m2a.systems.system import Meter, Usage
from models.captioner import Captioner
from models.chat_model import ChatModel


@dataclass(frozen=True, slots=True)
class KeptCaption:
    """A caption and what it took."""

    captioner: str
    photo_id: str
    text: str
    usage: Usage
    seconds: float


_LINE = TypeAdapter(KeptCaption)


class Captions:
    """By captioner and photo."""

    def __init__(self, file: Path, captioner: Callable[[ChatModel | None], Captioner]) -> None:
        """`captioner` makes one over a (metered) chat model, or None where there is none."""
        self._file = file
        self._captioner = captioner
        self._turns: dict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._kept = {(one.captioner, one.photo_id): one for one in _read(file)}

    async def of(self, photo_id: str, photo: bytes, chat_model: ChatModel | None, meter: Meter) -> tuple[str, float]:
        """The caption, and the seconds that an earlier one spares; `meter` is told of its calls, whoever made them.

        Raises what the captioner raises.
        """
        own = Meter()
        captioner = self._captioner(None if chat_model is None else MeteredChatModel(chat_model, own))
        key = (captioner.captioner_id, photo_id)
        async with self._turns[key]:
            kept = self._kept.get(key)
            if kept is not None:
                meter.usage += kept.usage
                return kept.text, kept.seconds
            began = time.perf_counter()
            try:
                text = await captioner.caption(photo)
            finally:
                meter.usage += own.usage
            kept = KeptCaption(*key, text, own.usage, time.perf_counter() - began)
            self._kept[key] = kept
            with self._file.open("ab") as opened:
                opened.write(_LINE.dump_json(kept) + b"\n")
            return text, 0.0


def _read(file: Path) -> list[KeptCaption]:
    """Every whole line; the last one may have been cut off, and is made again."""
    found = []
    for line in file.read_bytes().splitlines() if file.exists() else ():
        try:
            found.append(_LINE.validate_json(line))
        except ValidationError:
            continue
    return found
