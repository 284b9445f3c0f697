"""Which memory a correction means: a learned decision."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from m2a.agents.offline.change_words import TAKES_BACK
from m2a.agents.offline.clauses import sentences
from m2a.agents.offline.contradictions import features_of
from m2a.agents.offline.names import find_names
from m2a.agents.offline.relevance import entries_of
from m2a.agents.offline.replacements import Target, replacement
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.statements import Observation, leans, standing_alone
from m2a.agents.offline.text import content
from m2a.types import Concept, Hit, MemoryEntry

# One that is missed stays beside the new memory with its date, so that both are found; one that is taken wrongly is gone.
ENOUGH = 0.4
# What is said to come on top takes nothing's place.
_ADDS = re.compile(
    r"\b(?:also|too(?=\W*(?:$|[,.;!?)]))|(?<!to )(?<!in )another|as well|one more|besides|a second(?![ -]hand))\b",
    re.IGNORECASE,
)


def find_target(
    observation: Observation,
    said: str,
    hits: Sequence[Hit],
    newest: Sequence[int],
    concepts: Sequence[Concept],
    sense: Sense,
) -> Target | None:
    """The memory that the observation contradicts, or None. `said` is the message that it is from, `newest` the ids of
    the newest user messages, last first."""
    if _ADDS.search(observation.text) and not TAKES_BACK.search(said):
        return None
    model = sense.models["contradicts"]
    entries = [entry for entry in entries_of(hits) if content(entry.text) != content(observation.text)]
    found = features_of(observation, said, entries, newest, concepts, sense)
    rated = [
        (not _says_it_already(features), model.probability(features), entry.memory_id, entry)
        for entry, features in zip(entries, found, strict=True)
    ]
    best = max((one for one in rated if one[1] >= ENOUGH), default=None)
    if best is None:
        return None
    entry = best[-1]
    parts = sentences(entry.text)
    named = [replace(entry, text=_by_name(part, parts[:index], concepts)) for index, part in enumerate(parts)]
    of_parts = features_of(observation, said, named, newest, concepts, sense)
    chances = [model.probability(features) for features in of_parts]
    return replacement(observation.text, entry, _still_true(parts, chances))


def _by_name(part: str, before: Sequence[str], concepts: Sequence[Concept]) -> str:
    """The sentence with a name for its first pronoun, if only the last one named."""
    named = standing_alone(part, before, concepts)
    names = find_names(" ".join(before))
    return re.sub(r"^(?:he|she|they)\b", names[-1], part, flags=re.IGNORECASE) if named == part and names else named


def _still_true(parts: Sequence[str], chances: Sequence[float]) -> list[str]:
    """The sentences of a contradicted memory that hold: not the likeliest to be meant, nor one that leans on a fallen one."""
    held: list[str] = []
    fallen = False
    for part, chance in zip(parts, chances, strict=True):
        fallen = chance >= min(ENOUGH, max(chances)) or (fallen and leans(part))
        if not fallen:
            held.append(part)
    return held


def _says_it_already(features: Mapping[str, float]) -> bool:
    """ "His ball is red" mends the blue ball, and not the frisbee that is red already."""
    return bool(features["the same value"]) and not features["another value"]


def is_known(observation: Observation, hits: Sequence[Hit]) -> bool:
    """Whether a memory says the same already."""
    words = content(observation.text)
    for hit in hits:
        if isinstance(hit.record, MemoryEntry) and hit.record.kind != "update record":
            known = content(hit.record.text)
            if words == known or (
                words and words < known and hit.record.text.casefold().startswith(observation.text.casefold()[:-1])
            ):
                return True
    return False
