"""Counts with the singular or plural of their noun."""

from collections.abc import Mapping

_COUNTED: Mapping[str, tuple[str, str]] = {
    "conversations": ("conversation", "conversations"),
    "messages": ("message", "messages"),
    "memories": ("memory", "memories"),
    "photos": ("photo", "photos"),
    "captions": ("caption", "captions"),
    "names": ("name", "names"),
    "rewritten messages": ("other message in part", "other messages in part"),
    "index records": ("entry in the search index", "entries in the search index"),
}


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """Returns a count with its noun, such as "1 memory" or "2,000 memories"."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def counted(counts: Mapping[str, int]) -> str:
    """Returns the counts of an erasure in words, such as "2 messages, 1 memory and 1 photo"."""
    parts = [plural(counts[kind], *nouns) for kind, nouns in _COUNTED.items() if kind in counts]
    return " and ".join(", ".join(parts).rsplit(", ", 1)) if len(parts) > 1 else "".join(parts)
