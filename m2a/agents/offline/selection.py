"""Chooses the memories that an answer rests on: those that surely answer, or those near the question, and which still hold."""

from collections.abc import Sequence
from itertools import accumulate
from operator import attrgetter

from m2a.agents.offline.answer_checks import has_answer_of_kind
from m2a.agents.offline.claims import Claim
from m2a.agents.offline.exclusion import exclude_each_other, give_different_kinds, puts_elsewhere, share_a_frame
from m2a.agents.offline.homes import Home
from m2a.agents.offline.households import counted_kind, is_elsewhere
from m2a.agents.offline.languages import is_english
from m2a.agents.offline.questions import Question
from m2a.agents.offline.relevance import NEAR, SURE, Match, as_one, is_sure
from m2a.agents.offline.skills import listed_kind
from m2a.agents.offline.stated_answers import asks_for_all
from m2a.agents.offline.text import content, has_equivalent, stem, stems
from m2a.types import MemoryEntry

MAX_LISTED = 8
_MAX_QUOTED = 2
# An answer of the kind in question that is so certain is quoted without what its message tells besides, unless that is likelier.
_CERTAIN, _MIN_BESIDE = 0.65, 0.05
_MAX_BESIDE = 2  # memories of the same message as the first, quoted with it
_MAX_ALIKE = 24  # memories that give other values of the same: all languages that somebody speaks
_MAX_NEAREST = 3
_MAX_NEAREST_WORDS = 60  # of all nearest memories together; the first is quoted however long it is
# The least share of the best probability with which another memory
_MIN_SHARE_QUOTED = 0.5  # is quoted too,
_MIN_SHARE_LISTED = 0.3  # is counted or listed too,
_MIN_SHARE_SAME_PERSON = 0.2  # or is quoted since it is about the same person.
_MIN_NEAR = 0.2  # the probability from which a memory is near even if it shares no word with the question
# So are the first few of the search and the learned decision together, from this cosine to the question on.
_MAX_FIRST = 2
_MIN_COSINE = 0.3


def newest_of_each(chosen: Sequence[MemoryEntry]) -> tuple[list[MemoryEntry], list[MemoryEntry]]:
    """Returns the memories that hold, and those that a newer one supersedes, both in the order given."""
    superseded = [entry for entry in chosen if any(_supersedes(other, entry) for other in chosen)]
    return [entry for entry in chosen if entry not in superseded], superseded


def _supersedes(newer: MemoryEntry, older: MemoryEntry) -> bool:
    """Returns whether the newer memory excludes the older one, or corrects it and repeats its words apart from the value."""
    if _age_order(newer) <= _age_order(older):
        return False
    excludes = exclude_each_other(older.text, newer.text)
    if newer.corrects != older.memory_id:
        return excludes or puts_elsewhere(older.text, newer.text)
    if Claim.of(older.text).kinds - Claim.of(newer.text).kinds:  # "on Wednesdays now" says nothing about "at 4"
        return False
    return excludes or share_a_frame(older.text, newer.text)


def _age_order(entry: MemoryEntry) -> tuple[int, int]:
    """Returns a key that sorts memories from the oldest to the newest."""
    return _message_of(entry), entry.memory_id


def _message_of(entry: MemoryEntry) -> int:
    """Returns the message that tells it: the newest. An earlier one that it rests on only names whom it is about."""
    return max((last for _, last in entry.evidence_ids), default=0)


def selected(question: Question, matches: Sequence[Match]) -> list[MemoryEntry]:
    """Returns the memories that the answer rests on, each followed by its corrections. `matches` has the best first.

    Memories that answer about equally well, or are only near, keep the order of the search.
    """
    if not matches:
        return []
    counted = counted_kind(question)
    ours = [match for match in matches if not is_elsewhere(match.entry.text, counted)]
    if not is_sure(ours):
        return _with_corrections(_nearest_of(question, matches))
    matches, best = ours, ours[0]
    if listed_kind(question) or asks_for_all(question):
        return _with_corrections([match for match in matches if match.score >= SURE][:_MAX_ALIKE])
    alike = [match for match in matches if match is best or _is_alike(question, match, best)]
    if question.kind.is_answered_by_many:
        listed = [match for match in matches if match.score >= _MIN_SHARE_LISTED * best.score]
        if len(listed) > MAX_LISTED:  # a value told often: the newest is not the best by much
            listed.sort(key=lambda match: _recency(match) if match in alike else 0, reverse=True)
        return _with_corrections(listed[:MAX_LISTED])
    close = [match for match in matches if match.score >= _MIN_SHARE_QUOTED * best.score][:_MAX_QUOTED]
    if question.kind.reply_form == "quoted":
        close.sort(key=attrgetter("place"))
    same_person = [match for match in matches[1:] if _is_about_same_person(question, match, best)]
    chosen = list(dict.fromkeys([*_with_same_message(question, close, matches), *alike, *same_person[:_MAX_QUOTED]]))
    home = Home.of(question.text)
    if home is not None:
        chosen.sort(
            key=lambda match: (
                not home.is_told_by(as_one(match.group).text),
                -_recency(match),
            )
        )
    elif all(match in alike for match in chosen):  # statements of the same kind: the newest first
        chosen.sort(key=_recency, reverse=True)
    return _with_corrections(chosen[:_MAX_ALIKE])


def _recency(match: Match) -> int:
    return max(map(_message_of, match.group))


def _nearest_of(question: Question, matches: Sequence[Match]) -> list[Match]:
    """Returns the first few of the search that may be about the question, and those that give other values of the same.

    Those that the search and the learned decision together put first need no word of the question, if they are near its meaning.
    One without an answer of the kind in question needs all of them: of 66 such others, first of what was shown to unknown
    writers, one had the answer in it or beside it.
    """
    named = [match for match in _about_the_named(question, matches) if _may_have_answer(question, match)]
    ranks = {match.entry.memory_id: rank + match.place for rank, match in enumerate(matches)}
    first = sorted(named, key=lambda match: ranks[match.entry.memory_id])[:_MAX_FIRST]
    near = [
        match
        for match in sorted(named, key=attrgetter("place"))
        if match.score >= _MIN_NEAR
        or (match in first and match.score >= NEAR and match.cosine >= _MIN_COSINE)
        or share_a_word(question.words, match.group)
    ][:_MAX_NEAREST]
    lengths = accumulate(len(match.entry.text.split()) for match in near)
    brief = [match for match, length in zip(near, lengths, strict=True) if length <= _MAX_NEAREST_WORDS]
    alike = [match for match in matches if _is_alike(question, match, near[0])] if near else []
    return list(dict.fromkeys([*near[:1], *brief, *alike]))


def _may_have_answer(question: Question, match: Match) -> bool:
    """Returns whether the memory has an answer of the kind in question, for all that can be seen, or all of its words.

    What is not known to be of a kind that the question names, "what tablets …?", may still be, and what is told in a language
    that is not read may have any answer.
    """
    text = as_one(match.group).text
    if has_answer_of_kind(question, text) is not False or question.kind.name == "noun" or not is_english(text):
        return True
    return all(has_equivalent(stem(word), stems(text)) for word in question.words)


def _is_alike(question: Question, match: Match, best: Match) -> bool:
    """Returns whether it gives another value of the same: "I am allergic to wasps" with "to nuts", but not "I am tired".

    What the question names is not the value: "The spinet stands in the hall" does not tell where the celesta stands.
    """
    text, best_text = match.entry.text, best.entry.text
    asked = {stem(word) for word in question.words} & set(stems(best_text))
    return (
        bool(content(text) & content(best_text))
        and asked <= set(stems(text))
        and share_a_frame(text, best_text)
        and not give_different_kinds(text, best_text)
    )


def _about_the_named(question: Question, matches: Sequence[Match]) -> Sequence[Match]:
    """Returns the matches that mention somebody whom the question names, or all of them if none does."""
    named = question.name_stems
    return [match for match in matches if not named.isdisjoint(stems(match.entry.text))] or matches


def share_a_word(words: Sequence[str], entries: Sequence[MemoryEntry]) -> bool:
    """Returns whether the memories have one of the words or a synonym."""
    memory_stems = {word for entry in entries for word in stems(entry.text)}
    return any(has_equivalent(stem(word), memory_stems) for word in words)


def _is_about_same_person(question: Question, match: Match, best: Match) -> bool:
    """Returns whether a less probable memory names somebody whom the question and the best memory name: a second allergy."""
    text, best_text = as_one(match.group).text, as_one(best.group).text
    shared = question.name_stems & set(stems(text)) & set(stems(best_text))
    is_of_kind = has_answer_of_kind(question, text) or not has_answer_of_kind(question, best_text)
    return bool(shared) and is_of_kind and match.score >= _MIN_SHARE_SAME_PERSON * best.score


def _with_same_message(question: Question, chosen: Sequence[Match], matches: Sequence[Match]) -> list[Match]:
    """Returns the first, others from its message, then the rest: the next sentence may have the other half of an answer.

    One that hardly answers itself is quoted only if it adds to the first, and not at all where the first surely answers.
    """
    first = chosen[0]
    message = _message_of(first.entry)
    is_certain = first.score >= _CERTAIN and question.kind.reply_form == "quoted"
    is_enough = is_certain and has_answer_of_kind(question, as_one(first.group).text)
    same = [match for match in matches if match is not first and _message_of(match.entry) == message]
    beside = [
        match for match in same if match.score >= _MIN_BESIDE or (not is_enough and _adds_to(question, first, match))
    ]
    return list(dict.fromkeys([first, *beside[:_MAX_BESIDE], *chosen]))


def _adds_to(question: Question, first: Match, match: Match) -> bool:
    """Returns whether the memory has a word of the question that the first lacks, or an answer of the kind in question.

    That both are of "which hive", say, adds nothing.
    """
    lacking = [word for word in question.words if not share_a_word([word], first.group)]
    has_answer = has_answer_of_kind(question, as_one(match.group).text) and question.kind.name != "noun"
    return share_a_word(lacking, match.group) or bool(has_answer)


def _with_corrections(chosen: Sequence[Match]) -> list[MemoryEntry]:
    return list(dict.fromkeys(entry for match in chosen for entry in match.group))
