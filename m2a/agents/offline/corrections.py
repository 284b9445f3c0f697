"""Which memory a correction means: a learned decision."""

import re
from collections.abc import Mapping, Sequence

from m2a.agents.offline.change_words import CHANGE, TAKES_BACK
from m2a.agents.offline.clauses import find_subject
from m2a.agents.offline.dates import number
from m2a.agents.offline.names import find_names, mentioned, names_of
from m2a.agents.offline.questions import content_words
from m2a.agents.offline.relevance import covered, entries_of, rests_on
from m2a.agents.offline.replacements import Target, oppositions, replacement, same_kind, same_words, without_values
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.statements import Observation
from m2a.agents.offline.text import content, stem, stems
from m2a.agents.offline.values import find_values
from m2a.types import Concept, Hit, MemoryEntry

ENOUGH = 0.5
# Where something is.
_PLACE = re.compile(
    r"\b(?:in|on|at|under|behind|beside|near|inside|above|below|beneath|next to) "
    r"(?:(?:the|my|our|his|her|their|a|an) )?((?:(?!and\b|or\b|with\b|on\b|in\b|at\b)[a-z'-]+ ?){1,3})",
)
# What is said to come on top takes nothing's place.
_ADDS = re.compile(r"\b(?:also|too|(?<!to )(?<!in )another|as well|one more|besides|second)\b", re.IGNORECASE)


def find_target(
    observation: Observation,
    said: str,
    hits: Sequence[Hit],
    newest: Sequence[int],
    concepts: Sequence[Concept],
    sense: Sense,
) -> Target | None:
    """The memory that the observation contradicts, or None. `said` is the message that it is from, `newest` the ids of
    the newest user messages, last first."""
    if _ADDS.search(observation.text) and not TAKES_BACK.search(said):
        return None
    model = sense.models["contradicts"]
    entries = [entry for entry in entries_of(hits) if content(entry.text) != content(observation.text)]
    found = features_of(observation, said, entries, newest, concepts, sense)
    rated = [
        (not _says_it_already(features), model.probability(features), entry.memory_id, entry)
        for entry, features in zip(entries, found, strict=True)
    ]
    best = max((one for one in rated if one[1] >= ENOUGH), default=None)
    return replacement(observation.text, best[-1], sense) if best is not None else None


def _says_it_already(features: Mapping[str, float]) -> bool:
    """ "His ball is red" mends the blue ball, and not the frisbee that is red already."""
    return bool(features["the same value"]) and not features["another value"]


def features_of(
    observation: Observation,
    said: str,
    entries: Sequence[MemoryEntry],
    newest: Sequence[int],
    concepts: Sequence[Concept],
    sense: Sense,
) -> list[dict[str, float]]:
    """What the decision rests on, for each memory."""
    found = [_features(observation, said, entry, newest, concepts, sense) for entry in entries]
    ordered = sorted((one["cosine"] for one in found), reverse=True)
    for one in found:
        other = ordered[1:2] if one["cosine"] == ordered[0] else ordered[:1]
        one["cosine lead"] = one["cosine"] - other[0] if other else 0.0
    return found


def _features(
    observation: Observation,
    said: str,
    entry: MemoryEntry,
    newest: Sequence[int],
    concepts: Sequence[Concept],
    sense: Sense,
) -> dict[str, float]:
    new, old = observation.text, entry.text
    called = [name for concept in mentioned(new, concepts) for name in names_of(concept)]
    new_words, old_words = content_words(" ".join([without_values(new), *called])), content_words(without_values(old))
    forwards, backwards = covered(new_words, old_words, sense), covered(old_words, new_words, sense)
    ours, theirs = find_values(new), find_values(old)
    other_values = sum(
        any(same_kind(one.kind, other.kind) for one in ours)
        and not any(same_kind(one.kind, other.kind) and same_words(one.text, other.text) for one in ours)
        for other in theirs
    )
    same_values = sum(any(one.text.casefold() == other.text.casefold() for one in ours) for other in theirs)
    names = {stem(name.split()[0]) for name in (*find_names(new), *called)}
    old_names = {stem(name.split()[0]) for name in find_names(old)}
    old_subject = _subject_stems(old, concepts)
    same_subject = _subject_stems(new, concepts) & old_subject
    subject_met = old_subject & content(" ".join([new, *called]))
    found = {
        "cosine": sense.cosine(new, old),
        "cosine of the message": sense.cosine(said, old),
        "new met": sum(forwards) / max(1, len(forwards)),
        "old met": sum(backwards) / max(1, len(backwards)),
        "names differ": float(bool(names and old_names and not names & old_names)),
        "same subject": float(bool(same_subject)),
        "subject met": float(bool(subject_met)),
        "another value": min(2, other_values),
        "the same value": min(2, same_values),
        "a name met": float(bool(names & old_names)),
        "put to a value": float(any(new[: value.start].lower().endswith(" to ") for value in ours)),
        "another place": float(_elsewhere(new, old)),
        "refuted": float(_refuted(new, old)),
        "takes back": float(bool(TAKES_BACK.search(said))),
        "changes": float(bool(CHANGE.search(new))),
        "fragment": float(find_subject(new) is None),
        "newest": float(bool(newest) and rests_on(entry, newest[:1])),
        "length": min(30, len(old_words)) / 10,
    }
    taken = max(found["takes back"], found["changes"])
    return found | {
        "changes and near": found["changes"] * found["cosine"],
        "another value and taken": min(1, other_values) * taken,
        "same subject and taken": found["same subject"] * taken,
        "same subject and another value": found["same subject"] * min(1, other_values),
        "subject met and another value": found["subject met"] * min(1, other_values),
        "subject met and taken": found["subject met"] * taken,
        "subject met in another place": found["subject met"] * found["another place"] * taken,
        "another place and taken": found["another place"] * taken,
        "a name met and taken": found["a name met"] * taken,
        "newest and taken back": found["newest"] * found["takes back"],
    }


def is_known(observation: Observation, hits: Sequence[Hit]) -> bool:
    """Whether a memory says the same already."""
    words = content(observation.text)
    for hit in hits:
        if isinstance(hit.record, MemoryEntry) and hit.record.kind != "update record":
            known = content(hit.record.text)
            if words == known or (
                words and words < known and hit.record.text.casefold().startswith(observation.text.casefold()[:-1])
            ):
                return True
    return False


def _refuted(new: str, old: str) -> bool:
    """Whether the new text names a part of the old one after "not"."""
    for words, _ in oppositions(new):
        wanted = content(words)
        said = set(stems(old)) | {stem(value.text.split()[0]) for value in find_values(old)}
        if wanted and all(_same_number(word, said) for word in wanted):
            return True
    return False


def _elsewhere(new: str, old: str) -> bool:
    """Whether both say where something is, and not the same."""
    here, there = ({word for match in _PLACE.finditer(text) for word in content(match[1])} for text in (new, old))
    return bool(here and there) and not here & there


def _same_number(word: str, said: set[str]) -> bool:
    count = number(word)
    return word in said or (
        count is not None and any(number(other) == count for other in said if other not in ("a", "an"))
    )


def _subject_stems(text: str, concepts: Sequence[Concept]) -> set[str]:
    """The words of the subject, and what the one that it names is called besides: Priya is the flatmate."""
    subject = find_subject(text)
    if subject is None:
        return set()
    called = [name for concept in mentioned(subject.text, concepts) for name in names_of(concept)]
    return content(" ".join([subject.text, *called]))
