"""Counts with the singular or plural of their noun, and lists in words."""

from collections.abc import Mapping, Sequence

_COUNTED: Mapping[str, tuple[str, str]] = {
    "conversations": ("conversation", "conversations"),
    "messages": ("message", "messages"),
    "memories": ("memory", "memories"),
    "memories to review": ("memory that waits for your review", "memories that wait for your review"),
    "photos": ("photo", "photos"),
    "captions": ("caption", "captions"),
    "names": ("name", "names"),
    "rewritten messages": ("other message in part", "other messages in part"),
    "index records": ("entry in the search index", "entries in the search index"),
}


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """Returns a count with its noun, such as "1 memory" or "2,000 memories"."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def joined(parts: Sequence[str]) -> str:
    """Returns the parts as a list in words, such as "a, b and c"."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def counted(counts: Mapping[str, int]) -> str:
    """Returns the counts of an erasure in words, such as "2 messages, 1 memory and 1 photo"."""
    return joined([plural(counts[kind], *nouns) for kind, nouns in _COUNTED.items() if kind in counts])
