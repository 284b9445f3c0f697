"""Sentences with the same frame: the same words around another subject and another value.

One statement says little about what kind of value its relation has. Together, statements with the same frame show it: those
who are "praised as" a goalkeeper, a pitcher and a wing are praised for their position.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from m2a.agents.offline.relations.words import FUNCTION_WORDS, MAX_PHRASE, Span, Words

Pair = tuple[Words, Words]  # a subject and a value

_MIN_FRAME_WORDS = 2


@dataclass(frozen=True, slots=True)
class Frame:
    """The keys of a statement's words before, between and after its subject and value."""

    before: Words
    between: Words
    after: Words
    begins_with_subject: bool

    @classmethod
    def of(cls, keys: Words, subject: Span, value: Span) -> "Frame | None":
        """Returns the frame, None if it has too few words to mean the same relation again."""
        first, second = sorted((subject, value))
        frame = cls(keys[: first[0]], keys[first[1] : second[0]], keys[second[1] :], first == subject)
        words = frame.words
        is_too_short = len(words) < _MIN_FRAME_WORDS
        only_function_words = len(words) == _MIN_FRAME_WORDS and set(words) <= FUNCTION_WORDS
        return None if is_too_short or only_function_words else frame

    @property
    def words(self) -> Words:
        return (*self.before, *self.between, *self.after)

    def split(self, keys: Words) -> Pair | None:
        """Returns the subject and the value of a sentence with this frame, None for a sentence without it."""
        size, start, end = len(self.between), len(self.before), len(keys) - len(self.after)
        if not size or end - start < size + 2 or keys[:start] != self.before or keys[end:] != self.after:
            return None
        for position in range(start + 1, min(start + MAX_PHRASE + 1, end - size)):
            if keys[position : position + size] == self.between:
                first, second = keys[start:position], keys[position + size : end]
                if len(second) > MAX_PHRASE:
                    return None
                return (first, second) if self.begins_with_subject else (second, first)
        return None


def most_values_and_subjects(pairs: Collection[Pair]) -> tuple[int, int]:
    """Returns the largest number of values of one subject, and of subjects of one value."""
    values, subjects = Counter(subject for subject, _ in pairs), Counter(value for _, value in pairs)
    return max(values.values(), default=0), max(subjects.values(), default=0)


def pairs_in(sentences: Iterable[Words], frame: Frame, limit: int) -> list[Pair]:
    """Returns the different subjects and values of the sentences with the frame, at most `limit`."""
    return list(dict.fromkeys(filter(None, map(frame.split, sentences))))[:limit]
