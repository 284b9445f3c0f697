"""What speaks for it that something told contradicts a memory."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from m2a.agents.offline.change_words import DENIES, LATELY, MOVES, TAKES_BACK, tells_of_change
from m2a.agents.offline.clauses import find_subject, sentences
from m2a.agents.offline.dates import number
from m2a.agents.offline.names import find_names, find_places, mentioned, names_of
from m2a.agents.offline.questions import content_words
from m2a.agents.offline.relevance import rests_on, share_evidence
from m2a.agents.offline.replacements import oppositions, same_kind, same_words, without_values
from m2a.agents.offline.sense import Sense, leads
from m2a.agents.offline.statements import Observation
from m2a.agents.offline.text import content, meets, stem, stems
from m2a.agents.offline.values import Value, find_values
from m2a.types import Concept, MemoryEntry

_MANY = 3.0
_LONG = 30  # words


def features_of(
    observation: Observation,
    said: str,
    entries: Sequence[MemoryEntry],
    newest: Sequence[int],
    concepts: Sequence[Concept],
    sense: Sense,
) -> list[dict[str, float]]:
    """What the decision rests on, for each memory. `said` is the message, `newest` the ids of the user's messages before
    it, last first."""
    new = _Told.of(observation.text, concepts)
    known = [_Told.of(entry.text, concepts) for entry in entries]
    holders = Counter(root for one in known for root in one.words)
    taken_back = bool(TAKES_BACK.search(said))
    message = _Told.of(said, concepts)
    nearest = [max(sense.nearest(new.sentences, one.sentences)) for one in known]
    cosines = [sense.cosine(new.text, one.text) for one in known]
    found = []
    for entry, old, near, lead, near_lead in zip(entries, known, nearest, leads(cosines), leads(nearest), strict=True):
        features = _features(new, old, holders, near, sense, taken_back=taken_back)
        beside = [other.words.keys() for one, other in zip(entries, known, strict=True) if share_evidence(one, entry)]
        rarest = max(
            (1 / holders[root] for roots in beside for root in roots & (new.words.keys() - old.words.keys())),
            default=0.0,
        )
        features["a word met beside and another value"] = rarest * features["another value"]
        features["rare words of the message met"] = min(_MANY, sum(_rarities(message, old, holders)))
        features["cosine of the message"] = sense.cosine(said, old.text)
        features["cosine lead"], features["sentence lead"] = lead, near_lead
        features["newest and taken back"] = float(taken_back and bool(newest) and rests_on(entry, newest[:1]))
        found.append(features)
    return found


@dataclass(frozen=True, slots=True)
class _Told:
    """A text, and what is read from it once. `words` are those that are no values, by their stems."""

    text: str
    sentences: Sequence[str]
    words: Mapping[str, str]
    values: Sequence[Value]
    names: frozenset[str]
    subject: frozenset[str]
    places: frozenset[str]

    @classmethod
    def of(cls, text: str, concepts: Sequence[Concept]) -> "_Told":
        subject = find_subject(text)
        return cls(
            text,
            sentences(text) or [text],
            {stem(word): word for word in content_words(without_values(text))},
            find_values(text),
            frozenset(stem(name.split()[0]) for name in (*find_names(text), *_called(text, concepts))),
            frozenset(content(" ".join([subject.text, *_called(subject.text, concepts)]))) if subject else frozenset(),
            frozenset(name.casefold() for name in find_places(text)),
        )


def _called(text: str, concepts: Sequence[Concept]) -> list[str]:
    """What those that the text speaks of are called besides: Priya is the flatmate."""
    return [name for concept in mentioned(text, concepts) for name in names_of(concept)]


def _features(
    new: _Told, old: _Told, holders: Mapping[str, int], near: float, sense: Sense, *, taken_back: bool
) -> dict[str, float]:
    """`holders` counts the memories that hold a word, `near` is the cosine of the two nearest sentences."""
    others = [value for value in old.values if _is_another(value, new.values)]
    another = float(bool(others))
    rarities = _rarities(new, old, holders)
    synonyms = [1 / holders[root] for root in old.words if root not in new.words and meets(root, frozenset(new.words))]
    rarest = max(rarities, default=0.0)
    subject_met = float(bool(old.subject & (content(new.text) | new.names)))
    counterpart = _counterpart(new, old, sense)
    lately, denies, moves = (float(bool(pattern.search(new.text))) for pattern in (LATELY, DENIES, MOVES))
    taken = float(taken_back or tells_of_change(new.text))
    name_met = float(bool(new.names & old.names)) * taken
    same_subject = float(bool(new.subject & old.subject)) * taken
    elsewhere = float(bool(new.places and old.places) and not new.places & old.places)
    return {
        "near sentence": near,
        "length": min(_LONG, len(old.words)) / _LONG,
        "takes back": float(taken_back),
        "refuted": float(_is_refuted(new.text, old.text)),
        "another value": another,
        "another day": float(any(value.kind == "day" for value in others)),
        "another amount": float(any(_is_amount(value) for value in others)),
        "the same value": float(
            any(one.text.casefold() == other.text.casefold() for one in old.values for other in new.values)
        ),
        "rare words met": min(_MANY, sum(rarities)),
        "rarest word and another value": rarest * another,
        "rarest word and taken": rarest * taken,
        "a synonym and taken": max(synonyms, default=0.0) * taken,
        "a name met and taken": name_met,
        "same subject and taken": same_subject,
        "a name met in another place": name_met * elsewhere,
        "same subject in another place": same_subject * elsewhere,
        "same subject and another name lately": float(_have_other_names(new, old)) * lately,
        "counterpart and subject met": counterpart * subject_met,
        "counterpart and taken": counterpart * taken,
        "counterpart and lately": counterpart * lately,
        "counterpart and denied": counterpart * denies,
        "counterpart and moved": counterpart * moves,
        "subject met and denied": subject_met * denies,
        "subject met and moved": subject_met * moves,
        "near sentence and moved": near * moves,
    }


def _rarities(new: _Told, old: _Told, holders: Mapping[str, int]) -> list[float]:
    """Of each word that both have: 1 where no other memory has it, less the more have it."""
    return [1 / holders[root] for root in new.words.keys() & old.words.keys()]


def _have_other_names(new: _Told, old: _Told) -> bool:
    """Of one subject, and each with a name that the other lacks: "Anna is with Shell now" and "Anna joined Siemens"."""
    subjects = new.subject | old.subject
    ours, theirs = new.names - old.names - subjects, old.names - new.names - subjects
    return bool(new.subject & old.subject and ours and theirs)


def _counterpart(new: _Told, old: _Told, sense: Sense) -> float:
    """How near a word that only the new text has is to one that only the old one has: the window to the aisle."""
    ours = [word for root, word in new.words.items() if root not in old.words and not tells_of_change(word)]
    theirs = [word for root, word in old.words.items() if root not in new.words]
    return max(sense.nearest(ours, theirs), default=0.0)


def _is_another(value: Value, ours: Sequence[Value]) -> bool:
    """Whether the new text has a value of this one's kind, and not this one."""
    rivals = [one for one in ours if same_kind(one.kind, value.kind)]
    return bool(rivals) and not any(same_words(one.text, value.text) for one in rivals)


def _is_amount(value: Value) -> bool:
    return value.kind.startswith("amount") or value.kind in ("time", "age")


def _is_refuted(new: str, old: str) -> bool:
    """Whether the new text names a part of the old one after "not"."""
    for words, _ in oppositions(new):
        wanted = content(words)
        said = set(stems(old)) | {stem(value.text.split()[0]) for value in find_values(old)}
        if wanted and all(_is_said(word, said) for word in wanted):
            return True
    return False


def _is_said(word: str, said: set[str]) -> bool:
    """By itself, or as the same number."""
    count = number(word)
    return word in said or (
        count is not None and any(number(other) == count for other in said if other not in ("a", "an"))
    )
