"""Whether a memory answers a question: learned from how much of the question it covers and from the kinds of its values."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from m2a.agents.offline.answer_kinds import gives_the_name, holds_kind, tells_the_taste
from m2a.agents.offline.claims import Claim, people_in
from m2a.agents.offline.clauses import find_subject, segments
from m2a.agents.offline.homes import Home
from m2a.agents.offline.households import counted_kind, has_one, is_elsewhere
from m2a.agents.offline.kinds import KINDS
from m2a.agents.offline.names import mentioned, names_of
from m2a.agents.offline.polarity import contradictions
from m2a.agents.offline.questions import Question, content_words, with_name
from m2a.agents.offline.sense import Sense, leads
from m2a.agents.offline.skills import has_skill, listed_kind
from m2a.agents.offline.text import FIRST_PERSON, content, meets, plain, spelling, stem, stems
from m2a.types import Concept, Hit, MemoryEntry

_SYNONYM = 0.9  # the value of a listed synonym; the same word counts 1, and any other its cosine
_NEARBY = 0.8  # the value of a word that is in the same message, but not in the memory
_MENTIONED = 0.5  # a word with a lower value is not mentioned
_NAME_MET = 0.7
_RULED_OUT = 0.5  # the factor on the probability if it is about somebody or something else: the memory can only be near
# The features in which a memory may stand out among the others.
_LEADING = (
    "cosine of a part",
    "cosine of the message",
    "coverage of a part",
    "least covered",
    "literal share",
    "rare literal",
)
FEATURES = frozenset(
    [
        "cosine of a part",
        "cosine of the message",
        "cosine beyond the entity",
        "coverage of a part",
        "least covered",
        "rest coverage",
        "words met",
        "words unmet",
        "name met",
        "kind met",
        "kind missing",
        "kind missing and coverage",
        "value missing",
        "literal share",
        "rare literal",
        "another number",
        "kin unmet",
        "of oneself, told of oneself",
        *(f"{name}: lead" for name in _LEADING),
        *(f"asks: {kind}" for kind in KINDS),
    ]
)
SURE = 0.5  # the probability from which a memory is the answer
_PAST_HOME = 0.2  # the factor on it for a former home, if the present one is known
NEAR = 0.03  # the probability from which a memory may be quoted as the nearest to the question


@dataclass(frozen=True, slots=True)
class Match:
    """A memory, the probability that it answers (`score`), its place in the search, and its corrections, oldest first.

    `cosine` is that of the question, or of its message, to the memory or a part of it. One that `contradicts` denies what the
    question affirms, or the other way round.
    """

    entry: MemoryEntry
    score: float
    cosine: float
    place: int
    corrections: tuple[MemoryEntry, ...] = ()
    contradicts: bool = False


def answers(question: Question, hits: Sequence[Hit], concepts: Sequence[Concept], sense: Sense) -> list[Match]:
    """Returns the memories with the probability that they answer, best first; none if not even the best is near."""
    matches = judged(question, entries_of(hits), concepts, sense)
    return matches if matches and matches[0].score >= NEAR else []


def is_sure(matches: Sequence[Match]) -> bool:
    """Returns whether the best of the matches is an answer, rather than only the nearest memory."""
    return bool(matches) and matches[0].score >= SURE


def judged(
    question: Question, entries: Sequence[MemoryEntry], concepts: Sequence[Concept], sense: Sense
) -> list[Match]:
    """Returns every memory with the probability that it answers, best first, and the newer first among equals.

    "My dog" is also looked for by its name, unless that is what the question asks for.
    """
    matches = _judged(question, entries, concepts, sense)
    named = with_name(question, concepts) if question.kind.name != "name" else None
    if named is not None:
        by_name = {match.entry.memory_id: match.score for match in _judged(named, entries, concepts, sense)}
        matches = [replace(match, score=max(match.score, by_name[match.entry.memory_id])) for match in matches]
    return sorted(matches, key=lambda match: (match.score, match.entry.memory_id), reverse=True)


def _judged(
    question: Question, entries: Sequence[MemoryEntry], concepts: Sequence[Concept], sense: Sense
) -> list[Match]:
    model = sense.models["answers"]
    counted, listed = counted_kind(question), listed_kind(question)
    groups = together(entries)
    home = Home.of(question.text)
    entries = [as_one(group) for group in groups]
    from_others = _from_other_tellers(question, entries)
    has_home = home is not None and any(home.is_told_by(entry.text) for entry in entries)
    contradicts = contradictions(question, [entry.text for entry in entries])
    return [
        Match(
            group[0],
            _score(
                question,
                features,
                model.probability(features),
                is_home=home is not None and home.is_told_by(entry.text),
                is_past_home=has_home and home is not None and home.was_before(entry.text),
                is_counted=has_one(entry.text, counted) or has_skill(entry.text, listed),
                gives_name=gives_the_name(question, entry.text),
                tells_taste=tells_the_taste(question, entry.text),
                is_anothers=entry.memory_id in from_others
                or is_elsewhere(entry.text, counted)
                or (
                    home is not None
                    and home.is_anothers(entry.text)
                    and (has_home or _names_nobody_of(question, features))
                )
                or tells_anothers(question.text, entry.text)
                or tells_another_thing(question, entry.text)
                or contradicts[place],
            ),
            max(features["cosine of a part"], features["cosine of the message"]),
            place,
            tuple(group[1:]),
            contradicts[place],
        )
        for place, (group, entry, features) in enumerate(
            zip(groups, entries, features_of(question, entries, concepts, sense), strict=True)
        )
    ]


def _names_nobody_of(question: Question, features: Mapping[str, float]) -> bool:
    return bool(question.names) and not features["name met"]


def as_one(group: Sequence[MemoryEntry]) -> MemoryEntry:
    """Returns a memory with the texts of its corrections: any of them may have what the question asks for."""
    return replace(group[0], text=" ".join(entry.text for entry in group))


def _from_other_tellers(question: Question, entries: Sequence[MemoryEntry]) -> set[int]:
    """Returns the ids of what other people told, if there are several tellers and the question names any of them."""
    tellers = {entry.memory_id: match[1] for entry in entries if (match := TELLER.match(entry.text))}
    named_tellers = {teller for teller in tellers.values() if teller in question.names}
    return {memory_id for memory_id, teller in tellers.items() if named_tellers and teller not in named_tellers}


TELLER = re.compile(r"([A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,2}): ")

_KIN = frozenset(
    (
        "aunt brother brother-in-law cousin dad daughter daughter-in-law father father-in-law fiance fiancee gran grandad "
        "granddad granddaughter grandfather grandma grandmother grandpa grandson husband mom mother mother-in-law mum nan "
        "nephew niece sister sister-in-law son son-in-law uncle wife"
    ).split()
)

_MINE = re.compile(r"\bmy (?P<what>(?:[\w-]+ ){0,2}[\w-]+)(?P<more>['’])?", re.IGNORECASE)
_ANOTHERS = re.compile(r"(?<!\bit)(?<!\bthat)(?<!\bwhat)(?<!\bhere)(?<!\bthere)['’]s (?P<what>(?:[\w-]+ ){0,3}[\w-]+)")
_AM_I = re.compile(r"\b(?:am|was) i\b", re.IGNORECASE)
_IS_SO = re.compile(r"(?P<who>[\w' -]+?)(?: is| was|'s) (?!.*\b(?:I|me|my|us|our)\b)")


def tells_anothers(question: str, text: str) -> bool:
    """Returns whether the question is about "my blood type", and the text only about "Pieter's blood type".

    "Pieter is scared of lifts" does not say what "I" am scared of, either.
    """
    is_so = _IS_SO.match(plain(text)) if _AM_I.search(question) and not people_in(question) else None
    if is_so is not None and people_in(is_so["who"]):
        return True
    match = _MINE.search(plain(question))
    wanted = content(match["what"]) if match is not None and not match["more"] else set()
    own = [content(m["what"]) for m in _MINE.finditer(plain(text)) if not m["more"]]
    others = [content(m["what"]) for m in _ANOTHERS.finditer(plain(text))]
    return bool(wanted) and any(wanted <= words for words in others) and not any(wanted <= words for words in own)


_THING = re.compile(
    r"\b(?:the|my|our|his|her|their|[\w-]+'s) (?P<which>(?:[\w-]+ ){1,2})(?P<thing>[\w-]+)(?=\W*$| (?:again|now|please)\b)",
    re.IGNORECASE,
)


def tells_another_thing(question: Question, text: str) -> bool:
    """Returns whether the question is about "the door code", and the text about another thing of the kind: the lock's code."""
    match = _THING.search(plain(question.text)) if question.kind.name == "amount" else None
    which = content(match["which"]) if match is not None else set()
    words = [word.lower() for word in re.findall(r"[\w'-]+", plain(text))]
    roots = [stem(re.sub(r"'s$", "", word)) for word in words]
    if match is None or not which or any(meets(word, frozenset(roots)) for word in which):
        return False
    thing = stem(match["thing"])
    before = [words[i - 1] for i, root in enumerate(roots) if i and root == thing]
    return bool(before) and all(content(word) and not word[0].isdigit() for word in before)


def _score(
    question: Question,
    features: Mapping[str, float],
    probability: float,
    *,
    is_home: bool,
    is_past_home: bool,
    is_counted: bool,
    gives_name: bool,
    tells_taste: bool,
    is_anothers: bool,
) -> float:
    if is_anothers:
        return probability * _RULED_OUT
    if is_past_home:
        return probability * _PAST_HOME
    names_all = features["least covered"] >= _SYNONYM or not question.words
    if is_counted or is_home or (gives_name and names_all and (features["name met"] or not question.names)):
        return SURE + (1 - SURE) * probability
    about_user = question.kind.name == "about" and not question.words  # "what do you know about me?"
    about_taste = tells_taste and bool(features["name met"]) and bool(features["kind met"])
    holds_all_words = features["literal share"] == 1.0 and (bool(features["kind met"]) or _asks_of_it(question))
    if about_user or about_taste or (holds_all_words and question.words):
        return SURE + (1 - SURE) * probability  # anything said about the thing by its name answers
    return probability * _RULED_OUT if features["kin unmet"] else probability  # Joana's home is not "my sister's"


def _asks_of_it(question: Question) -> bool:
    """Returns whether the question is just about the thing itself: "Show me my teapot", "tell me about Rex", "who is Rex?"."""
    return question.kind.name in ("show", "about") or (
        question.kind.name == "person" and bool(re.match(r"\W*who(?:'s| is| was)\b", question.text, re.IGNORECASE))
    )


def entries_of(hits: Sequence[Hit]) -> list[MemoryEntry]:
    """Returns the memories among the hits, each once."""
    return list({hit.record.memory_id: hit.record for hit in hits if isinstance(hit.record, MemoryEntry)}.values())


def together(entries: Sequence[MemoryEntry]) -> list[list[MemoryEntry]]:
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
    words = {entry.memory_id: _words_of(entry, concepts) for entry in entries}
    rarity = _rarity(question, words)
    rows = [_features(question, entry, entries, words, rarity, sense) for entry in entries]
    for name in _LEADING:
        for features, lead in zip(rows, leads([features[name] for features in rows]), strict=True):
            features[f"{name}: lead"] = lead
    return [features | {f"asks: {kind}": float(kind == question.kind.name) for kind in KINDS} for features in rows]


def _features(
    question: Question,
    entry: MemoryEntry,
    entries: Sequence[MemoryEntry],
    words: Mapping[int, Sequence[str]],
    rarity: Mapping[str, float],
    sense: Sense,
) -> dict[str, float]:
    nearby_words = [
        word
        for other in entries
        if other is not entry and share_evidence(entry, other)
        for word in words[other.memory_id]
    ]
    of_memory = covered(question.words, words[entry.memory_id], sense)
    of_message = covered(question.words, nearby_words, sense)
    scores = {
        word: max(value, _NEARBY * cosine)
        for word, value, cosine in zip(question.words, of_memory, of_message, strict=True)
    }
    name_words = [word for name in question.names for word in content_words(name) if word in scores]
    attributes = [word for word in scores if word not in name_words]
    literal = [word for word in scores if scores[word] == 1.0]
    rest = [value for value in scores.values() if value < 1.0]
    total = sum(rarity[word] for word in attributes)
    coverage = sum(scores[word] * rarity[word] for word in attributes) / total if total else 0.5
    entity = " ".join(dict.fromkeys([*literal, *name_words]))
    parts = [entry.text[start:end] for start, end in segments(entry.text)]
    wholes = [*parts, *(f"{left}, {right}" for left, right in pairwise(parts))]
    cosine, entity_cosine = sense.nearest([question.text, entity or question.text], [entry.text, *wholes])
    of_part = max(_coverage(question, content_words(part), rarity, sense) for part in wholes)
    kind = holds_kind(question, entry.text, dated=entry.happened is not None)
    of_oneself = bool(FIRST_PERSON.search(question.text)) and not people_in(question.text)
    return {
        "cosine of a part": cosine,
        "cosine of the message": sense.cosine(question.context, entry.text),
        "cosine beyond the entity": cosine - entity_cosine if entity else 0.0,
        "coverage of a part": of_part,
        "least covered": min((scores[word] for word in attributes), default=0.5),
        "rest coverage": sum(rest) / len(rest) if rest else 1.0,
        "words met": min(3, sum(scores[word] >= _SYNONYM for word in attributes)) / 3,
        "words unmet": min(3, sum(scores[word] < _MENTIONED for word in attributes)) / 3,
        "name met": float(bool(name_words) and min(scores[word] for word in name_words) >= _NAME_MET),
        "kind met": float(kind is True),
        "kind missing": float(kind is False),
        "kind missing and coverage": coverage if kind is False else 0.0,
        "value missing": float(kind is False and question.kind.value),
        "literal share": len(literal) / max(1, len(scores)),
        "rare literal": max((rarity[word] for word in literal), default=0.0),
        "another number": float(_has_another_number(question.text, entry.text)),
        "of oneself, told of oneself": float(of_oneself and _is_told_of_oneself(entry.text)),
        "kin unmet": float(any(scores.get(word, 1.0) < _SYNONYM for word in question.words if word.lower() in _KIN)),
    }


def _is_told_of_oneself(text: str) -> bool:
    subject = find_subject(text)
    return subject is not None and (subject.text.lower() in ("i", "we") or Claim.of(text).owner == "I")


def _has_another_number(question: str, text: str) -> bool:
    """Returns whether the text lacks the year, code or number in the question, but has another: 2018 instead of 2019."""
    wanted, numbers = set(re.findall(r"\d{2,}", question)), set(re.findall(r"\d{2,}", text))
    return bool(wanted and numbers) and not wanted & numbers


def _coverage(question: Question, words: Sequence[str], rarity: Mapping[str, float], sense: Sense) -> float:
    total = sum(rarity.values())
    pairs = zip(question.words, covered(question.words, words, sense), strict=True)
    return sum(value * rarity[word] for word, value in pairs) / total if total else 0.5


def covered(wanted: Sequence[str], words: Sequence[str], sense: Sense) -> list[float]:
    """Returns how well `words` cover each wanted word: 1 for the word itself, less for a synonym, or else its best cosine."""
    if not wanted or not words:
        return [0.0] * len(wanted)
    roots = frozenset(root for word in words for root in stems(word))
    spellings = frozenset(map(spelling, roots))
    cosines = sense.nearest(wanted, words)
    return [
        1.0
        if spelling(stem(word)) in spellings
        else _SYNONYM
        if meets(stem(word), roots)
        else max(0.0, min(0.8, cosine))
        for word, cosine in zip(wanted, cosines, strict=True)
    ]


def _words_of(entry: MemoryEntry, concepts: Sequence[Concept]) -> list[str]:
    """Returns the words of the memory, and the other names of the concepts that it mentions."""
    called = [
        name
        for concept in concepts
        if concept.concept_id in entry.concept_ids or mentioned(entry.text, [concept])
        for name in names_of(concept)
    ]
    return content_words(" ".join([entry.text, entry.caption, *called]))


def _rarity(question: Question, words: Mapping[int, Sequence[str]]) -> dict[str, float]:
    """Returns the weight of each word of the question: higher if fewer of the memories have it."""
    roots = [frozenset(stem(word) for word in entry_words) for entry_words in words.values()]
    return {
        word: math.log(1 + (len(roots) + 1) / (0.5 + sum(stem(word) in held for held in roots)))
        for word in question.words
    }


def share_evidence(left: MemoryEntry, right: MemoryEntry) -> bool:
    return any(a.first <= b.last and b.first <= a.last for a in left.evidence_ids for b in right.evidence_ids)


def rests_on(entry: MemoryEntry, message_ids: Sequence[int]) -> bool:
    return any(first <= message_id <= last for first, last in entry.evidence_ids for message_id in message_ids)
