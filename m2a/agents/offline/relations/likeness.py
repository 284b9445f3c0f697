"""Whether a statement answers a question, and whether two statements of a subject tell the same relation.

Both are learned decisions over cosines of words, so that neither needs to know a relation by name (`python -m tests.bench facts
--train`). A statement is compared by its relation's words, by its value, and by its frame: the sentence with "it" for the
subject and "that" for the value, which is the same whomever it is told of.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from m2a.agents.offline.clauses import AUXILIARIES, DETERMINERS, PREPOSITIONS, PRONOUNS
from m2a.agents.offline.relations.frames import many
from m2a.agents.offline.relations.told import Told
from m2a.agents.offline.relations.words import keys_of
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.text import stem

SPLITS = PREPOSITIONS | AUXILIARIES | frozenset("that which who whom whose where what when how and or also".split())
LIGHT = (
    DETERMINERS
    | PRONOUNS
    | frozenset(
        "name called same one person thing kind type current currently now present "
        "located situated found based belong belongs come comes hold holds serve serves".split()
    )
)
SMALL = SPLITS | LIGHT
_PLACES = frozenset("where city town country place continent state nation birthplace village region".split())
_PEOPLE = frozenset({"who", "whom"})

# Of a statement and what is asked, cosines but for "words": the share of the question's words that the relation has.
_ALIKE = 0.98  # cosine of frames in the same words
_NEAR = (
    *("relation", "frame", "value", "relation and value", "sentence", "sentence of it", "words", "elsewhere"),
    *("values", "values and kind", "of the kind", "of the kind named", "of the kind, of many"),
)
_AS_THE_BEST = (
    "relation as of the best",
    "frame as of the best",
    "value as of the best",
    "value elsewhere as that of the best",
    "values as of the best",
    "values in common with the best",
)
ANSWERING = frozenset(
    {
        *_NEAR,
        *(f"{name}: behind" for name in _NEAR),
        *_AS_THE_BEST,
        *(
            "worded as the best",
            "others are worded as the best",
            "belongs",
            "of a place",
            "of somebody",
            "not elsewhere",
            "alike",
            "leads to many",
        ),
    }
)
SAME_RELATION = frozenset(
    {
        *("relations", "values", "frames", "relations and values", "one's relation the other's value"),
        *("values elsewhere", "one not elsewhere"),
        *("kinds of values", "values in common", "subjects in common", "less alike"),
        *("kinds of values, of many", "nothing in common, of many"),
        *("both belong", "both names", "worded alike", "others are worded as one"),
    }
)

_KINDS = (
    *("name of a person", "city", "country", "continent", "language", "company", "university", "team", "religion"),
    *(
        "sport",
        "position in a team",
        "job",
        "kind of music",
        "book",
        "film",
        "date",
        "number",
        "animal",
        "food",
        "colour",
    ),
)
_SHARP = 15.0  # how far a nearer kind counts for more
_VALUES = 6  # of statements put alike, that are compared

Features = list[dict[str, float]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: `of_it` is all of it with "it" for its subject, `words` are its words but the subject's.

    `kinds` are the first words after the one that asks, by which a place or a person is asked for; `kind` is the noun that
    names what is asked for, "sport" in "which sport does it play", which `names_kind`.
    """

    question: str
    of_it: str
    words: str
    kinds: frozenset[str]
    kind: str
    names_kind: bool


def frame_of(told: Told) -> str:
    return told.sentence.replace(told.subject, "it").replace(told.value, "that")


def same_relation(statements: Sequence[Told], sense: Sense) -> np.ndarray:
    """For each two statements of a subject how likely they tell the same relation of it; 1 for one and itself."""
    decision = sense.models["the same relation"]
    found = np.eye(len(statements))
    for first, second, features in relation_features(statements, sense):
        found[first, second] = found[second, first] = decision.probability(features)
    return found


def answering_features(asked: Asked, statements: Sequence[Told], sense: Sense) -> Features:
    words, question, of_it, kind = sense.vectors([asked.words, asked.question, asked.of_it, asked.kind])
    parts = _Parts.of(statements, sense)
    whole = sense.vectors([f"{one.relation} {one.value}" for one in statements])
    own = {stem(word) for word in asked.words.split() if word not in SMALL}
    shared = [len(own & {stem(word) for word in one.relation.split()}) / max(1, len(own)) for one in statements]
    is_of_kind = of_kind(asked.kind, parts.kinds, sense)
    alike_many = np.log1p([len(one.alike) for one in statements])
    near = {
        "relation": parts.relations @ words,
        "frame": parts.frames @ words,
        "value": parts.values @ words,
        "relation and value": whole @ words,
        "sentence": sense.vectors([one.sentence for one in statements]) @ question,
        "sentence of it": sense.vectors([one.sentence.replace(one.subject, "it") for one in statements]) @ of_it,
        "words": np.array(shared),
        "elsewhere": np.array(
            [max((float(sense.vector(text) @ of_it) for text in one.elsewhere), default=0.0) for one in statements]
        ),
        "values": parts.kinds @ words,
        "values and kind": parts.kinds @ kind,
        "of the kind": is_of_kind,
        "of the kind named": is_of_kind * asked.names_kind,
        "of the kind, of many": is_of_kind * alike_many,
    }
    best = int((near["relation"] + near["frame"] + near["relation and value"]).argmax())
    alike = parts.frames @ parts.frames.T > _ALIKE
    columns = {
        **near,
        **{f"{name}: behind": column - column.max() for name, column in near.items()},
        "relation as of the best": parts.relations @ parts.relations[best],
        "frame as of the best": parts.frames @ parts.frames[best],
        "value as of the best": parts.values @ parts.values[best],
        "value elsewhere as that of the best": parts.elsewhere @ parts.elsewhere[best],
        "values as of the best": parts.kinds @ parts.kinds[best],
        "values in common with the best": np.array([_in_common(one, statements[best])[1] for one in statements]),
        "alike": alike_many,
        "leads to many": np.array([_leads_to_many(one) for one in statements]),
        "not elsewhere": np.array([not one.elsewhere for one in statements]),
        "worded as the best": alike[best],
        "others are worded as the best": ~alike[best] & (alike[best].sum() > 1),
        "belongs": np.array([one.belongs for one in statements]),
        "of a place": np.array([_leads_to_place(one) - _leads_to_somebody(one) for one in statements])
        * bool(asked.kinds & _PLACES),
        "of somebody": np.array([_leads_to_somebody(one) - _leads_to_place(one) for one in statements])
        * bool(asked.kinds & _PEOPLE),
    }
    return [{name: float(column[row]) for name, column in columns.items()} for row in range(len(statements))]


def of_kind(kind: str, values: np.ndarray, sense: Sense) -> np.ndarray:
    """For the vector of each group of values how far they are of this kind, and of none of the usual ones."""
    near = np.exp(_SHARP * values @ sense.vectors([kind, *_KINDS]).T)
    chances: np.ndarray = near[:, 0] / (near[:, 0] + near[:, 1:].max(axis=1))
    return chances


def relation_features(statements: Sequence[Told], sense: Sense) -> list[tuple[int, int, dict[str, float]]]:
    """For each two statements their places, and how alike they are."""
    parts = _Parts.of(statements, sense)
    relations, values, frames, elsewhere = (
        one @ one.T for one in (parts.relations, parts.values, parts.frames, parts.elsewhere)
    )
    alike = frames > _ALIKE
    crossed = parts.relations @ parts.values.T
    kinds = parts.kinds @ parts.kinds.T
    found = []
    for second in range(len(statements)):
        for first in range(second):
            one, other = statements[first], statements[second]
            features = {
                "relations": relations[first, second],
                "values": values[first, second],
                "frames": frames[first, second],
                "relations and values": relations[first, second] * values[first, second],
                "one's relation the other's value": max(crossed[first, second], crossed[second, first]),
                "values elsewhere": elsewhere[first, second],
                "one not elsewhere": not (one.elsewhere and other.elsewhere),
                "kinds of values": kinds[first, second],
                "less alike": np.log1p(min(len(one.alike), len(other.alike))),
                "both belong": one.belongs == other.belongs,
                "both names": one.value[:1].isupper() == other.value[:1].isupper(),
            }
            features["subjects in common"], features["values in common"] = _in_common(one, other)
            features["kinds of values, of many"] = kinds[first, second] * features["less alike"]
            features["nothing in common, of many"] = (not features["values in common"]) * features["less alike"]
            features["worded alike"] = alike[first, second]
            features["others are worded as one"] = (
                not alike[first, second] and max(alike[first].sum(), alike[second].sum()) > 1
            )
            found.append((first, second, {name: float(value) for name, value in features.items()}))
    return found


@dataclass(frozen=True, slots=True)
class _Parts:
    relations: np.ndarray
    values: np.ndarray
    frames: np.ndarray
    elsewhere: np.ndarray  # of the other sentences that hold the value; 0 where there are none
    kinds: np.ndarray  # of the values of all statements that are put alike

    @classmethod
    def of(cls, statements: Sequence[Told], sense: Sense) -> "_Parts":
        return cls(
            sense.vectors([one.relation for one in statements]),
            sense.vectors([one.value for one in statements]),
            sense.vectors([frame_of(one) for one in statements]),
            np.array([_mean(one.elsewhere, sense) for one in statements]),
            values_of(statements, sense),
        )


def values_of(statements: Sequence[Told], sense: Sense) -> np.ndarray:
    """For each statement the direction of the values of all that are put alike."""
    return np.array([_mean(_values(one), sense) for one in statements])


def _values(told: Told) -> list[str]:
    others = dict.fromkeys(" ".join(value) for _, value in told.alike)
    return [told.value, *list(others)[:_VALUES]]


def _in_common(one: Told, other: Told) -> tuple[float, float]:
    """Of two ways to put a statement how many other subjects both are told of, and the share of values that both lead to."""
    own = keys_of(one.subject.split())
    subjects, others = ({subject for subject, _ in told.alike} - {own} for told in (one, other))
    values, its = (
        {value for subject, value in told.alike if subject != own} | {keys_of(told.value.split())}
        for told in (one, other)
    )
    return float(np.log1p(len(subjects & others))), len(values & its) / min(len(values), len(its))


def _mean(texts: Sequence[str], sense: Sense) -> np.ndarray:
    """The direction of the mean of their vectors."""
    total: np.ndarray = sense.vectors(texts or ["it"]).sum(axis=0)
    return total / np.linalg.norm(total) if texts else 0 * total


def _leads_to_many(told: Told) -> float:
    """How many more values than subjects a statement that is put so has: a country has many citizens, who have one each."""
    values, subjects = many(told.alike)
    return float(np.log((1 + values) / (1 + subjects)))


def _leads_to_place(told: Told) -> bool:
    return bool({"in", "at", "from"} & set(told.relation.split()[-4:]))


def _leads_to_somebody(told: Told) -> bool:
    return told.relation.split()[-1] in ("by", "to")
