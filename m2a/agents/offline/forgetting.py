"""What a request to forget means: the memories to delete, and the parts of them to keep."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from m2a.agents.offline.claims import Claim, different_kinds, people_in, value_words
from m2a.agents.offline.clauses import (
    PREPOSITIONS,
    PRONOUNS,
    SUBORDINATORS,
    Subject,
    find_subject,
    is_past,
    may_be_verb,
    segments,
)
from m2a.agents.offline.correction_features import needs_context
from m2a.agents.offline.exclusion import exclude_each_other
from m2a.agents.offline.foreign import asks_to_forget, may_be_meant, names_anything
from m2a.agents.offline.forget_features import Rated, rate
from m2a.agents.offline.languages import is_english
from m2a.agents.offline.memory_requests import content_of_request, opens_with_forget, wanted_words, what_is_named
from m2a.agents.offline.names import find_names
from m2a.agents.offline.relevance import correction_groups, entries_of
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.text import content, has_equivalent, stems, tokens
from m2a.agents.offline.values import find_values, has_identifier, is_measure
from m2a.memory.quotations import sentence_spans
from m2a.types import Hit, MemoryEntry

_ALL = re.compile(r"\b(?:everything|all|anything)\b", re.IGNORECASE)
_MINE = re.compile(r"\W*(?:(?:that |what i said )?about |that |of )?(?:my|our) (?![\w' -]*'s\b)", re.IGNORECASE)
_MIN_SHARE = 0.75  # the least share of the wanted words that a text about them has
# A memory is meant if that is more likely than not (log-odds of 0); the lower its log-odds, the larger its lead over the next
# one must be, so that they add up to `_MIN_TOTAL`. Otherwise the user chooses among those within `_NEAR` of the likeliest.
# With these values, of 75 requests whose memory does not exist, 8 delete another one outright, and of those whose memory
# exists, 51 delete it. With a total of 2.0 and a lead of 0.7, 14 and 52 did.
_MIN_TOTAL, _MIN_LEAD, _NEAR, _MAX_OFFERED = 4.0, 2.5, 3.0, 5
# The minima to be offered, so that a user who never told such a thing is not asked about other memories.
_MIN_LOG_ODDS, _MIN_COSINE = -3.0, 0.22
_MAX_UNREAD = 3  # memories offered if a request in another language shares no word with any
_IN_OTHER_WORDS = 2.6  # the least log-odds if no word is shared
_NONE = re.compile(r"\W*(?:about )?(?:none|neither|nothing|not (?:any|either|one))\b", re.IGNORECASE)
# "That last thing I told you": the previous message, unless it goes on with "about …".
_LAST_MESSAGE = re.compile(
    r"\b(?:my|the|that|this|what)(?: very)? (?:last|previous) (?:\w+ )?(?:thing|bit|part|one|line|message|sentence|"
    r"statement|remark|comment|confession|note|entry|text)\b(?!.*\b(?:about|regarding|concerning)\b)",
    re.IGNORECASE,
)
# Verbs that tell no memories apart elsewhere: "what I said about Shona moving" is not that she has a daughter.
_CHANGING = frozenset(stems("move change switch call"))
_QUESTION_WORD = re.compile(r"\b(?:how|who|whom|whose|where|when|why|which)\b", re.IGNORECASE)  # "how much I make"


def forgets_none(request: str) -> bool:
    """Returns whether the user wants none of the offered memories forgotten: "forget none of them"."""
    return bool(_NONE.match(request))


def names_something(request: str) -> bool:
    """Returns whether the request names what to forget: "forget that" and "that last thing" only mean the previous message."""
    if _LAST_MESSAGE.search(request):
        return False
    return bool(content_of_request(request) or _QUESTION_WORD.search(request))


def find_forgotten(request: str, hits: Sequence[Hit], previous: int | None, sense: Sense) -> list[MemoryEntry]:
    """Returns the memories that the request means; if it names nothing, those of the user's previous message.

    "Everything about …" means every memory that names the person or thing; otherwise it is the one memory that clearly stands
    out, with its corrections and those that give another value of the same.
    """
    entries = _of_the_user(request, entries_of(hits))
    just_told = [entry for entry in entries if previous is not None and entry.rests_on_message(previous)]
    if not names_something(request):
        return just_told
    wanted = wanted_words(request)
    about = [entry for entry in entries if _is_about(wanted, entry.text)]
    if about and _ALL.search(request):
        return [entry for group in correction_groups(entries) if not set(about).isdisjoint(group) for entry in group]
    return _standing_out(request, entries, just_told, sense) or [entry for entry in about if not is_english(entry.text)]


def may_be_forgotten(request: str, hits: Sequence[Hit], sense: Sense, *, surely_asks: bool) -> list[MemoryEntry]:
    """Returns the memories, likeliest first, among which the user is to choose if the request means none for sure.

    If it is uncertain that the user asks to forget (not `surely_asks`), the likeliest must be more likely meant than not.
    In another language these are the memories that share a word with the request, or else the nearest in meaning.
    """
    entries, is_foreign = entries_of(hits), asks_to_forget(request)
    if not entries or not (names_anything(request) if is_foreign else names_something(request)):
        return []
    if is_foreign:
        return may_be_meant(request, entries)[:_MAX_OFFERED] or _nearest(request, entries, sense)
    rated = rate(request, _of_the_user(request, entries) or entries, sense)
    best = rated[0].log_odds
    if not surely_asks and best < 0:
        return []
    minimum = max(_MIN_LOG_ODDS, best - _NEAR)
    likely = [each for each in rated if each.log_odds >= minimum and (each.log_odds >= 0 or _is_near(request, each))]
    groups = correction_groups(entries)  # a memory and its corrections are one statement
    complete = (member for each in likely for group in groups if each.entry in group for member in (each.entry, *group))
    return list(dict.fromkeys(complete))[:_MAX_OFFERED]


def _is_near(request: str, rated: Rated) -> bool:
    """Returns whether the memory has a word of the request, or is near to it in meaning."""
    words = stems(rated.entry.text)
    return rated.cosine >= _MIN_COSINE or any(has_equivalent(word, words) for word in content_of_request(request))


def _nearest(request: str, entries: Sequence[MemoryEntry], sense: Sense) -> list[MemoryEntry]:
    cosines = sense.vectors(entry.text for entry in entries) @ sense.vector(request)
    return [entries[place] for place in np.argsort(cosines)[::-1][:_MAX_UNREAD]]


def _of_the_user(request: str, entries: Sequence[MemoryEntry]) -> Sequence[MemoryEntry]:
    """Returns the entries without other people's things if the request is about the user's own: "my PIN", not "Ellie's PIN"."""
    if not _MINE.match(request) or find_subject(re.sub(r"^\W*that\b", "", request)) is not None:
        return entries
    return [entry for entry in entries if Claim.of(entry.text).owner in ("", "I")]


def _standing_out(
    request: str, entries: Sequence[MemoryEntry], just_told: Sequence[MemoryEntry], sense: Sense
) -> list[MemoryEntry]:
    """Returns the memory that is surely meant, with those linked to it; among close rivals, the one that was just told."""
    # Similarity across languages says nothing.
    rated = rate(request, [entry for entry in entries if is_english(entry.text)], sense)
    if not rated or rated[0].log_odds < 0:
        return []
    best, log_odds = rated[0].entry, rated[0].log_odds
    group = next(group for group in correction_groups(entries) if best in group)
    other_values = [
        each.entry for each in rated if each.log_odds >= 0 and _gives_another_value(best.text, each.entry.text)
    ]
    rivals = [each for each in rated if each.entry not in (best, *group, *other_values)]
    lead = log_odds - rivals[0].log_odds if rivals else _MIN_LEAD
    # A request that only names a person may mean any memory about them; one that also names something else may mean what was
    # never told: "Tom's salary" is not the memory that Tom has a canoe.
    subject, people = find_subject(best.text), people_in(request)
    subject_people = people & content(subject.text) if subject is not None else people
    may_be_any = rated[0].of_a_person_alone and any(each.of_a_person_alone for each in rivals)
    names_more = rated[0].of_a_person_alone and bool(content_of_request(request) - people)
    is_unnamed = names_more and (bool(subject_people) or log_odds < _IN_OTHER_WORDS)
    if may_be_any or is_unnamed or lead < _MIN_LEAD or log_odds + lead < _MIN_TOTAL:
        near = [best, *(each.entry for each in rivals if log_odds - each.log_odds < _MIN_LEAD)]
        if verbs := _CHANGING & set(stems(what_is_named(request))):
            near = [entry for entry in near if not verbs.isdisjoint(stems(entry.text))]
            return near if len(near) == 1 else []
        # "That gossip about the Harrisons" names more than the Harrisons.
        just_told_near = [
            entry for entry in near if entry in just_told and _is_about(content_of_request(request), entry.text)
        ]
        return just_told_near if len(just_told_near) == 1 else []
    # Its corrections go too, except those that are complete in themselves and say something else about the subject.
    topic = content_of_request(request) | content(_predicate(best.text))
    linked = [
        entry for entry in group if needs_context(entry.text, entry.text) or content(_predicate(entry.text)) & topic
    ]
    return sorted({best, *other_values, *linked}, key=lambda entry: entry.memory_id)


def _gives_another_value(text: str, other: str) -> bool:
    """Returns whether they give two values of one thing: "I weigh 81 kilos", "On the scale I weigh 79 kilos"."""
    first, second = Claim.of(text), Claim.of(other)
    same_subject = first.owner == second.owner and first.subject_names == second.subject_names
    shared = (first.words & second.words) - value_words(first) - value_words(second) - first.subject_names
    return exclude_each_other(text, other) or (same_subject and bool(shared) and bool(different_kinds(first, second)))


def _predicate(text: str) -> str:
    """Returns what the text says about its subject, or the whole text if it has none."""
    subject = find_subject(text)
    return subject.rest if subject is not None else text


_SUBORDINATE = re.compile(
    r"(?:in case|because|so that|since|when|if|although|though|while|who|whose|whom|which|where|that)\b", re.IGNORECASE
)
# Words that refer to another clause: "it's in the seed tin", "his birthday is in April".
_PRONOUN = re.compile(
    r"\b(?:he|him|his|she|her|hers|they|them|their|theirs|it|its|this|that|these|those|there)\b", re.IGNORECASE
)
_OWNED_BY = re.compile(r"(?P<owner>(?:[Mm]y |[Oo]ur )?(?:[\w-]+ )?[\w-]+)'s ")
_HE_OR_SHE = re.compile(r"^(?:(?:he|she)\b(?!')|(?P<whose>his|her)\b)", re.IGNORECASE)
# Subjects that name no one in particular: "nobody knows yet" and "everyone was shocked" continue the other clause.
_NOBODY_IN_PARTICULAR = re.compile(
    r"(?:only|nobody|no one|none|everybody|everyone|somebody|someone|anybody|anyone|others|most people|people)\b",
    re.IGNORECASE,
)
# Predicates that need another clause: "… and hasn't told Mama yet", "… and has since 1970".
_ELLIPTIC = re.compile(
    r"(?:has|have|had|does|do|did|is|are|was|were|will|can|could|would|should)(?:n't| not)\b|"
    r"(?:has|have|had) (?:since|for|been|\w+ed\b)|(?:does|do|did|will|can|could|would|should)\b",
    re.IGNORECASE,
)

_TELLING = frozenset(stems("know tell say mention hear see yet either though too"))


def what_stays(request: str, text: str) -> tuple[str, str]:
    """Returns the clauses of the memory that the request does not mean, and the words of the clause that it means.

    Both are empty if it means all of the memory, or if nothing can safely be kept.
    """
    wanted = wanted_words(request)
    if not _is_about(wanted, text):  # the request names it by some of its words
        wanted = {word for word in content_of_request(request) if has_equivalent(word, stems(text))}
    subject = find_subject(text)
    subject_words = content(subject.text) if subject is not None else set()
    clauses = _clauses(text)
    has_other_subject = any(clause.subject_words - subject_words == clause.subject_words != set() for clause in clauses)
    has_other_subject |= _OWNED_BY.match(text) is not None and any(_HE_OR_SHE.match(clause.text) for clause in clauses)
    names_all = not wanted & content(text) or (wanted <= subject_words and not has_other_subject)  # "the family stuff"
    if names_all or _ALL.search(request):
        return "", ""
    kept = [clause for clause in clauses if not _is_about(wanted, clause.text)]
    if not 0 < len(kept) < len(clauses) or not all(clause.has_subject or clause.is_detail for clause in kept):
        # Neither the subject nor a name tells the clauses apart: "Stevo's number" of "The van man is Stevo, number 0142".
        wanted = wanted - subject_words - content(" ".join(find_names(text)))
        kept = [clause for clause in clauses if not _is_about(wanted, clause.text)]
    if not all(clause.has_subject or clause.is_detail or subject for clause in kept):
        return "", ""
    forgotten = [clause for clause in clauses if clause not in kept]  # none if the words are spread over several
    if len(forgotten) != 1 or any(clause.is_detail and _main(clause, clauses) not in kept for clause in kept):
        return "", ""
    place = clauses.index(forgotten[0])
    kept = [
        clause.with_subject(subject) for clause in clauses if clause in kept and not _SUBORDINATE.match(clause.text)
    ]
    later = [clause.with_subject(subject) for clause in clauses[place + 1 :]]
    if not kept or not all(_reveals_nothing(clause, forgotten[0], follows=clause in later) for clause in kept):
        return "", ""
    rest = "".join(
        f", {each.text}" if each.is_detail and each is not kept[0] else f". {each.text[:1].upper()}{each.text[1:]}"
        for each in kept
    )
    return rest.removeprefix(". ") + ".", forgotten[0].text


def _main(detail: "_Clause", clauses: Sequence["_Clause"]) -> "_Clause":
    """Returns the clause that the detail belongs to: the last one before it that is no detail, or itself if there is none."""
    return next((each for each in reversed(clauses[: clauses.index(detail)]) if not each.is_detail), detail)


def _reveals_nothing(clause: "_Clause", forgotten: "_Clause", *, follows: bool) -> bool:
    """Returns whether the clause reveals nothing about the one that is forgotten: it neither refers to it nor continues it.

    Only a clause that `follows` it refers to it. Two past events in one sentence are one story: "she failed the exam and cried
    in my office". A measure of its own is another.
    """
    if (follows and _PRONOUN.search(clause.text)) or _NOBODY_IN_PARTICULAR.match(clause.text):
        return False
    predicate = _predicate(clause.text)
    if _ELLIPTIC.match(predicate):  # "I can't have lactose" is complete after "Tom is allergic to nuts"
        subject, its_subject = find_subject(clause.text), find_subject(forgotten.text)
        of_another = subject is not None and its_subject is not None and subject.text != its_subject.text
        if not (of_another and content(predicate) - _TELLING):
            return False
    has_measure = clause.has_subject and any(is_measure(value.kind) for value in find_values(clause.text))
    return has_measure or not (is_past(clause.text) and is_past(forgotten.text))


def forgotten_words(request: str, message: str) -> list[str]:
    """Returns the parts of a message that the request means: a clause if the rest of its sentence can stay, or the sentence."""
    wanted = wanted_words(request)
    parts = []
    for first, last in sentence_spans(message):
        sentence = message[first:last]
        if not _is_about(wanted, sentence) or opens_with_forget(sentence):
            continue
        rest, words = what_stays(request, sentence)
        parts.append(words if rest else sentence)
    return parts


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause of a memory. One without a subject begins with its verb and shares the subject of the first.

    A detail has neither, but a value: "My dentist is Dr Faure, next appointment 9 January". It belongs to the clause before it.
    """

    text: str
    has_subject: bool
    is_detail: bool = False

    @property
    def subject_words(self) -> set[str]:
        """The stems of its own subject, none if it has none or a pronoun."""
        subject = find_subject(self.text) if self.has_subject else None
        return content(subject.text) if subject is not None else set()

    def with_subject(self, subject: Subject | None) -> "_Clause":
        """Returns the clause with the subject that it shares, or with the subject in place of "he", "she", "his" or "her"."""
        if subject is None or self.is_detail or self.text.startswith(subject.text):
            return self
        if not self.has_subject:
            return _Clause(f"{subject.text} {self.text}", True)
        if subject.text.lower() in PRONOUNS:
            return self
        owner = _OWNED_BY.match(subject.text)  # "Maureen's number is 0142, and she prefers to be rung before six"
        name = owner["owner"] if owner is not None else subject.text
        return _Clause(_HE_OR_SHE.sub(lambda match: f"{name}'s" if match["whose"] else name, self.text), True)


def _clauses(text: str) -> list[_Clause]:
    """Returns the clauses; a segment without a subject, a verb to begin with, or a value belongs to the one before it."""
    spans: list[tuple[int, int, bool, bool]] = []
    for first, last in segments(text):
        words = tokens(text[first:last])
        has_subject = find_subject(text[first:last]) is not None
        is_detail = not has_subject and _is_detail(text[first:last])
        if has_subject and len(spans) == 1 and not any(spans[0][2:]):
            spans = [(spans[0][0], last, True, False)]
        elif not spans or has_subject or is_detail or (spans[0][2] and len(words) > 1 and may_be_verb(words[0].text)):
            spans.append((first, last, has_subject, is_detail))
        else:
            spans[-1] = (spans[-1][0], last, *spans[-1][2:])
    return [_Clause(text[first:last].strip(" ."), *flags) for first, last, *flags in spans]


def _is_detail(segment: str) -> bool:
    """Returns whether a segment without a subject gives a value of something that it names: "manuscript number LO-26"."""
    words = tokens(segment)
    opens = len(words) > 1 and not (
        words[0].lower in PREPOSITIONS | SUBORDINATORS or may_be_verb(words[0].text) or words[0].text[0].isdigit()
    )
    return opens and (has_identifier(segment) or any(is_measure(value.kind) for value in find_values(segment)))


def _is_about(wanted: set[str], text: str) -> bool:
    """Returns whether the text has most of the wanted words, or words of the same meaning."""
    if not wanted:
        return False
    words = stems(text)
    return sum(has_equivalent(word, words) for word in wanted) / len(wanted) >= _MIN_SHARE
