"""Sentences with the same frame: the same words around another subject and another value.

One statement says little about the values of its relation. Statements with the same frame say it together: those who are
"praised as" a goalkeeper, a pitcher and a wing are praised for their position.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from m2a.agents.offline.relations.words import GLUE, Words

Span = tuple[int, int]

_LONGEST = 8  # words of a subject or a value
_LEAST = 2  # words of a frame


@dataclass(frozen=True, slots=True)
class Frame:
    """The words of a statement before, between and after its subject and value, as compared."""

    before: Words
    between: Words
    after: Words
    begins_with_subject: bool

    @classmethod
    def of(cls, keys: Words, subject: Span, value: Span) -> "Frame | None":
        """Returns the frame, None if it has too few words to occur again."""
        first, second = sorted((subject, value))
        frame = cls(keys[: first[0]], keys[first[1] : second[0]], keys[second[1] :], first == subject)
        words = frame.words
        return frame if len(words) >= _LEAST and not (set(words) <= GLUE and len(words) == _LEAST) else None

    @property
    def words(self) -> Words:
        return (*self.before, *self.between, *self.after)

    def split(self, keys: Words) -> tuple[Words, Words] | None:
        """Returns subject and value of a sentence with this frame, None for a sentence without it."""
        start, end = len(self.before), len(keys) - len(self.after)
        if end - start < len(self.between) + 2 or keys[:start] != self.before or keys[end:] != self.after:
            return None
        size = len(self.between)
        if not size:
            return None
        for position in range(start + 1, min(start + _LONGEST + 1, end - size)):
            if keys[position : position + size] == self.between:
                first, second = keys[start:position], keys[position + size : end]
                if len(second) > _LONGEST:
                    return None
                return (first, second) if self.begins_with_subject else (second, first)
        return None


def many(pairs: Collection[tuple[Words, Words]]) -> tuple[int, int]:
    """Returns the largest number of values of one subject, and of subjects of one value."""
    values, subjects = Counter(subject for subject, _ in pairs), Counter(value for _, value in pairs)
    return max(values.values(), default=0), max(subjects.values(), default=0)


def alike(frame: Frame, sentences: Iterable[Words], limit: int) -> list[tuple[Words, Words]]:
    """Returns subject and value of the sentences with the frame, at most `limit`."""
    result: dict[tuple[Words, Words], None] = {}
    for keys in sentences:
        parts = frame.split(keys)
        if parts is not None:
            result[parts] = None
            if len(result) == limit:
                break
    return list(result)
