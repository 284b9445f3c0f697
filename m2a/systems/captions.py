"""The captions that the systems of a run share. Each photo is captioned once, but every system that uses a caption pays for it.

So the cost of a system does not depend on the systems before it. A file keeps the captions for a run that is continued.
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
class CaptionRecord:
    """A caption, and the usage and time that it took."""

    captioner: str
    photo_id: str
    text: str
    usage: Usage
    seconds: float


_LINE = TypeAdapter(CaptionRecord)


class Captions:
    """Captions by captioner and photo."""

    def __init__(self, file: Path, captioner: Callable[[ChatModel | None], Captioner]) -> None:
        """`captioner` returns a captioner that uses the given (metered) chat model, or none."""
        self._file = file
        self._captioner = captioner
        self._locks: dict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._records = {(record.captioner, record.photo_id): record for record in _read(file)}

    async def caption(
        self, photo_id: str, photo: bytes, chat_model: ChatModel | None, meter: Meter
    ) -> tuple[str, float]:
        """Returns the caption, and the seconds that it once took if it existed already, or else 0. Adds its usage to the meter.

        Raises what the captioner raises.
        """
        own_meter = Meter()
        captioner = self._captioner(None if chat_model is None else MeteredChatModel(chat_model, own_meter))
        key = (captioner.captioner_id, photo_id)
        async with self._locks[key]:
            record = self._records.get(key)
            if record is not None:
                meter.usage += record.usage
                return record.text, record.seconds
            began = time.perf_counter()
            try:
                text = await captioner.caption(photo)
            finally:
                meter.usage += own_meter.usage
            record = CaptionRecord(*key, text, own_meter.usage, time.perf_counter() - began)
            self._records[key] = record
            with self._file.open("ab") as stream:
                stream.write(_LINE.dump_json(record) + b"\n")
            return text, 0.0


def _read(file: Path) -> list[CaptionRecord]:
    """Returns every whole line. The last one may have been cut off; its caption is made again."""
    records = []
    for line in file.read_bytes().splitlines() if file.exists() else ():
        try:
            records.append(_LINE.validate_json(line))
        except ValidationError:
            continue
    return records
