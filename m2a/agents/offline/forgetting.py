"""What "forget …" means: the memories that go, and what of them stays."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from m2a.agents.offline.claims import Claim
from m2a.agents.offline.clauses import PRONOUNS, Subject, find_subject, is_past, is_verb, segments
from m2a.agents.offline.corrections import leans
from m2a.agents.offline.relevance import entries_of, rests_on, together
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.text import content, meets, plain, stems, tokens
from m2a.agents.offline.wishes import all_words, is_forget, wanted_words, what_is_named
from m2a.memory.quotations import sentence_spans
from m2a.types import Hit, MemoryEntry

_ALL = re.compile(r"\b(?:everything|all|anything)\b", re.IGNORECASE)
# "That about Sam" is one thing that was said of him, and not all.
_ONE_THING = re.compile(r"(?:that|this|it|the (?:thing|bit|part|story|news|matter))\b(?! i\b)", re.IGNORECASE)
_MINE = re.compile(r"\W*(?:(?:that |what i said )?about |that |of )?(?:my|our) (?![\w' -]*'s\b)", re.IGNORECASE)
_MET = 0.75  # of the words wanted
# What a word counts that few of the memories hold, one that says the same, and the likeness of the whole; and by how much one
# must be above the next to be meant.
_WORD, _SYNONYM, _COSINE = 1.0, 0.4, 3.0
_ENOUGH, _LEAD = 0.8, 0.3
# The same for a memory that shares no word with the request, and for one that shares no more than whose thing it is.
_ENOUGH_UNNAMED, _LEAD_UNNAMED, _ENOUGH_OF_THE_OWNER = 0.95, 0.4, 2.5
_ASKS_OF = re.compile(r"\b(?:how|who|whom|whose|where|when|why|which)\b", re.IGNORECASE)  # "how much I make"
_OWNERS = re.compile(r"([\w-]+)'s (?=\w)")


def what_is_meant(what: str) -> bool:
    """Whether "forget …" names anything; "forget that" means what was said last."""
    return bool(wanted_words(what) or all_words(what) or _ASKS_OF.search(what))


def find_forgotten(what: str, hits: Sequence[Hit], previous: Sequence[int], sense: Sense) -> list[MemoryEntry]:
    """The memories that "forget …" means; with nothing named, those of the user's previous message.

    Where none holds all the words, the one that shares what few others hold and is nearest in meaning is meant, if it stands out.
    """
    wanted, entries = wanted_words(what), _of_the_owner(what, entries_of(hits))
    if not what_is_meant(what):
        return [entry for entry in entries if previous and rests_on(entry, previous[:1])]
    held = [entry for entry in entries if wanted and _is_of(wanted, entry.text)]
    if len(held) > 1 and _ONE_THING.match(what):
        just_said = [entry for entry in held if previous and rests_on(entry, previous[:1])]
        # "That gossip about Sam" says more of it than that it is of Sam.
        return just_said if just_said and all_words(what) <= wanted else _standing_out(what, held, sense)
    return held or _standing_out(what, entries, sense)


def may_be_forgotten(what: str, hits: Sequence[Hit], sense: Sense) -> list[MemoryEntry]:
    """The memories, likeliest first, that "forget …" may mean where none surely is meant; the user is to say which."""
    wanted, rated = wanted_words(what), _rated(what, _of_the_owner(what, entries_of(hits)), sense)
    return [
        one.entry
        for one in rated
        if (one.words >= _WORD / 2 or _is_of(wanted, one.entry.text))
        and one.score >= max(_ENOUGH, rated[0].score - _WORD)
    ]


def _of_the_owner(what: str, entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    """Without those of somebody else's where the user's own is to be forgotten: "my PIN" is not "Ellie's PIN"."""
    if not _MINE.match(what) or find_subject(re.sub(r"^\W*that\b", "", what)) is not None:
        return list(entries)
    return [entry for entry in entries if Claim.of(entry.text).owner in ("", "I")]


@dataclass(frozen=True, slots=True)
class _Rated:
    """A memory, how well it agrees with what is to be forgotten, and what of that its words count."""

    entry: MemoryEntry
    words: float
    score: float


def _rated(what: str, entries: Sequence[MemoryEntry], sense: Sense) -> list[_Rated]:
    """The memories, the best first, and of those alike the newest."""
    named, gist = all_words(what), what_is_named(what)
    if _ONE_THING.match(what) and not named <= content(gist):
        gist = what  # "that gossip about Sam" is of the gossip
    words = [content(entry.text) for entry in entries]
    holders = Counter(word for held in words for word in held)
    found = []
    for entry, held in zip(entries, words, strict=True):
        shared = _WORD * sum(1 / holders[word] for word in held & named)
        shared += _SYNONYM * sum(1 / holders[word] for word in held - named if meets(word, named))
        found.append(_Rated(entry, shared, shared + _COSINE * sense.cosine(gist, entry.text)))
    return sorted(found, key=lambda one: (one.score, one.entry.memory_id), reverse=True)


def _standing_out(what: str, entries: Sequence[MemoryEntry], sense: Sense) -> list[MemoryEntry]:
    rated = _rated(what, entries, sense)
    if not rated or rated[0].score < _ENOUGH:
        return []
    best = rated[0].entry
    least, lead = (_ENOUGH, _LEAD) if _names_a_word_of(what, best.text) else (_ENOUGH_UNNAMED, _LEAD_UNNAMED)
    if _speaks_of_the_owner_alone(what, best.text):
        least = _ENOUGH_OF_THE_OWNER
    if rated[0].score < least:
        return []
    group = next(group for group in together(entries) if best in group)
    others = [one.score for one in rated if one.entry not in group]
    if others and rated[0].score - others[0] < lead:
        return []
    # With what corrects it, it is one statement; what tells something else of the same, and stands alone, stays.
    of_it = all_words(what) | _told(best.text)
    return [one for one in group if one is best or leans(one.text, one.text) or _told(one.text) & of_it]


def _names_a_word_of(what: str, text: str) -> bool:
    """Whether the text holds any word of what is named, but for whose it is."""
    return any(meets(word, frozenset(stems(text))) for word in all_words(what) - _owners(what))


def _speaks_of_the_owner_alone(what: str, text: str) -> bool:
    """Whether all that it shares with the request is whose thing is meant: "mum's password" is not all that mum does."""
    said = frozenset(stems(text))
    return not _names_a_word_of(what, text) and any(meets(word, said) for word in _owners(what))


def _owners(what: str) -> set[str]:
    return {word for owner in _OWNERS.findall(plain(what)) for word in content(owner)}


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
