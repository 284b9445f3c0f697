"""How close a record must be to a query to count as found. Applied per path before fusion, whose scores cannot say it.

With a learned ranking it is asked of the question instead: whether any record at all is that close. That loses less, as
evidence that is near on no path stays in where other records are near; so it can be higher. And a question is near that names
what several records name (`names.holds_a_name`): "which species is Mango?" shares one word with what was told of Mango.

The figures come from `python -m tests.bench floor`, which chooses them on one half of the data and shows them on the other.
They hold for the embedded encoders alone; another encoder's similarities mean something else. Another text encoder gets no floor.
Another photo encoder gets a cautious one, which has not been measured, unless the settings give one: without any, every photo
would be near to every question.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from m2a.types import Path, RecordKind


@dataclass(frozen=True, slots=True)
class RelevanceFloor:
    """The least cosine on the dense path, share of the query's words on the BM25 path, and cosine on the photo path."""

    entry_cosine: float = -1.0
    message_cosine: float = -1.0
    entry_words: float = 0.0
    message_words: float = 0.0
    photo_cosine: float = -1.0
    photo_to_words_cosine: float = -1.0
    photos_are_measured: bool = False

    def cosine(self, kind: RecordKind) -> float:
        return self.entry_cosine if kind == "entry" else self.message_cosine

    def words(self, kind: RecordKind) -> float:
        return self.entry_words if kind == "entry" else self.message_words

    def admits(self, path: Path, kind: RecordKind, score: float, matched: float, *, by_photo: bool) -> bool:
        """Whether a record with that score, or share of the query's words, is near enough on that path."""
        if path == "dense":
            return score >= self.cosine(kind)
        if path == "bm25":
            return matched >= self.words(kind)
        return score >= (self.photo_cosine if by_photo else self.photo_to_words_cosine)

    @property
    def beside_a_near_photo(self) -> "RelevanceFloor":
        """For the other photos where one is near to a photo of the query: of the same thing, they lie a little further off."""
        return replace(self, photo_cosine=self.photo_cosine - _FURTHER)

    def agrees(self, kind: RecordKind, photo: float, words: float | None) -> bool:
        """Whether words are near to what a photo shows, or to what is said beside it."""
        return photo >= self.photo_to_words_cosine or (words is not None and words >= self.cosine(kind))


NO_FLOOR = RelevanceFloor()

# Chosen on a visual set (RETRIEVAL.md). At 0.41 the embedded encoder admits 6 % of the photos of other things.
_FURTHER = 0.1

_TEXT_FLOORS = {
    "all-MiniLM-L6-v2@": {"entry_cosine": 0.55, "entry_words": 0.3, "message_cosine": 0.4, "message_words": 0.35}
}
_TEXT_FLOORS_OF_QUESTIONS = {
    "all-MiniLM-L6-v2@": {"entry_cosine": 0.55, "entry_words": 0.4, "message_cosine": 0.45, "message_words": 0.5}
}
_PHOTO_FLOORS = {"efficientnet-lite0@": {"photo_cosine": 0.51, "photo_to_words_cosine": 0.26}}
# In spaces like CLIP's, photos of one thing are closer than this, and a photo and its own caption about as close.
_CAUTIOUS = {"photo_cosine": 0.8, "photo_to_words_cosine": 0.3}


def floor_of(
    text_encoder_id: str,
    image_encoder_id: str,
    *,
    by_question: bool = False,
    photo_floor: float | None = None,
    photo_words_floor: float | None = None,
) -> RelevanceFloor:
    """The floor for these encoders, of each record or of the question: as measured, and for photos as given or cautious.

    `photo_floor` is the least cosine of a photo to a photo, `photo_words_floor` of a photo to words; given, they go before
    what was measured.
    """
    floors = _TEXT_FLOORS_OF_QUESTIONS if by_question else _TEXT_FLOORS
    text = _of_encoder(floors, text_encoder_id) or {}
    measured = _of_encoder(_PHOTO_FLOORS, image_encoder_id)
    given = {"photo_cosine": photo_floor, "photo_to_words_cosine": photo_words_floor}
    photo = (measured or _CAUTIOUS) | {name: cosine for name, cosine in given.items() if cosine is not None}
    return RelevanceFloor(**text, **photo, photos_are_measured=photo == measured)


def _of_encoder(floors: Mapping[str, dict[str, float]], encoder_id: str) -> dict[str, float] | None:
    return next((floor for name, floor in floors.items() if encoder_id.startswith(name)), None)
