"""The probability that a memory answers a question, learned from how near they are, from its values and from whom it is about."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from m2a.agents.offline.answer_checks import has_answer_of_kind
from m2a.agents.offline.answer_kinds import KINDS
from m2a.agents.offline.change_words import only_tells_of_past
from m2a.agents.offline.clauses import segments
from m2a.agents.offline.dialogues import teller_of
from m2a.agents.offline.names import is_named, mentioned, names_of
from m2a.agents.offline.questions import Question, content_words, with_alias, with_name
from m2a.agents.offline.sense import Sense, leads
from m2a.agents.offline.stated_answers import says_nothing_of_it, stating
from m2a.agents.offline.subjects import (
    OF_ANOTHER,
    SUBJECT_FEATURES,
    subject_features,
    tells_another_thing,
    tells_anothers,
    tells_it_of_another,
)
from m2a.agents.offline.text import spelling, stem, stems
from m2a.types import Concept, Hit, MemoryEntry, Message

SURE = 0.5  # the probability from which a memory is the answer
PERHAPS = 0.1  # that from which it may well be
NEAR = 0.03  # the probability from which a memory may be quoted as the nearest to the question
# The number of places in the search, from the first on, at which what one of several people said may be the answer.
_FIRST_OF_SEVERAL = 3
# The features in which a memory may stand out among the others.
_LEADING = (
    "cosine of a part",
    "cosine of the message",
    "tokens of the question",
    "tokens of the memory",
    "least token",
    "literal share",
)
FEATURES = frozenset(
    [
        *_LEADING,
        *(f"{name}: lead" for name in _LEADING),
        "cosine beyond the entity",
        "kind met",
        "kind missing",
        "value missing",
        *SUBJECT_FEATURES,
        *(f"asks: {kind}" for kind in KINDS),
    ]
)


@dataclass(frozen=True, slots=True)
class Match:
    """A memory and its corrections, oldest first (`group`), with the probability that they answer (`score`).

    `place` is that in the search. `cosine` is that of the question, or of its message, to the memory or a part of it. One that
    `tells_otherwise` is of another person or thing, or says nothing of what is asked: it can only be near.
    """

    group: tuple[MemoryEntry, ...]
    score: float
    cosine: float
    place: int
    tells_otherwise: bool = False

    @property
    def entry(self) -> MemoryEntry:
        """The memory itself."""
        return self.group[0]


def find_matches(question: Question, hits: Sequence[Hit], concepts: Sequence[Concept], sense: Sense) -> list[Match]:
    """Returns the memories with the probability that they answer, best first; none if not even the best is near.

    Among equals, the newer is first. What used to be is left out if the question is about now and another memory answers it.
    """
    groups = correction_groups(_from_named_tellers(question, entries_of(hits)))
    if _ASKS_FOR_NOW.search(question.text) and not _ASKS_FOR_PAST.search(question.text):
        present = [group for group in groups if not all(only_tells_of_past(entry.text) for entry in group)]
        if len(present) < len(groups) and is_sure(matches := _sorted_matches(question, present, concepts, sense)):
            return matches
    matches = _sorted_matches(question, groups, concepts, sense)
    return matches if matches and matches[0].score >= NEAR else []


def _sorted_matches(
    question: Question, groups: Sequence[Sequence[MemoryEntry]], concepts: Sequence[Concept], sense: Sense
) -> list[Match]:
    """Returns the memories, best first. "My dog" is also looked for by its name, unless the question asks for the name.

    A name is also looked for by the user's word for whom it names, where that stands alone: "My late wife died in 2019".
    """
    matches = _matches(question, groups, concepts, sense)
    if question.kind.name != "name":
        if named := with_name(question, concepts):
            matches = _with_best_scores(matches, _matches(named, groups, concepts, sense))
        elif called := with_alias(question, concepts):
            reworded, alias = called
            wholes = [(group, as_one(group).text) for group in groups]
            alone = [g for g, text in wholes if is_named(alias, text) and not is_named(question.names[0], text)]
            matches = _with_best_scores(matches, _matches(reworded, alone, concepts, sense))
    return sorted(matches, key=lambda match: (match.score, match.entry.memory_id), reverse=True)


def _with_best_scores(matches: Sequence[Match], others: Sequence[Match]) -> list[Match]:
    scores = {match.entry.memory_id: match.score for match in others}
    return [replace(match, score=max(match.score, scores.get(match.entry.memory_id, 0.0))) for match in matches]


def is_sure(matches: Sequence[Match]) -> bool:
    """Returns whether the best of the matches is an answer, rather than only the nearest memory.

    In a conversation of several people, it must also be among the first few of the search, which knows better who said what.
    """
    if not matches or matches[0].score < SURE:
        return False
    return matches[0].place < _FIRST_OF_SEVERAL or teller_of(matches[0].entry.text) is None


def _matches(
    question: Question, groups: Sequence[Sequence[MemoryEntry]], concepts: Sequence[Concept], sense: Sense
) -> list[Match]:
    """Returns every memory in the order of the search, with the probability that it answers: 1 if it states the answer.

    What is told of another person or thing can only be near: a wrong code does more harm than none.
    """
    model, states = sense.models["answers"], stating(question)
    wholes = [as_one(group) for group in groups]
    rows = features_of(question, wholes, concepts, sense)
    matches = []
    for place, (group, whole, features) in enumerate(zip(groups, wholes, rows, strict=True)):
        score = model.probability(features)
        tells_otherwise = cannot_answer(question, whole.text) or any(features[name] for name in OF_ANOTHER)
        if tells_otherwise:
            score *= SURE
        elif states(whole.text, features):
            score = 1.0
        cosine = max(features["cosine of a part"], features["cosine of the message"])
        matches.append(Match(tuple(group), score, cosine, place, tells_otherwise))
    return matches


def cannot_answer(question: Question, text: str) -> bool:
    """Returns whether the text is no answer however near it is, since it tells of another, or not of what is asked."""
    checks = (tells_another_thing, tells_anothers, tells_it_of_another, says_nothing_of_it)
    return any(check(question, text) for check in checks)


_ASKS_FOR_NOW = re.compile(r"\b(?:am|is|are|do|does|can|(?:what|where|who|how)'?s)\b", re.IGNORECASE)
_ASKS_FOR_PAST = re.compile(r"\b(?:was|were|did|had|used|ever|before|previously|former(?:ly)?)\b", re.IGNORECASE)


def as_one(group: Sequence[MemoryEntry]) -> MemoryEntry:
    """Returns a memory with its text and those of its corrections: any of them may have what the question asks for."""
    return replace(group[0], text=" ".join(entry.text for entry in group))


def _from_named_tellers(question: Question, entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    """Returns the memories without those that other people told, if the question names any of those who told one."""
    tellers = [teller_of(entry.text) for entry in entries]
    named = {teller for teller in tellers if teller in question.names}
    return [entry for entry, teller in zip(entries, tellers, strict=True) if not named or not teller or teller in named]


def entries_of(hits: Sequence[Hit]) -> list[MemoryEntry]:
    """Returns the memories among the hits, each once."""
    return list({hit.record.memory_id: hit.record for hit in hits if isinstance(hit.record, MemoryEntry)}.values())


def messages_of(hits: Sequence[Hit]) -> list[Message]:
    """Returns the messages among the hits."""
    return [hit.record for hit in hits if isinstance(hit.record, Message)]


def correction_groups(entries: Sequence[MemoryEntry]) -> list[list[MemoryEntry]]:
    """Returns each memory with its corrections, oldest first; a correction whose memory is missing is a group of its own."""
    by_id = {entry.memory_id: entry for entry in entries}
    groups: dict[int, list[MemoryEntry]] = {}
    for entry in entries:
        root, seen = entry, {entry.memory_id}
        while root.corrects in by_id and root.corrects not in seen:
            root = by_id[root.corrects]
            seen.add(root.memory_id)
        groups.setdefault(root.memory_id, [root])
        if entry is not root:
            groups[root.memory_id].append(entry)
    return [[group[0], *sorted(group[1:], key=lambda entry: entry.memory_id)] for group in groups.values()]


def features_of(
    question: Question, entries: Sequence[MemoryEntry], concepts: Sequence[Concept], sense: Sense
) -> list[dict[str, float]]:
    """Returns the features of the decision for each memory."""
    texts = [entry.text for entry in entries]
    words = [_stems_of(entry, concepts) for entry in entries]
    asked = {f"asks: {kind}": float(kind == question.kind.name) for kind in KINDS}
    rows = []
    for entry, own, late, near in zip(
        entries, words, _late_interaction(question, texts, sense), _nearness(question, texts, words, sense), strict=True
    ):
        beside = (theirs for other, theirs in zip(entries, words, strict=True) if share_evidence(entry, other))
        subject = subject_features(question, entry.text, own.union(*beside))
        rows.append(late | near | _kind_features(question, entry) | subject | asked)
    for name in _LEADING:
        for features, lead in zip(rows, leads([features[name] for features in rows]), strict=True):
            features[f"{name}: lead"] = lead
    return rows


def _late_interaction(question: Question, texts: Sequence[str], sense: Sense) -> list[dict[str, float]]:
    """Returns how well the tokens of the question and of each text meet, by the best cosine of each token.

    This is late interaction (Khattab and Zaharia, 2020) in both directions. The least is over content words of the question.
    """
    asked, *told = sense.token_states([question.text, *texts])
    is_content = [bool(content_words(question.text[start:end])) for start, end in asked.spans]
    rows = []
    for text in told:
        cosines = asked.states @ text.states.T
        if not cosines.size:
            rows.append({"tokens of the question": 0.0, "tokens of the memory": 0.0, "least token": 0.0})
            continue
        of_question = cosines.max(axis=1)
        of_content = of_question[is_content] if any(is_content) else of_question
        rows.append(
            {
                "tokens of the question": float(of_question.mean()),
                "tokens of the memory": float(cosines.max(axis=0).mean()),
                "least token": float(of_content.min()),
            }
        )
    return rows


def _nearness(
    question: Question, texts: Sequence[str], words: Sequence[frozenset[str]], sense: Sense
) -> list[dict[str, float]]:
    """Returns how near each memory is, as a whole and in parts, and how near beyond the words and names that both have.

    `words` are the stems of each memory.
    """
    spellings = [frozenset(map(spelling, own)) for own in words]
    literal = [[word for word in question.words if spelling(stem(word)) in own] for own in spellings]
    entities = [" ".join(dict.fromkeys([*shared, *question.name_words])) for shared in literal]
    parts = [_parts_of(text) for text in texts]
    sense.vectors([question.text, question.context, *entities, *chain(*parts)])  # faster together than one by one
    rows = []
    for text, shared, entity, own_parts in zip(texts, literal, entities, parts, strict=True):
        cosine, entity_cosine = sense.nearest([question.text, entity], own_parts)
        rows.append(
            {
                "cosine of a part": cosine,
                "cosine of the message": sense.cosine(question.context, text),
                "cosine beyond the entity": cosine - entity_cosine if entity else 0.0,
                "literal share": len(shared) / max(1, len(question.words)),
            }
        )
    return rows


def _parts_of(text: str) -> list[str]:
    """Returns the text, its clauses, and each two neighbouring clauses together."""
    clauses = [text[start:end] for start, end in segments(text)]
    return [text, *clauses, *(f"{left}, {right}" for left, right in pairwise(clauses))]


def _kind_features(question: Question, entry: MemoryEntry) -> dict[str, float]:
    kind = has_answer_of_kind(question, entry.text, is_dated=entry.happened is not None)
    return {
        "kind met": float(kind is True),
        "kind missing": float(kind is False),
        "value missing": float(kind is False and question.kind.is_value),
    }


def _stems_of(entry: MemoryEntry, concepts: Sequence[Concept]) -> frozenset[str]:
    """Returns the stems of the memory, and of the other names of the concepts that it mentions."""
    of_entry = [concept for concept in concepts if concept.concept_id in entry.concept_ids]
    names = [name for concept in (*of_entry, *mentioned(entry.text, concepts)) for name in names_of(concept)]
    return frozenset(stems(" ".join([entry.text, entry.caption, *names])))


def share_evidence(left: MemoryEntry, right: MemoryEntry) -> bool:
    """Returns whether the memories rest on the same message."""
    return any(a.first <= b.last and b.first <= a.last for a in left.evidence_ids for b in right.evidence_ids)
