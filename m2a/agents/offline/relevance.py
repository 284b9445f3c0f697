"""The probability that a memory answers a question, learned from how much of the question it covers and from its values.

A few rules overrule what is learned. A memory about somebody else is ruled out; one that gives exactly the name asked for is
sure.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from m2a.agents.offline.answer_checks import gives_the_name, has_answer_of_kind, states_the_taste
from m2a.agents.offline.answer_kinds import KINDS
from m2a.agents.offline.change_words import only_tells_of_past
from m2a.agents.offline.claims import PEOPLE, Claim, people_in
from m2a.agents.offline.clauses import find_subject, segments
from m2a.agents.offline.dialogues import teller_of
from m2a.agents.offline.homes import Home
from m2a.agents.offline.households import counted_kind, has_one, is_elsewhere
from m2a.agents.offline.names import find_names, mentioned, names_of
from m2a.agents.offline.polarity import contradictions
from m2a.agents.offline.questions import Question, content_words, with_name
from m2a.agents.offline.sense import Sense, leads
from m2a.agents.offline.skills import has_skill, listed_kind
from m2a.agents.offline.text import FIRST_PERSON, content, has_equivalent, plain, spelling, stem, stems
from m2a.types import Concept, Hit, MemoryEntry, Message

SURE = 0.5  # the probability from which a memory is the answer
NEAR = 0.03  # the probability from which a memory may be quoted as the nearest to the question
# The number of places in the search, from the first on, at which what one of several people said may be the answer.
_FIRST_OF_SEVERAL = 3
_RULED_OUT = 0.5  # the factor on the probability of a memory about somebody or something else, which can only be near
_PAST_HOME = 0.2  # the factor on the probability of a former home, if the present one is known
# A memory covers a word of the question fully (1) with the word itself, and partly with another word or by its message.
_SYNONYM = 0.9  # with a listed synonym
_MAX_SIMILAR = 0.8  # with a word of similar meaning: their cosine, at most this
_NEARBY = 0.8  # the factor on what another memory of the same message covers
_MENTIONED = 0.5  # a word that is covered less is not mentioned
_NAME_MET = 0.7  # a name that is covered less is not mentioned
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
        *_LEADING,
        "cosine beyond the entity",
        "rest coverage",
        "words met",
        "words unmet",
        "name met",
        "kind met",
        "kind missing",
        "kind missing and coverage",
        "value missing",
        "kin unmet",
        "of oneself, told of oneself",
        *(f"{name}: lead" for name in _LEADING),
        *(f"asks: {kind}" for kind in KINDS),
    ]
)


@dataclass(frozen=True, slots=True)
class Match:
    """A memory, the probability that it answers (`score`), its place in the search, and its corrections, oldest first.

    `cosine` is that of the question, or of its message, to the memory or a part of it. A memory `contradicts` if it denies what
    the question affirms, or the other way round.
    """

    entry: MemoryEntry
    score: float
    cosine: float
    place: int
    corrections: tuple[MemoryEntry, ...] = ()
    contradicts: bool = False


def find_matches(question: Question, hits: Sequence[Hit], concepts: Sequence[Concept], sense: Sense) -> list[Match]:
    """Returns the memories with the probability that they answer, best first; none if not even the best is near.

    Among equals, the newer is first. What used to be is left out if the question is about now and another memory answers it.
    """
    entries = entries_of(hits)
    if _ASKS_FOR_NOW.search(question.text) and not _ASKS_FOR_PAST.search(question.text):
        groups = correction_groups(entries)
        present = [e for group in groups if not all(only_tells_of_past(e.text) for e in group) for e in group]
        if len(present) < len(entries) and is_sure(matches := _sorted_matches(question, present, concepts, sense)):
            return matches
    matches = _sorted_matches(question, entries, concepts, sense)
    return matches if matches and matches[0].score >= NEAR else []


def _sorted_matches(
    question: Question, entries: Sequence[MemoryEntry], concepts: Sequence[Concept], sense: Sense
) -> list[Match]:
    """Returns the memories, best first. "My dog" is also looked for by its name, unless the question asks for the name."""
    matches = _matches(question, entries, concepts, sense)
    named = with_name(question, concepts) if question.kind.name != "name" else None
    if named is not None:
        by_name = {match.entry.memory_id: match.score for match in _matches(named, entries, concepts, sense)}
        matches = [replace(match, score=max(match.score, by_name[match.entry.memory_id])) for match in matches]
    matches.sort(key=lambda match: (match.score, match.entry.memory_id), reverse=True)
    return matches


def is_sure(matches: Sequence[Match]) -> bool:
    """Returns whether the best of the matches is an answer, rather than only the nearest memory.

    In a conversation of several people, it must also be among the first few of the search, which knows better who said what.
    """
    if not matches or matches[0].score < SURE:
        return False
    return matches[0].place < _FIRST_OF_SEVERAL or teller_of(matches[0].entry.text) is None


def _matches(
    question: Question, entries: Sequence[MemoryEntry], concepts: Sequence[Concept], sense: Sense
) -> list[Match]:
    """Returns every memory in the order of the search, with the probability that it answers."""
    model = sense.models["answers"]
    counted, listed, home = counted_kind(question), listed_kind(question), Home.of(question.text)
    groups = correction_groups(entries)
    entries = [as_one(group) for group in groups]
    contradicts = contradictions(question, [entry.text for entry in entries])
    from_others = _from_other_tellers(question, entries)
    has_home = home is not None and any(home.is_told_by(entry.text) for entry in entries)
    matches = []
    for place, features in enumerate(features_of(question, entries, concepts, sense)):
        entry, text, score = entries[place], entries[place].text, model.probability(features)
        if (
            contradicts[place]
            or entry.memory_id in from_others
            or is_elsewhere(text, counted)
            or (home is not None and home.is_anothers(text) and (has_home or not features["name met"]))
            or tells_anothers(question.text, text)
            or (question.names and question.name_stems.isdisjoint(stems(text)) and _is_of_a_person(text))
            or tells_another_thing(question, text)
        ):
            score *= _RULED_OUT
        elif has_home and home is not None and home.was_before(text):
            score *= _PAST_HOME
        elif (
            has_one(text, counted)
            or has_skill(text, listed)
            or (home is not None and home.is_told_by(text))
            or _surely_answers(question, features, text)
        ):
            score = SURE + (1 - SURE) * score
        elif features["kin unmet"] and _is_about_a_person(text):  # where Joana lives is not where "my sister" does
            score *= _RULED_OUT
        cosine = max(features["cosine of a part"], features["cosine of the message"])
        first, *corrections = groups[place]
        matches.append(Match(first, score, cosine, place, tuple(corrections), contradicts[place]))
    return matches


_ASKS_FOR_NOW = re.compile(r"\b(?:am|is|are|do|does|can|(?:what|where|who|how)'?s)\b", re.IGNORECASE)
_ASKS_FOR_PAST = re.compile(r"\b(?:was|were|did|had|used|ever|before|previously|former(?:ly)?)\b", re.IGNORECASE)


def as_one(group: Sequence[MemoryEntry]) -> MemoryEntry:
    """Returns a memory with its text and those of its corrections: any of them may have what the question asks for."""
    return replace(group[0], text=" ".join(entry.text for entry in group))


def _from_other_tellers(question: Question, entries: Sequence[MemoryEntry]) -> set[int]:
    """Returns the ids of the memories that other people told, if the question names any of those who told one."""
    tellers = {entry.memory_id: teller for entry in entries if (teller := teller_of(entry.text)) is not None}
    named_tellers = {teller for teller in tellers.values() if teller in question.names}
    return {memory_id for memory_id, teller in tellers.items() if named_tellers and teller not in named_tellers}


_RELATIVES = frozenset(
    (
        "aunt brother brother-in-law cousin dad daughter daughter-in-law father father-in-law fiance fiancee gran grandad "
        "granddad granddaughter grandfather grandma grandmother grandpa grandson husband mom mother mother-in-law mum nan "
        "nephew niece sister sister-in-law son son-in-law uncle wife"
    ).split()
)

_MINE = re.compile(r"\bmy (?P<what>(?:[\w-]+ ){0,2}[\w-]+)(?P<owner>')?", re.IGNORECASE)  # not "my sister's …"
_ANOTHERS = re.compile(r"(?<!\bit)(?<!\bthat)(?<!\bwhat)(?<!\bhere)(?<!\bthere)'s (?P<what>(?:[\w-]+ ){0,3}[\w-]+)")
_AM_I = re.compile(r"\b(?:am|was) i\b", re.IGNORECASE)
_DO_I = re.compile(r"\b(?:do|did|have|can) i\b", re.IGNORECASE)
_IS_SO = re.compile(r"(?P<who>[\w' -]+?)(?: is| was|'s) (?!.*\b(?:I|me|my|us|our)\b)")


def _is_of_a_person(text: str) -> bool:
    """Returns whether the text says how or what a person is, and nothing of the user: "Greta is allergic to hazelnuts"."""
    match = _IS_SO.match(plain(text))
    if match is None or not people_in(match["who"]):
        return False
    names = {word for name in find_names(match["who"]) for word in name.split()}
    others = [word for word in match["who"].replace("'s", "").split() if word not in names]
    return not others or stem(others[-1]) in PEOPLE


def _is_of_a_relative(text: str) -> bool:
    """Returns whether the text is about a relative or a pet and not about the user: "My sister drives an Audi"."""
    subject = find_subject(plain(text))
    if subject is None or FIRST_PERSON.search(subject.rest):
        return False
    return stem(re.sub(r"(?<=\w)(?: [A-Z][\w-]*)+$", "", subject.text).split()[-1]) in PEOPLE  # "my son Leo"


def tells_anothers(question: str, text: str) -> bool:
    """Returns whether the question is about "my blood type", and the text only about "Pieter's blood type".

    "Pieter is scared of lifts" does not say what "I" am scared of, either, nor "my sister drives an Audi" what "I" drive.
    """
    question, text = plain(question), plain(text)
    if not people_in(question) and (
        (_AM_I.search(question) and _is_of_a_person(text)) or (_DO_I.search(question) and _is_of_a_relative(text))
    ):
        return True
    match = _MINE.search(question)
    wanted = content(match["what"]) if match is not None and not match["owner"] else set()
    mine = [content(match["what"]) for match in _MINE.finditer(text) if not match["owner"]]
    others = [content(match["what"]) for match in _ANOTHERS.finditer(text)]
    return bool(wanted) and any(wanted <= words for words in others) and not any(wanted <= words for words in mine)


_END = r"(?=\W*$| (?:again|now|please)\b)"
_THINGS = (  # "the code for the front door", "the door code"
    re.compile(
        rf"\b(?P<thing>[\w-]+) (?:for|of|to) (?:the|my|our|his|her|their) (?P<which>(?:[\w-]+ )?[\w-]+){_END}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:the|my|our|his|her|their|[\w-]+'s) (?P<which>(?:[\w-]+ ){{1,2}})(?P<thing>[\w-]+){_END}", re.IGNORECASE
    ),
)


_CODES = frozenset(map(stem, "code pin number password passcode combination combo".split()))


def tells_another_thing(question: Question, text: str) -> bool:
    """Returns whether the question is about "the door code", and the text about another thing of the kind: the lock's code.

    A PIN is a code, too: "my locker code" is not "my bank card PIN".
    """
    match = next((match for pattern in _THINGS if (match := pattern.search(plain(question.text)))), None)
    if match is None or question.kind.name not in ("amount", "identifier"):
        return False
    which, thing = content(match["which"]), stem(match["thing"])
    words = [word.lower() for word in re.findall(r"[\w'-]+", plain(text))]
    word_stems = [stem(word.removesuffix("'s")) for word in words]
    if not which or any(has_equivalent(word, frozenset(word_stems)) for word in which):
        return False
    things = _CODES if thing in _CODES else {thing}
    places = [place for place, word_stem in enumerate(word_stems) if word_stem in things]
    return bool(places) and all(_is_of_a_thing(words, place) for place in places)


def _is_of_a_thing(words: Sequence[str], place: int) -> bool:
    """Returns whether the word there is said to be of some thing: "lock code", "code for the shed", but not "the code is"."""
    before, after = words[place - 1] if place else "", words[place + 1 : place + 2]
    return after in (["for"], ["of"], ["to"]) or (bool(content(before)) and not before[0].isdigit())


def _surely_answers(question: Question, features: Mapping[str, float], text: str) -> bool:
    """Returns whether the text has exactly what the question asks for: a name, a taste, or anything about its subject."""
    names_all = features["least covered"] >= _SYNONYM or not question.words
    if gives_the_name(question, text) and names_all and (features["name met"] or not question.names):
        return True
    if question.kind.name == "about" and not question.words:  # "what do you know about me?"
        return True
    if features["kind met"] and features["name met"] and states_the_taste(question, text):
        return True
    return features["literal share"] == 1.0 and (bool(features["kind met"]) or _asks_for_anything_about(question))


def _asks_for_anything_about(question: Question) -> bool:
    """Returns whether anything about its subject answers: "Show me my teapot", "tell me about Rex", "who is Rex?"."""
    return question.kind.name in ("show", "about") or (
        question.kind.name == "person" and bool(re.match(r"\W*who(?:'s| is| was)\b", question.text, re.IGNORECASE))
    )


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
    nearby = [other for other in entries if other is not entry and share_evidence(entry, other)]
    nearby_words = [word for other in nearby for word in words[other.memory_id]]
    by_memory = covered(question.words, words[entry.memory_id], sense)
    by_nearby = covered(question.words, nearby_words, sense)
    scores = {
        word: max(score, _NEARBY * nearby_score)
        for word, score, nearby_score in zip(question.words, by_memory, by_nearby, strict=True)
    }
    name_words = [word for name in question.names for word in content_words(name) if word in scores]
    attributes = [word for word in scores if word not in name_words]
    literal = [word for word in scores if scores[word] == 1.0]
    rest = [score for score in scores.values() if score < 1.0]
    total = sum(rarity[word] for word in attributes)
    coverage = sum(scores[word] * rarity[word] for word in attributes) / total if total else 0.5
    entity = " ".join(dict.fromkeys([*literal, *name_words]))
    clauses = [entry.text[start:end] for start, end in segments(entry.text)]
    parts = [*clauses, *(f"{left}, {right}" for left, right in pairwise(clauses))]
    cosine, entity_cosine = sense.nearest([question.text, entity or question.text], [entry.text, *parts])
    kind = has_answer_of_kind(question, entry.text, is_dated=entry.happened is not None)
    of_oneself = bool(FIRST_PERSON.search(question.text)) and not people_in(question.text)
    return {
        "cosine of a part": cosine,
        "cosine of the message": sense.cosine(question.context, entry.text),
        "cosine beyond the entity": cosine - entity_cosine if entity else 0.0,
        "coverage of a part": max(_coverage(question, content_words(part), rarity, sense) for part in parts),
        "least covered": min((scores[word] for word in attributes), default=0.5),
        "rest coverage": sum(rest) / len(rest) if rest else 1.0,
        "words met": min(3, sum(scores[word] >= _SYNONYM for word in attributes)) / 3,
        "words unmet": min(3, sum(scores[word] < _MENTIONED for word in attributes)) / 3,
        "name met": float(bool(name_words) and min(scores[word] for word in name_words) >= _NAME_MET),
        "kind met": float(kind is True),
        "kind missing": float(kind is False),
        "kind missing and coverage": coverage if kind is False else 0.0,
        "value missing": float(kind is False and question.kind.is_value),
        "literal share": len(literal) / max(1, len(scores)),
        "rare literal": max((rarity[word] for word in literal), default=0.0),
        "of oneself, told of oneself": float(of_oneself and _is_about_speaker(entry.text)),
        "kin unmet": float(any(score < _SYNONYM for word, score in scores.items() if word.lower() in _RELATIVES)),
    }


def _is_about_a_person(text: str) -> bool:
    """Returns whether the text is about somebody named or a relative."""
    subject = find_subject(text)
    return subject is not None and (
        subject.text in find_names(text) or not _RELATIVES.isdisjoint(subject.text.lower().split())
    )


def _is_about_speaker(text: str) -> bool:
    subject = find_subject(text)
    return subject is not None and (subject.text.lower() in ("i", "we") or Claim.of(text).owner == "I")


def _coverage(question: Question, words: Sequence[str], rarity: Mapping[str, float], sense: Sense) -> float:
    total = sum(rarity.values())
    pairs = zip(question.words, covered(question.words, words, sense), strict=True)
    return sum(value * rarity[word] for word, value in pairs) / total if total else 0.5


def covered(wanted: Sequence[str], words: Sequence[str], sense: Sense) -> list[float]:
    """Returns how well `words` cover each wanted word: 1 for the word itself, less for a synonym, or else its best cosine."""
    if not wanted or not words:
        return [0.0] * len(wanted)
    word_stems = frozenset(part for word in words for part in stems(word))
    spellings = frozenset(map(spelling, word_stems))
    cosines = sense.nearest(wanted, words)
    return [
        1.0
        if spelling(stem(word)) in spellings
        else _SYNONYM
        if has_equivalent(stem(word), word_stems)
        else max(0.0, min(_MAX_SIMILAR, cosine))
        for word, cosine in zip(wanted, cosines, strict=True)
    ]


def _words_of(entry: MemoryEntry, concepts: Sequence[Concept]) -> list[str]:
    """Returns the words of the memory, and the other names of the concepts that it mentions."""
    names = [
        name
        for concept in concepts
        if concept.concept_id in entry.concept_ids or mentioned(entry.text, [concept])
        for name in names_of(concept)
    ]
    return content_words(" ".join([entry.text, entry.caption, *names]))


def _rarity(question: Question, words: Mapping[int, Sequence[str]]) -> dict[str, float]:
    """Returns the weight of each word of the question: higher if fewer of the memories have it."""
    memories = [frozenset(map(stem, memory_words)) for memory_words in words.values()]
    return {
        word: math.log(1 + (len(memories) + 1) / (0.5 + sum(stem(word) in memory for memory in memories)))
        for word in question.words
    }


def share_evidence(left: MemoryEntry, right: MemoryEntry) -> bool:
    return any(a.first <= b.last and b.first <= a.last for a in left.evidence_ids for b in right.evidence_ids)
