"""The relevance floor: how close a record must be to a query to count as a hit.

It is applied to each path before fusion, because fused scores no longer say how close a record is.

With a learned ranking, the floor applies to the question instead: if any record is close enough, all records stay. This loses
less, because evidence that is not close on any path stays if other records are close, so the floor can be higher. A question
also passes if it contains a name that several records contain (`question_names.known_names`) and is not about somebody else
whom none contains: "which species is Mango?" shares only one word with the records about Mango.

The values come from `python -m tests.bench floor`, which chooses them on one half of the data and evaluates them on the other.
They hold only for the embedded encoders, since the similarities of another encoder mean something else. Another text encoder
has no floor. Another photo encoder has a cautious, unmeasured one unless the settings give one: without any floor, every photo
would be close to every question.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from m2a.types import RecordKind, RetrievalPath


@dataclass(frozen=True, slots=True)
class RelevanceFloor:
    """The lowest cosine on the dense path, share of the query's words on the BM25 path, and cosine on the photo path."""

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

    def admits(self, path: RetrievalPath, kind: RecordKind, score: float, matched: float, *, by_photo: bool) -> bool:
        """Returns whether a record is close enough on a path, given its score or its share of the query's words."""
        if path == "dense":
            return score >= self.cosine(kind)
        if path == "bm25":
            return matched >= self.words(kind)
        return score >= (self.photo_cosine if by_photo else self.photo_to_words_cosine)

    @property
    def for_similar_photos(self) -> "RelevanceFloor":
        """The floor for photos once another photo or the words are close to the query, since photos of one thing vary."""
        return replace(self, photo_cosine=self.photo_cosine - _SIMILAR_PHOTO_MARGIN)

    def agrees(self, kind: RecordKind, photo: float, words: float | None) -> bool:
        """Returns whether words are close to what a photo shows or to the text beside it."""
        return photo >= self.photo_to_words_cosine or (words is not None and words >= self.cosine(kind))


NO_FLOOR = RelevanceFloor()

# Chosen on a visual data set (RETRIEVAL.md). At 0.41, the embedded encoder admits 6 % of the photos of other things.
_SIMILAR_PHOTO_MARGIN = 0.1

_TEXT_FLOORS = {
    "all-MiniLM-L6-v2@": {"entry_cosine": 0.55, "entry_words": 0.3, "message_cosine": 0.4, "message_words": 0.35}
}
_TEXT_FLOORS_OF_QUESTIONS = {
    "all-MiniLM-L6-v2@": {"entry_cosine": 0.55, "entry_words": 0.4, "message_cosine": 0.45, "message_words": 0.5}
}
_PHOTO_FLOORS = {"efficientnet-lite0@": {"photo_cosine": 0.51, "photo_to_words_cosine": 0.26}}
# In spaces like CLIP's, photos of one thing are closer than this, and a photo is about as close to its caption.
_CAUTIOUS = {"photo_cosine": 0.8, "photo_to_words_cosine": 0.3}


def floor_of(
    text_encoder_id: str,
    image_encoder_id: str,
    *,
    by_question: bool = False,
    photo_floor: float | None = None,
    photo_words_floor: float | None = None,
) -> RelevanceFloor:
    """Returns the floor for these encoders, for single records or, with `by_question`, for the whole question.

    `photo_floor` is the lowest cosine of a photo to a photo, and `photo_words_floor` that of a photo to words. Both override
    the measured or cautious values.
    """
    floors = _TEXT_FLOORS_OF_QUESTIONS if by_question else _TEXT_FLOORS
    text = _of_encoder(floors, text_encoder_id) or {}
    measured = _of_encoder(_PHOTO_FLOORS, image_encoder_id)
    given = {"photo_cosine": photo_floor, "photo_to_words_cosine": photo_words_floor}
    photo = (measured or _CAUTIOUS) | {name: cosine for name, cosine in given.items() if cosine is not None}
    return RelevanceFloor(**text, **photo, photos_are_measured=photo == measured)


def _of_encoder(floors: Mapping[str, dict[str, float]], encoder_id: str) -> dict[str, float] | None:
    return next((floor for name, floor in floors.items() if encoder_id.startswith(name)), None)
