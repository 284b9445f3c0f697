"""The captions that the systems of a run share. Each photo is captioned once, and each system that uses the caption pays for it.

So the cost of a system does not depend on the systems before it. Captions are kept in a file for a run that is continued.
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
    """A caption, and the usage and time that it took."""

    captioner: str
    photo_id: str
    text: str
    usage: Usage
    seconds: float


_LINE = TypeAdapter(KeptCaption)


class Captions:
    """By captioner and photo."""

    def __init__(self, file: Path, captioner: Callable[[ChatModel | None], Captioner]) -> None:
        """`captioner` makes a captioner for a (metered) chat model, or for None."""
        self._file = file
        self._captioner = captioner
        self._turns: dict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._kept = {(one.captioner, one.photo_id): one for one in _read(file)}

    async def of(self, photo_id: str, photo: bytes, chat_model: ChatModel | None, meter: Meter) -> tuple[str, float]:
        """Returns the caption, and the seconds that it took if it existed already, else 0. Adds its usage to the meter.

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
    """Returns every whole line. The last one may have been cut off; its caption is made again."""
    found = []
    for line in file.read_bytes().splitlines() if file.exists() else ():
        try:
            found.append(_LINE.validate_json(line))
        except ValidationError:
            continue
    return found
