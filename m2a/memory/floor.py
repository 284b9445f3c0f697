"""How close a record must be to a query to count as found. Applied per path before fusion, whose scores cannot say it.

The figures come from `python -m tests.bench floor`, which chooses them on one half of the data and shows them on the other.
They hold for the embedded encoders alone; another encoder's similarities mean something else, and get no floor.
"""

from dataclasses import dataclass

from m2a.types import RecordKind


@dataclass(frozen=True, slots=True)
class RelevanceFloor:
    """The least cosine on the dense path, share of the query's words on the BM25 path, and cosine on the photo path."""

    entry_cosine: float = -1.0
    message_cosine: float = -1.0
    entry_words: float = 0.0
    message_words: float = 0.0
    photo_cosine: float = -1.0
    photo_to_words_cosine: float = -1.0

    def cosine(self, kind: RecordKind) -> float:
        return self.entry_cosine if kind == "entry" else self.message_cosine

    def words(self, kind: RecordKind) -> float:
        return self.entry_words if kind == "entry" else self.message_words


NO_FLOOR = RelevanceFloor()

_TEXT_FLOORS = {
    "all-MiniLM-L6-v2@": {"entry_cosine": 0.55, "entry_words": 0.3, "message_cosine": 0.4, "message_words": 0.35}
}
_PHOTO_FLOORS = {"efficientnet-lite0@": {"photo_cosine": 0.51, "photo_to_words_cosine": 0.26}}


def floor_of(text_encoder_id: str, image_encoder_id: str) -> RelevanceFloor:
    """The floor measured for these encoders, as far as one was."""
    text = next((floor for name, floor in _TEXT_FLOORS.items() if text_encoder_id.startswith(name)), {})
    photo = next((floor for name, floor in _PHOTO_FLOORS.items() if image_encoder_id.startswith(name)), {})
    return RelevanceFloor(**text, **photo)
