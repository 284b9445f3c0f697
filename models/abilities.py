"""The abilities of chat models. They are determined once per model and address, and cached in a small file."""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StrictBool, TypeAdapter, ValidationError

from models.cached_file import write_atomically

CONTEXT_WINDOW = 16_384  # tokens, if neither the server nor the user specifies it
_ANSWER_SHARE = 4  # at most one quarter of the window is for the answer, so that enough is left for the prompt

Probe = Literal["photos", "tools", "schema"]

_Count = Annotated[int, Field(gt=0, strict=True)]


@dataclass(frozen=True, slots=True)
class Abilities:
    """None means that an ability is unknown; for `photos_per_prompt` it may also mean that there is no limit."""

    sees_photos: StrictBool | None = None
    calls_tools: StrictBool | None = None
    follows_schema: StrictBool | None = None
    context_window: _Count | None = None
    photos_per_prompt: _Count | None = None
    thinks_unopened: StrictBool | None = None
    """Its chat template opens the thoughts, so that its text contains only `</think>`."""

    @property
    def window(self) -> int:
        """The number of tokens that a prompt and its answer may have together."""
        return self.context_window or CONTEXT_WINDOW

    @property
    def longest_answer(self) -> int:
        """The number of tokens that no answer may exceed in this window."""
        return self.window // _ANSWER_SHARE

    def answer_tokens(self, at_most: int) -> int:
        """Returns the number of tokens that an answer may have in this window."""
        return min(at_most, self.longest_answer)

    def over(self, earlier: "Abilities") -> Self:
        """Returns these abilities, with unknown ones taken from `earlier`."""
        return replace(self, **{name: value for name, value in asdict(earlier).items() if getattr(self, name) is None})


_ENTRY = TypeAdapter(Abilities)


class AbilityRecord:
    """The known abilities by address and model. A missing, damaged or read-only file, or entry of it, counts as none."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._abilities: dict[str, Abilities] = {}

    def get(self, key: str) -> Abilities:
        if key not in self._abilities:
            self._abilities[key] = _read(self._entries().get(key))
        return self._abilities[key]

    def store(self, key: str, abilities: Abilities) -> None:
        if abilities == self.get(key):
            return
        self._abilities[key] = abilities
        if self._file is None:
            return
        entries = {**self._entries(), key: {n: v for n, v in asdict(abilities).items() if v is not None}}
        text = json.dumps(entries, indent=1, sort_keys=True) + "\n"
        with suppress(OSError):  # they are determined again next time
            write_atomically(self._file, lambda draft: draft.write_text(text, "utf-8"))

    def _entries(self) -> dict[str, Any]:
        try:
            entries = json.loads(self._file.read_text("utf-8")) if self._file else {}
        except (OSError, ValueError):
            return {}
        return entries if isinstance(entries, dict) else {}


def _read(entry: object) -> Abilities:
    try:
        return _ENTRY.validate_python(entry)
    except ValidationError:
        return Abilities()
