"""Which memory a correction means: a learned decision."""

import re
from collections.abc import Mapping, Sequence

from m2a.agents.offline.change_words import TAKES_BACK
from m2a.agents.offline.contradictions import features_of
from m2a.agents.offline.relevance import entries_of
from m2a.agents.offline.replacements import Target, replacement
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.statements import Observation
from m2a.agents.offline.text import content
from m2a.types import Concept, Hit, MemoryEntry

# One that is missed stays beside the new memory with its date, so that both are found; one that is taken wrongly is gone.
ENOUGH = 0.4
# What is said to come on top takes nothing's place.
_ADDS = re.compile(r"\b(?:also|too|(?<!to )(?<!in )another|as well|one more|besides|second)\b", re.IGNORECASE)


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
    return replacement(observation.text, best[-1], sense) if best is not None else None


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
