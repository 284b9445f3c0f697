"""What "forget …" means: the memories that go, and what of them stays."""

import re
from collections.abc import Sequence

from m2a.agents.offline.clauses import find_subject, segments
from m2a.agents.offline.relevance import entries_of, rests_on
from m2a.agents.offline.text import content, meets, stem, stems
from m2a.types import Hit, MemoryEntry

_ALL = re.compile(r"\b(?:everything|all|anything)\b", re.IGNORECASE)
_MET = 0.75  # of the words wanted
_ASKING = {
    stem(word)
    for word in "everything anything memory note fact thing bit part message please forget delete mention ask".split()
}


def find_forgotten(what: str, hits: Sequence[Hit], previous: Sequence[int]) -> list[MemoryEntry]:
    """The memories that "forget …" means; with nothing named, those of the user's previous message."""
    wanted, entries = _wanted(what), entries_of(hits)
    if not wanted:
        return [entry for entry in entries if previous and rests_on(entry, previous[:1])]
    return [entry for entry in entries if _is_of(wanted, entry.text)]


# It says nothing without the clause that it hangs on.
_LEANS = re.compile(r"(?:in case|because|so that|since|when|if|although|though|while)\b", re.IGNORECASE)


def what_stays(what: str, text: str) -> str:
    """The clauses of the memory that "forget …" does not mean; empty where it means all of it."""
    wanted = _wanted(what)
    if not wanted or _ALL.search(what):
        return ""
    clauses: list[str] = []
    done = 0
    for start, end in segments(text):
        part = text[start:end]
        if clauses and find_subject(part) is None:  # it has its subject from the clause before it
            clauses[-1] += text[done:start] + part
        else:
            clauses.append(part)
        done = end
    kept = [clause.strip(" .") for clause in clauses if not _is_of(wanted, clause)]
    if len(kept) == len(clauses) or not all(find_subject(clause) for clause in kept):
        return ""  # the words lie across the clauses
    kept = [clause for clause in kept if not _LEANS.match(clause)]
    return ". ".join(clause[:1].upper() + clause[1:] for clause in kept) + "." if kept else ""


def _wanted(what: str) -> set[str]:
    words = content(re.sub(r"^.*?\b(?:about|that)\b", "", what, count=1)) or content(what)
    return words - _ASKING


def _is_of(wanted: set[str], text: str) -> bool:
    said = frozenset(stems(text))
    return sum(meets(word, said) for word in wanted) / len(wanted) >= _MET
