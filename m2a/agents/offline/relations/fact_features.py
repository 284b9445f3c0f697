"""The features of two learned decisions: whether a statement answers a question ("tells what is asked"), and whether two
statements about a subject state the same relation ("the same relation").

Both are mostly cosines, so neither depends on a list of relations (`python -m tests.bench facts --train`).
A statement is compared by the words of its relation, by its value, and by its frame: the sentence with "it" for the subject
and "that" for the value, which is the same for every subject.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from m2a.agents.offline.clauses import AUXILIARIES, DETERMINERS, PREPOSITIONS, PRONOUNS
from m2a.agents.offline.relations.facts import Statement
from m2a.agents.offline.relations.frames import most_values_and_subjects
from m2a.agents.offline.relations.words import Words, keys_of
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.text import stem

SEPARATORS = PREPOSITIONS | AUXILIARIES | frozenset("that which who whom whose where what when how and or also".split())
FILLERS = (
    DETERMINERS
    | PRONOUNS
    | frozenset(
        "name called same one person thing kind type current currently now present "
        "located situated found based belong belongs come comes hold holds serve serves".split()
    )
)
STOP_WORDS = SEPARATORS | FILLERS
_PLACES = frozenset("where city town country place continent state nation birthplace village region".split())
_PEOPLE = frozenset({"who", "whom"})

_ALIKE = 0.98  # cosine from which frames count as the same wording
# Cosines of statement and question, except "words": the share of the question's words that are in the relation.
_NEAR = (
    *("relation", "frame", "value", "relation and value", "sentence", "sentence of it", "words", "elsewhere"),
    *("values", "values and kind", "of the kind", "of the kind named", "of the kind, of many"),
)
ANSWERING = frozenset(
    {
        *_NEAR,
        *(f"{name}: behind" for name in _NEAR),
        *(
            "relation as of the best",
            "frame as of the best",
            "value as of the best",
            "value elsewhere as that of the best",
            "values as of the best",
            "values in common with the best",
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
_SHARPNESS = 15.0  # how much more a nearer kind counts
_MAX_VALUES = 6  # compared values of statements with the same frame


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question. `masked` is its text with "it" for the subject; `words` leaves the subject out.

    `kinds` are the first words from the question word on, which ask for a place or a person. `kind` is the noun for what is
    asked, such as "sport" in "which sport does it play"; `names_kind` is true if the question contains it like this.
    """

    question: str
    masked: str
    words: str
    kinds: frozenset[str]
    kind: str
    names_kind: bool


def masked_sentence(statement: Statement) -> str:
    """Returns the sentence with "it" for the subject and "that" for the value."""
    return statement.sentence.replace(statement.subject, "it").replace(statement.value, "that")


def same_relation(statements: Sequence[Statement], sense: Sense) -> np.ndarray:
    """Returns for each pair of statements about a subject the probability that both state the same relation."""
    decision = sense.models["the same relation"]
    result = np.eye(len(statements))
    for first, second, features in relation_features(statements, sense):
        result[first, second] = result[second, first] = decision.probability(features)
    return result


def answering_features(parsed: ParsedQuestion, statements: Sequence[Statement], sense: Sense) -> list[dict[str, float]]:
    words, question, masked, kind = sense.vectors([parsed.words, parsed.question, parsed.masked, parsed.kind])
    facts = [f"{each.relation} {each.value}" for each in statements]
    whole = [each.sentence for each in statements]
    whole_of_it = [each.sentence.replace(each.subject, "it") for each in statements]
    sense.vectors([*facts, *whole, *whole_of_it])  # one batch is encoded faster
    vectors = _Vectors.of(statements, sense)
    texts = sense.vectors(facts)
    wanted = {stem(word) for word in parsed.words.split() if word not in STOP_WORDS}
    shared = [len(wanted & {stem(word) for word in each.relation.split()}) / max(1, len(wanted)) for each in statements]
    is_of_kind = of_kind(parsed.kind, vectors.kinds, sense)
    alike_many = np.log1p([len(each.frame_pairs) for each in statements])
    near = {
        "relation": vectors.relations @ words,
        "frame": vectors.frames @ words,
        "value": vectors.values @ words,
        "relation and value": texts @ words,
        "sentence": sense.vectors(whole) @ question,
        "sentence of it": sense.vectors(whole_of_it) @ masked,
        "words": np.array(shared),
        "elsewhere": np.array(
            [max((float(sense.vector(text) @ masked) for text in each.elsewhere), default=0.0) for each in statements]
        ),
        "values": vectors.kinds @ words,
        "values and kind": vectors.kinds @ kind,
        "of the kind": is_of_kind,
        "of the kind named": is_of_kind * parsed.names_kind,
        "of the kind, of many": is_of_kind * alike_many,
    }
    best = int((near["relation"] + near["frame"] + near["relation and value"]).argmax())
    own = [keys_of(each.subject.split()) for each in statements]
    alike = vectors.frames @ vectors.frames.T > _ALIKE
    leads = np.array([_leads_to_place(each) - _leads_to_somebody(each) for each in statements])
    columns = {
        **near,
        **{f"{name}: behind": column - column.max() for name, column in near.items()},
        "relation as of the best": vectors.relations @ vectors.relations[best],
        "frame as of the best": vectors.frames @ vectors.frames[best],
        "value as of the best": vectors.values @ vectors.values[best],
        "value elsewhere as that of the best": vectors.elsewhere @ vectors.elsewhere[best],
        "values as of the best": vectors.kinds @ vectors.kinds[best],
        "values in common with the best": np.array(
            [_in_common(_met(each, own[at]), _met(statements[best], own[at]))[1] for at, each in enumerate(statements)]
        ),
        "alike": alike_many,
        "leads to many": np.array([_leads_to_many(each) for each in statements]),
        "not elsewhere": np.array([not each.elsewhere for each in statements]),
        "worded as the best": alike[best],
        "others are worded as the best": ~alike[best] & (alike[best].sum() > 1),
        "belongs": np.array([each.belongs for each in statements]),
        "of a place": leads * bool(parsed.kinds & _PLACES),
        "of somebody": -leads * bool(parsed.kinds & _PEOPLE),
    }
    return [{name: float(column[row]) for name, column in columns.items()} for row in range(len(statements))]


def of_kind(kind: str, values: np.ndarray, sense: Sense) -> np.ndarray:
    """Returns for each vector of values how much more they belong to this kind than to the usual ones."""
    near = np.exp(_SHARPNESS * values @ sense.vectors([kind, *_KINDS]).T)
    chances: np.ndarray = near[:, 0] / (near[:, 0] + near[:, 1:].max(axis=1))
    return chances


def relation_features(statements: Sequence[Statement], sense: Sense) -> list[tuple[int, int, dict[str, float]]]:
    """Returns for each pair of statements their indices and the features of their similarity."""
    vectors = _Vectors.of(statements, sense)
    relations, values, frames, elsewhere = (
        each @ each.T for each in (vectors.relations, vectors.values, vectors.frames, vectors.elsewhere)
    )
    alike = frames > _ALIKE
    crossed = vectors.relations @ vectors.values.T
    kinds = vectors.kinds @ vectors.kinds.T
    result = []
    own = [keys_of(each.subject.split()) for each in statements]
    met = cache(lambda at, subject: _met(statements[at], subject))
    for second in range(len(statements)):
        for first in range(second):
            left, right = statements[first], statements[second]
            features = {
                "relations": relations[first, second],
                "values": values[first, second],
                "frames": frames[first, second],
                "relations and values": relations[first, second] * values[first, second],
                "one's relation the other's value": max(crossed[first, second], crossed[second, first]),
                "values elsewhere": elsewhere[first, second],
                "one not elsewhere": not (left.elsewhere and right.elsewhere),
                "kinds of values": kinds[first, second],
                "less alike": np.log1p(min(len(left.frame_pairs), len(right.frame_pairs))),
                "both belong": left.belongs == right.belongs,
                "both names": left.value[:1].isupper() == right.value[:1].isupper(),
            }
            features["subjects in common"], features["values in common"] = _in_common(
                met(first, own[first]), met(second, own[first])
            )
            features["kinds of values, of many"] = kinds[first, second] * features["less alike"]
            features["nothing in common, of many"] = (not features["values in common"]) * features["less alike"]
            features["worded alike"] = alike[first, second]
            features["others are worded as one"] = (
                not alike[first, second] and max(alike[first].sum(), alike[second].sum()) > 1
            )
            result.append((first, second, {name: float(value) for name, value in features.items()}))
    return result


@dataclass(frozen=True, slots=True)
class _Vectors:
    """The vectors of the parts of statements, one row for each statement."""

    relations: np.ndarray
    values: np.ndarray
    frames: np.ndarray
    elsewhere: np.ndarray  # mean of the other sentences with the value, 0 if there are none
    kinds: np.ndarray  # mean of the values of all statements with the same frame

    @classmethod
    def of(cls, statements: Sequence[Statement], sense: Sense) -> "_Vectors":
        relations, values, frames = (
            [each.relation for each in statements],
            [each.value for each in statements],
            [masked_sentence(each) for each in statements],
        )
        others = [text for each in statements for text in (*each.elsewhere, *_values(each))]
        sense.vectors([*relations, *values, *frames, *others])  # one batch is encoded faster
        return cls(
            sense.vectors(relations),
            sense.vectors(values),
            sense.vectors(frames),
            np.array([_mean(each.elsewhere, sense) for each in statements]),
            values_of(statements, sense),
        )


def values_of(statements: Sequence[Statement], sense: Sense) -> np.ndarray:
    """Returns for each statement the mean direction of the values of all statements with its frame."""
    return np.array([_mean(_values(each), sense) for each in statements])


def _values(statement: Statement) -> list[str]:
    others = dict.fromkeys(" ".join(value) for _, value in statement.frame_pairs)
    return [statement.value, *list(others)[:_MAX_VALUES]]


_Met = tuple[frozenset[Words], frozenset[Words]]


def _met(statement: Statement, own: Words) -> _Met:
    """Returns the subjects but `own` that the frame of the statement has elsewhere; and their values, with the statement's."""
    others = [(subject, value) for subject, value in statement.frame_pairs if subject != own]
    value = keys_of(statement.value.split())
    return frozenset(subject for subject, _ in others), frozenset([*(value for _, value in others), value])


def _in_common(first: _Met, second: _Met) -> tuple[float, float]:
    """Returns the log count of other subjects, and the share of values, that the frames of two statements have in common."""
    (subjects, values), (others, other_values) = first, second
    return float(np.log1p(len(subjects & others))), len(values & other_values) / min(len(values), len(other_values))


def _mean(texts: Sequence[str], sense: Sense) -> np.ndarray:
    """Returns the direction of the mean of the texts' vectors, 0 without texts."""
    total: np.ndarray = sense.vectors(texts or ["it"]).sum(axis=0)
    return total / np.linalg.norm(total) if texts else 0 * total


def _leads_to_many(statement: Statement) -> float:
    """Returns the log ratio of values to subjects of the frame: a country has many citizens, a citizen one country."""
    values, subjects = most_values_and_subjects(statement.frame_pairs)
    return float(np.log((1 + values) / (1 + subjects)))


def _leads_to_place(statement: Statement) -> bool:
    return bool({"in", "at", "from"} & set(statement.relation.split()[-4:]))


def _leads_to_somebody(statement: Statement) -> bool:
    return statement.relation.split()[-1] in ("by", "to")
