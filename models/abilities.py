"""The abilities of chat models. They are determined once per model and address, and cached in a small file."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, Self

CONTEXT_WINDOW = 16_384  # tokens, if neither the server nor the user specifies it

Probe = Literal["photos", "tools", "schema"]


@dataclass(frozen=True, slots=True)
class Abilities:
    """None means that an ability is unknown; for `photos_per_prompt` it may also mean that there is no limit."""

    sees_photos: bool | None = None
    calls_tools: bool | None = None
    follows_schema: bool | None = None
    context_window: int | None = None
    photos_per_prompt: int | None = None
    thinks_unopened: bool | None = None
    """Its chat template opens the thoughts, so that its text contains only `</think>`."""

    @property
    def window(self) -> int:
        """The number of tokens that a prompt and its answer may have together."""
        return self.context_window or CONTEXT_WINDOW

    def over(self, earlier: "Abilities") -> Self:
        """Returns these abilities, with unknown ones taken from `earlier`."""
        return replace(self, **{name: value for name, value in asdict(earlier).items() if getattr(self, name) is None})


class AbilityRecord:
    """The known abilities by address and model. A missing, damaged or read-only file counts as no file."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._kept: dict[str, Abilities] = {}

    def get(self, key: str) -> Abilities:
        if key not in self._kept:
            self._kept[key] = _read(self._entries().get(key))
        return self._kept[key]

    def keep(self, key: str, abilities: Abilities) -> None:
        if abilities == self.get(key):
            return
        self._kept[key] = abilities
        if self._file is None:
            return
        entries = {**self._entries(), key: {n: v for n, v in asdict(abilities).items() if v is not None}}
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            draft = self._file.with_name(f"{self._file.name}.{os.getpid()}")
            draft.write_text(json.dumps(entries, indent=1, sort_keys=True) + "\n", "utf-8")
            draft.replace(self._file)
        except OSError:
            pass  # they are determined again next time

    def _entries(self) -> dict[str, Any]:
        try:
            entries = json.loads(self._file.read_text("utf-8")) if self._file else {}
        except (OSError, ValueError):
            return {}
        return entries if isinstance(entries, dict) else {}


def _read(entry: object) -> Abilities:
    if not isinstance(entry, Mapping):
        return Abilities()
    values: dict[str, Any] = {}
    for field in fields(Abilities):
        value = entry.get(field.name)
        is_number = field.name in ("context_window", "photos_per_prompt")
        if (is_number and type(value) is int and value > 0) or (not is_number and isinstance(value, bool)):
            values[field.name] = value
    return Abilities(**values)
