"""The memories that an answer rests on: those that surely answer, or those near the question, and which of them still hold."""

from collections.abc import Sequence

from m2a.agents.offline.claims import Claim
from m2a.agents.offline.exclusion import exclude_each_other, give_different_kinds, puts_elsewhere, share_a_frame
from m2a.agents.offline.questions import Question
from m2a.agents.offline.relevance import NEAR, SURE, Match, is_sure, share_evidence
from m2a.agents.offline.skills import listed_kind
from m2a.agents.offline.text import content, meets, stem, stems
from m2a.types import MemoryEntry

MAX_LISTED = 8
_MAX_QUOTED = 2
_MORE_OF_PERSON = 0.2  # the share of the best probability from which another memory of the same person is quoted too
_MAX_ALIKE = 24  # memories that give other values of the same: all languages that somebody speaks
_MAX_NEAREST = 3
_NEAREST_WORDS = 60  # the most words that the nearest memories have together; the first is quoted however long it is
_MIN_NEAR = 0.2  # the probability from which a memory is near even if it shares no word with the question
_FIRST = 2  # of the search and the learned decision together: such a memory is near from this cosine to the question on
_MIN_COSINE = 0.3
_MAX_BESIDE = 2
_LOOSELY_CLOSE = 0.3  # the share of the best probability from which another memory is counted or listed too
_CLOSE = 0.5  # the same for one that is quoted


def newest_of_each(chosen: Sequence[MemoryEntry]) -> tuple[list[MemoryEntry], list[MemoryEntry]]:
    """Returns the memories that hold, and those that a newer one supersedes, both in the order given.

    A correction that repeats the words of the memory apart from the value restates all of it.
    """
    excluded = [entry for entry in chosen if any(_takes_its_place(other, entry) for other in chosen)]
    return [entry for entry in chosen if entry not in excluded], excluded


def _takes_its_place(newer: MemoryEntry, older: MemoryEntry) -> bool:
    if _age_of(newer) <= _age_of(older):
        return False
    is_correction = newer.corrects == older.memory_id
    is_elsewhere = not is_correction and puts_elsewhere(older.text, newer.text)
    if is_elsewhere or (not is_correction and exclude_each_other(older.text, newer.text)):
        return True
    if Claim.of(older.text).kinds - Claim.of(newer.text).kinds:  # "on Wednesdays now" says nothing about "at 4"
        return False
    return is_correction and (exclude_each_other(older.text, newer.text) or share_a_frame(older.text, newer.text))


def _age_of(entry: MemoryEntry) -> tuple[int, int]:
    return max((last for _, last in entry.evidence_ids), default=0), entry.memory_id


def selected(question: Question, matches: Sequence[Match]) -> list[MemoryEntry]:
    """Returns the memories that the answer rests on, each followed by its corrections. `matches` has the best first.

    Memories that answer about equally well, or are only near, keep the order of the search.
    """
    if not matches:
        return []
    if not is_sure(matches):
        return _with_corrections(_nearest_of(question, matches))
    matches = [match for match in matches if not match.contradicts]
    best = matches[0].score
    if listed_kind(question):
        return _with_corrections([match for match in matches if match.score >= SURE][:_MAX_ALIKE])
    if question.kind.answer in ("counted", "with photos", "shown"):
        loosely_close = [match for match in matches if match.score >= _LOOSELY_CLOSE * best]
        if len(loosely_close) > MAX_LISTED:  # the newest value of one told often is not the best by much
            loosely_close.sort(key=lambda match: _recency(match) if _is_same(match, matches[0]) else 0, reverse=True)
        return _with_corrections(loosely_close[:MAX_LISTED])
    close = [match for match in matches if match.score >= _CLOSE * best][:_MAX_QUOTED]
    if question.kind.answer == "quoted":
        close.sort(key=_place)
    alike = [match for match in matches if _is_alike(match, matches[0])]
    alike += [match for match in matches[1:] if _is_more_of_the_same(question, match, matches[0])][:_MAX_QUOTED]
    chosen = list(dict.fromkeys([*_with_its_message(close, matches), *alike]))
    if all(_is_same(match, matches[0]) for match in chosen):  # statements of the same kind: the newest first
        chosen.sort(key=_recency, reverse=True)
    return _with_corrections(chosen[:_MAX_ALIKE])


def _recency(match: Match) -> int:
    return _age_of(match.entry)[0]


def _is_same(match: Match, best: Match) -> bool:
    return match is best or _is_alike(match, best)


def _nearest_of(question: Question, matches: Sequence[Match]) -> list[Match]:
    """Returns the first few of the search that may be about the question, and those that give other values of the same.

    Those that the search and the learned decision together put first need no word of the question, if they are near its meaning.
    """
    named = _of_the_named(question, matches)
    ranks = {match.entry.memory_id: rank + match.place for rank, match in enumerate(matches)}
    first = sorted(named, key=lambda match: ranks[match.entry.memory_id])[:_FIRST]
    close = [
        match
        for match in sorted(named, key=_place)
        if match.score >= _MIN_NEAR
        or (match in first and match.score >= NEAR and match.cosine >= _MIN_COSINE)
        or speaks_of(question, (match.entry, *match.corrections))
    ][:_MAX_NEAREST]
    brief = [i for i in range(len(close)) if sum(len(m.entry.text.split()) for m in close[: i + 1]) <= _NEAREST_WORDS]
    alike = [match for match in matches if _is_alike(match, close[0])] if close else []
    return list(dict.fromkeys([*close[:1], *(close[i] for i in brief), *alike]))


def _place(match: Match) -> int:
    return match.place


def _is_alike(match: Match, best: Match) -> bool:
    """Returns whether it gives another value of the same: "I am allergic to wasps" with "to nuts", but not "I am tired"."""
    text, best_text = match.entry.text, best.entry.text
    is_related = bool(content(text) & content(best_text)) or exclude_each_other(text, best_text)
    return is_related and share_a_frame(text, best_text) and not give_different_kinds(text, best_text)


def _of_the_named(question: Question, matches: Sequence[Match]) -> Sequence[Match]:
    """Returns the matches that mention somebody whom the question names, or all of them if none does."""
    names = {stem(word) for name in question.names for word in name.split()}
    return [match for match in matches if names & set(stems(match.entry.text))] or matches


def speaks_of(question: Question, entries: Sequence[MemoryEntry]) -> bool:
    """Returns whether the memories have a word of the question or a synonym."""
    words = frozenset(word for entry in entries for word in stems(entry.text))
    return any(meets(stem(word), words) for word in question.words)


def _is_more_of_the_same(question: Question, match: Match, best: Match) -> bool:
    """Returns whether a less probable memory names somebody whom the question and the best memory name: a second allergy."""
    names = {stem(word) for name in question.names for word in name.split()}
    shared = names & set(stems(match.entry.text)) & set(stems(best.entry.text))
    return bool(shared) and match.score >= _MORE_OF_PERSON * best.score


def _with_its_message(chosen: Sequence[Match], matches: Sequence[Match]) -> list[Match]:
    """Returns the best, others from its message, then the rest: the next sentence often has the other half of an answer."""
    best = chosen[0]
    beside = [match for match in matches if match is not best and share_evidence(match.entry, best.entry)]
    same_message = [best, *beside[:_MAX_BESIDE]]
    return [*same_message, *(match for match in chosen if match not in same_message)]


def _with_corrections(chosen: Sequence[Match]) -> list[MemoryEntry]:
    return list(dict.fromkeys(entry for match in chosen for entry in (match.entry, *match.corrections)))
