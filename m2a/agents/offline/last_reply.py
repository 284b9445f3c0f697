"""What the reply just before quoted: the user's words, and the memories that they come from."""

import re
from collections.abc import Sequence

from m2a.agents.offline.text import content
from m2a.types import MemoryEntry, Message

_QUOTATION = re.compile(r'"([^"\n]+)"')
_MIN_SHARE = 0.7  # the least share of a memory's words that quotations of it have: a memory says names for pronouns


def quotations(recent: Sequence[Message]) -> list[str]:
    """Returns the user's words that the reply just before quotes, in order; none if the last message is no reply."""
    return _QUOTATION.findall(recent[-1].text) if recent and recent[-1].role == "assistant" else []


def quoted_among(entries: Sequence[MemoryEntry], recent: Sequence[Message]) -> list[MemoryEntry]:
    """Returns those of the memories that the reply just before quotes, in its order."""
    quoted: list[MemoryEntry] = []
    for words in map(content, quotations(recent)):
        quoted += [
            entry
            for entry in entries
            if (own := content(entry.text)) and len(own & words) >= _MIN_SHARE * len(own) and entry not in quoted
        ]
    return quoted
