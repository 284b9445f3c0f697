"""New numbers for the sessions of a conversation, in its keys and in references to its turns."""

import re
from collections.abc import Mapping
from typing import Any

NUMBERED = re.compile(r"(events_)?session_(\d+)(\w*)")
_TURN_ID = re.compile(r"D\s*:?\s*(\d+)\s*:\s*(\d+)")
_ONLY_IDS = re.compile(rf"(?:[ ,;()\[\]]*{_TURN_ID.pattern}[ ,;()\[\]]*)+")


class Renumbering:
    """Replaces old session numbers in keys and references. Numbers without a session are moved past the last session."""

    def __init__(self, numbers: Mapping[int, int], inserted: int) -> None:
        self._numbers = numbers
        self._inserted = inserted

    def number(self, old: int) -> int:
        return self._numbers.get(old, old + self._inserted)

    def key(self, key: str) -> str:
        return NUMBERED.sub(lambda match: f"{match[1] or ''}session_{self.number(int(match[2]))}{match[3]}", key)

    def reference(self, text: str) -> str:
        return _TURN_ID.sub(lambda match: f"D{self.number(int(match[1]))}:{int(match[2])}", text)

    def turn(self, turn: Mapping[str, Any]) -> dict[str, Any]:
        return {**turn, "dia_id": self.reference(str(turn["dia_id"]))}

    def section(self, section: Mapping[str, Any]) -> dict[str, Any]:
        """Returns an `observation`, `session_summary` or `event_summary`: keys by session, and references in its facts."""
        return by_number({self.key(key): self._facts(value) for key, value in section.items()})

    def _facts(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._facts(entry) for key, entry in value.items()}
        if isinstance(value, list):
            return [self._facts(entry) for entry in value]
        return self.reference(value) if isinstance(value, str) and _ONLY_IDS.fullmatch(value) else value


def by_number(keyed: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the entries in the order of the sessions, each session after its date, as in LoCoMo."""

    def place(key: str) -> tuple[int, int]:
        match = NUMBERED.fullmatch(key)
        return (int(match[2]), 0 if match[3] else 1) if match else (0, 0)

    return {key: keyed[key] for key in sorted(keyed, key=place)}
