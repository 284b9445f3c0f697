"""What "forget …" means: the memories that go, and what of them stays."""

import re
from collections.abc import Sequence

from m2a.agents.offline.acts import FORGET
from m2a.agents.offline.clauses import find_subject, segments
from m2a.agents.offline.relevance import entries_of, rests_on
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.text import content, meets, stem, stems
from m2a.memory.quotations import sentence_spans
from m2a.types import Hit, MemoryEntry

_ALL = re.compile(r"\b(?:everything|all|anything)\b", re.IGNORECASE)
_MET = 0.75  # of the words wanted
_NEAR = 0.4  # the cosine from which a memory that is told in other words may be meant
_LEAD = 0.08  # over the next
_ASKING = {
    stem(word)
    for word in "everything anything memory note fact thing bit part message please forget delete mention ask stuff information "
    "info detail entry whole story record told tell say said".split()
}


def what_is_meant(what: str) -> bool:
    """Whether "forget …" names anything; "forget that" means what was said last."""
    return bool(_wanted(what))


def find_forgotten(what: str, hits: Sequence[Hit], previous: Sequence[int], sense: Sense) -> list[MemoryEntry]:
    """The memories that "forget …" means; with nothing named, those of the user's previous message.

    Where none holds the words, the one that comes nearest to their meaning and stands out is meant, if it shares a word.
    """
    wanted, entries = _wanted(what), entries_of(hits)
    if not wanted:
        return [entry for entry in entries if previous and rests_on(entry, previous[:1])]
    held = [entry for entry in entries if _is_of(wanted, entry.text)]
    if held:
        return held
    near = [entry for entry in entries if any(meets(word, frozenset(stems(entry.text))) for word in wanted)]
    rated = sorted(((sense.cosine(what, entry.text), entry.memory_id, entry) for entry in near), reverse=True)
    stands_out = len(rated) == 1 or (len(rated) > 1 and rated[0][0] - rated[1][0] >= _LEAD)
    return [rated[0][2]] if rated and rated[0][0] >= _NEAR and stands_out else []


# It says nothing without the clause that it hangs on.
_LEANS = re.compile(r"(?:in case|because|so that|since|when|if|although|though|while)\b", re.IGNORECASE)


def what_stays(what: str, text: str) -> tuple[str, str]:
    """The clauses of the memory that "forget …" does not mean, and the words of those that it means.

    Both are empty where it means all of the memory.
    """
    wanted = _wanted(what)
    subject = find_subject(text)
    if not wanted or _ALL.search(what) or (subject is not None and wanted <= content(subject.text)):
        return "", ""
    clauses = _clauses(text)
    kept = [(first, last) for first, last in clauses if not _is_of(wanted, text[first:last])]
    if len(kept) == len(clauses) or not all(find_subject(text[first:last]) for first, last in kept):
        return "", ""  # the words lie across the clauses
    gone = [span for span in clauses if span not in kept]
    told = [text[first:last].strip(" .") for first, last in kept if not _LEANS.match(text[first:last])]
    if not told or len(gone) != 1:
        return "", ""
    rest = ". ".join(clause[:1].upper() + clause[1:] for clause in told) + "."
    return rest, text[gone[0][0] : gone[0][1]].strip(" .")


def forgotten_words(what: str, message: str) -> list[str]:
    """The parts of a message that "forget …" means: a clause where the rest of its sentence stands alone, else the sentence."""
    wanted = _wanted(what)
    if not wanted:
        return []
    found = []
    for first, last in sentence_spans(message):
        sentence = message[first:last]
        if not _is_of(wanted, sentence) or FORGET.match(sentence):
            continue
        rest, words = what_stays(what, sentence)
        found.append(words if rest and words in sentence else sentence)
    return found


def _clauses(text: str) -> list[tuple[int, int]]:
    """Where the clauses stand; one without a subject of its own belongs to the one before it."""
    clauses: list[tuple[int, int]] = []
    for first, last in segments(text):
        if clauses and find_subject(text[first:last]) is None:
            clauses[-1] = (clauses[-1][0], last)
        else:
            clauses.append((first, last))
    return clauses


def _wanted(what: str) -> set[str]:
    named = re.split(
        r", (?:he|she|they|i|it|that|because|since|please)(?:'\w+)?\b|[.;!] ", what, maxsplit=1, flags=re.I
    )[0]
    words = content(re.sub(r"^.*?\b(?:about|that)\b", "", named, count=1)) or content(named)
    return words - _ASKING


def _is_of(wanted: set[str], text: str) -> bool:
    said = frozenset(stems(text))
    return sum(meets(word, said) for word in wanted) / len(wanted) >= _MET
