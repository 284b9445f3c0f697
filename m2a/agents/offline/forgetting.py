"""What "forget …" means: the memories that go, and what of them stays."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from m2a.agents.offline.claims import Claim, different_kinds, exclude_each_other, value_words
from m2a.agents.offline.clauses import PRONOUNS, Subject, find_subject, is_past, is_verb, segments
from m2a.agents.offline.corrections import needs_context
from m2a.agents.offline.foreign import asks_to_forget, may_be_meant, names_anything
from m2a.agents.offline.forgotten import Rated, people_in, rate
from m2a.agents.offline.languages import is_english
from m2a.agents.offline.relevance import entries_of, rests_on, together
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.text import content, meets, stems, tokens
from m2a.agents.offline.wishes import all_words, is_forget, wanted_words
from m2a.memory.quotations import sentence_spans
from m2a.types import Hit, MemoryEntry

_ALL = re.compile(r"\b(?:everything|all|anything)\b", re.IGNORECASE)
_MINE = re.compile(r"\W*(?:(?:that |what i said )?about |that |of )?(?:my|our) (?![\w' -]*'s\b)", re.IGNORECASE)
_MET = 0.75  # of the words wanted
# A memory is meant that more likely is than not, and the less sure that is, the more it must stand out: what the logarithms of
# its odds and of its lead over the next one come to. In doubt the user is asked which of those that are `_NEAR` the likeliest.
# Of 75 requests whose memory is not there, 8 delete another outright, and 14 with 2.0 and 0.7; where it is there, 51 and 52
# delete it.
_ENOUGH, _APART, _NEAR, _ASKED = 4.0, 2.5, 3.0, 5
# The least of what shares a word or is near in meaning. Whoever never told it is not asked about their other memories.
_LEAST, _NEAR_IN_MEANING = -3.0, 0.22
_UNREAD = 3  # that are asked about where a request in another language shares no word with any
_IN_OTHER_WORDS = 2.7  # the least where no word is shared
_NONE = re.compile(r"\W*(?:about )?(?:none|neither|nothing|not (?:any|either|one))\b", re.IGNORECASE)
_ASKS_OF = re.compile(r"\b(?:how|who|whom|whose|where|when|why|which)\b", re.IGNORECASE)  # "how much I make"


def forgets_none(what: str) -> bool:
    """Whether "forget …" answers that nothing of what was asked about is to be forgotten: "forget none of them"."""
    return bool(_NONE.match(what))


def what_is_meant(what: str) -> bool:
    """Whether "forget …" names anything; "forget that" means what was said last."""
    return bool(wanted_words(what) or all_words(what) or _ASKS_OF.search(what))


def find_forgotten(what: str, hits: Sequence[Hit], previous: Sequence[int], sense: Sense) -> list[MemoryEntry]:
    """The memories that "forget …" means; with nothing named, those of the user's previous message.

    All of somebody or something is every memory that names them; else the one that surely is meant, if it stands out, with
    what corrects it or gives another value of the same.
    """
    wanted, entries = wanted_words(what), _of_the_owner(what, entries_of(hits))
    just_said = [entry for entry in entries if previous and rests_on(entry, previous[:1])]
    if not what_is_meant(what):
        return just_said
    named = [entry for entry in entries if _is_of(wanted, entry.text)]
    if named and _ALL.search(what):
        return named
    return _standing_out(what, entries, just_said, sense) or [one for one in named if not is_english(one.text)]


def may_be_forgotten(what: str, hits: Sequence[Hit], sense: Sense, *, surely_asks: bool = True) -> list[MemoryEntry]:
    """The memories, likeliest first, that "forget …" may mean where none surely is meant; the user is to say which.

    Where it is not sure that the user asks to forget (`surely_asks`), only where something is likely. In another language that
    is what shares a word with it, or else sounds alike.
    """
    entries, unread = entries_of(hits), asks_to_forget(what)
    if not (names_anything(what) if unread else what_is_meant(what)):
        return []
    if unread:
        shared = may_be_meant(what, entries)
        near = sense.vectors(entry.text for entry in entries) @ sense.vector(what) if entries else []
        return (shared or [entries[place] for place in np.argsort(near)[::-1][:_UNREAD]])[:_ASKED]
    rated = rate(what, _of_the_owner(what, entries) or entries, sense)
    least = max((one.log_odds for one in rated), default=0.0) - _NEAR
    if not surely_asks and least + _NEAR < 0:
        return []
    near = [
        one.entry for one in rated if one.log_odds >= max(least, _LEAST) and (one.log_odds >= 0 or _is_near(what, one))
    ]
    groups = together(entries)  # what corrects another is one statement with it
    with_it = (one for entry in near for group in groups if entry in group for one in (entry, *group))
    return list(dict.fromkeys(with_it))[:_ASKED]


def _is_near(what: str, rated: Rated) -> bool:
    words = frozenset(stems(rated.entry.text))
    return rated.cosine >= _NEAR_IN_MEANING or any(meets(word, words) for word in all_words(what))


def _read(entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    """Those in English: how near another language comes to a request says nothing."""
    return [entry for entry in entries if is_english(entry.text)]


def _of_the_owner(what: str, entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    """Without those of somebody else's where the user's own is to be forgotten: "my PIN" is not "Ellie's PIN"."""
    if not _MINE.match(what) or find_subject(re.sub(r"^\W*that\b", "", what)) is not None:
        return list(entries)
    return [entry for entry in entries if Claim.of(entry.text).owner in ("", "I")]


def _standing_out(
    what: str, entries: Sequence[MemoryEntry], just_said: Sequence[MemoryEntry], sense: Sense
) -> list[MemoryEntry]:
    """The memory that surely is meant, and what goes with it; of two that are near to one another the one that was just said."""
    rated = rate(what, _read(entries), sense)
    if not rated or rated[0].log_odds < 0:
        return []
    best, likelihood = rated[0].entry, rated[0].log_odds
    group = next(group for group in together(entries) if best in group)
    same = [one.entry for one in rated if one.log_odds >= 0 and _gives_another_value(best.text, one.entry.text)]
    rivals = [one for one in rated if one.entry not in (best, *group, *same)]
    lead = likelihood - rivals[0].log_odds if rivals else _APART
    # Of a person of whom more is told, a request that names nothing else of the memory may mean any of it; and one that names
    # something else may mean what was never told: "Tom's salary" is not that Tom has a canoe.
    subject, people = find_subject(best.text), people_in(what)
    of_them = people & content(subject.text) if subject is not None else people
    is_any = rated[0].of_a_person_alone and any(one.of_a_person_alone for one in rivals)
    names_more = rated[0].of_a_person_alone and bool(all_words(what) - people)
    is_unnamed = names_more and (bool(of_them) or likelihood < _IN_OTHER_WORDS)
    if is_any or is_unnamed or lead < _APART or likelihood + lead < _ENOUGH:
        near = [best, *(one.entry for one in rivals if likelihood - one.log_odds < _APART)]
        # "That gossip about the Harrisons" says more of it than that it is of them.
        of_these = [entry for entry in near if entry in just_said and _is_of(all_words(what), entry.text)]
        return of_these if len(of_these) == 1 else []
    # With what corrects it, it is one statement; what tells something else of the same, and stands alone, stays.
    of_it = all_words(what) | _told(best.text)
    tied = [one for one in group if needs_context(one.text, one.text) or _told(one.text) & of_it]
    going = {entry.memory_id: entry for entry in (best, *same, *tied)}
    return [going[memory_id] for memory_id in sorted(going)]


def _gives_another_value(one: str, other: str) -> bool:
    """Whether they tell two values of one thing: "I weigh 81 kilos", "On the scale I weigh 79 kilos"."""
    first, second = Claim.of(one), Claim.of(other)
    of_one = first.owner == second.owner and first.subject_names == second.subject_names
    shared = (first.words & second.words) - value_words(first) - value_words(second)
    return exclude_each_other(one, other) or (of_one and bool(shared) and bool(different_kinds(first, second)))


def _told(text: str) -> set[str]:
    """The stems of what the text says of its subject."""
    subject = find_subject(text)
    return content(subject.rest) if subject is not None else content(text)


# It says nothing without the clause that it hangs on.
_LEANS = re.compile(
    r"(?:in case|because|so that|since|when|if|although|though|while|who|whose|whom|which|where|that)\b", re.IGNORECASE
)
# It speaks of what another clause names: "it's in the seed tin", "his birthday is in April".
_POINTS = re.compile(
    r"\b(?:he|him|his|she|her|hers|they|them|their|theirs|it|its|this|that|these|those|there)(?:'\w+)?\b", re.IGNORECASE
)
_PERSON = re.compile(r"^(?:(?:he|she)\b(?!')|(?P<whose>his|her)\b)", re.IGNORECASE)
# Whom it names is nobody: "nobody knows yet", "everyone was shocked" go on telling of the other clause.
_ANYBODY = re.compile(
    r"(?:only|nobody|no one|none|everybody|everyone|somebody|someone|anybody|anyone|others|most people|people)\b",
    re.IGNORECASE,
)
# It says only that something else was done, or not: "… and hasn't told Mama yet", "… and has since 1970".
_ELLIPTIC = re.compile(
    r"(?:(?:has|have|had|does|do|did|is|are|was|were|will|can|could|would|should)(?:n't| not)\b|"
    r"(?:has|have|had) (?:since|for|been|\w+ed\b)|(?:does|do|did|will|can|could|would|should)\b)",
    re.IGNORECASE,
)


def what_stays(what: str, text: str) -> tuple[str, str]:
    """The clauses of the memory that "forget …" does not mean, and the words of those that it means.

    Both are empty where it means all of the memory.
    """
    wanted = wanted_words(what)
    if not _is_of(wanted, text):  # it is named by some of its words
        wanted = {word for word in all_words(what) if meets(word, frozenset(stems(text)))}
    subject = find_subject(text)
    of_subject = content(subject.text) if subject is not None else set()
    if (
        not wanted
        or _ALL.search(what)
        or (subject is not None and (wanted <= of_subject or _LEANS.match(subject.text)))
    ):
        return "", ""
    clauses = _clauses(text)
    kept = [clause for clause in clauses if not _is_of(wanted, clause.text)]
    if not 0 < len(kept) < len(clauses) or not all(clause.has_subject for clause in kept):
        wanted = wanted - of_subject or wanted  # whose it is tells no clause of the same subject from another
        kept = [clause for clause in clauses if not _is_of(wanted, clause.text)]
    if len(kept) == len(clauses) or not all(clause.has_subject or subject for clause in kept):
        return "", ""  # the words lie across the clauses
    gone = [clause for clause in clauses if clause not in kept]
    kept = [clause.of(subject) for clause in kept if not _LEANS.match(clause.text)]
    if not kept or len(gone) != 1 or not all(_stands_alone(clause, gone[0]) for clause in kept):
        return "", ""
    return ". ".join(one.text[:1].upper() + one.text[1:] for one in kept) + ".", gone[0].text


def _stands_alone(clause: "_Clause", gone: "_Clause") -> bool:
    """Whether it gives nothing away of the clause that goes: it neither speaks of that nor goes on telling of it.

    What happened and is told in one sentence is one story: "she failed the exam and cried in my office".
    """
    if _POINTS.search(clause.text) or _ANYBODY.match(clause.text) or _ELLIPTIC.match(clause.rest):
        return False
    return not (is_past(clause.text) and is_past(gone.text))


def forgotten_words(what: str, message: str) -> list[str]:
    """The parts of a message that "forget …" means: a clause where the rest of its sentence stands alone, else the sentence."""
    wanted = wanted_words(what)
    if not wanted:
        return []
    found = []
    for first, last in sentence_spans(message):
        sentence = message[first:last]
        if not _is_of(wanted, sentence) or is_forget(sentence):
            continue
        rest, words = what_stays(what, sentence)
        found.append(words if rest and words in sentence else sentence)
    return found


@dataclass(frozen=True, slots=True)
class _Clause:
    """One without a subject of its own begins with its verb: it shares that of the first."""

    text: str
    has_subject: bool

    @property
    def rest(self) -> str:
        """What it says of its subject."""
        subject = find_subject(self.text) if self.has_subject else None
        return subject.rest if subject is not None else self.text

    def of(self, subject: Subject | None) -> "_Clause":
        """With the subject that it shares, or that it calls he or she, in its place."""
        if subject is None or self.text.startswith(subject.text):
            return self
        if not self.has_subject:
            return _Clause(f"{subject.text} {self.text}", True)
        named = subject.text if subject.text.lower() not in PRONOUNS else ""
        return replace(
            self, text=_PERSON.sub(lambda he: f"{named}'s" if he["whose"] else named, self.text) if named else self.text
        )


def _clauses(text: str) -> list[_Clause]:
    """What is neither a clause nor begins with a verb belongs to the clause before it, or else to the first."""
    found: list[tuple[int, int, bool]] = []
    for first, last in segments(text):
        words = tokens(text[first:last])
        has_subject = find_subject(text[first:last]) is not None
        if has_subject and len(found) == 1 and not found[0][2]:
            found = [(found[0][0], last, True)]
        elif not found or has_subject or (found[0][2] and len(words) > 1 and is_verb(words[0].text)):
            found.append((first, last, has_subject))
        else:
            found[-1] = (found[-1][0], last, found[-1][2])
    return [_Clause(text[first:last].strip(" ."), has_subject) for first, last, has_subject in found]


def _is_of(wanted: set[str], text: str) -> bool:
    if not wanted:
        return False
    said = frozenset(stems(text))
    return sum(meets(word, said) for word in wanted) / len(wanted) >= _MET
