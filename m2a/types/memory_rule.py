"""When memories are written, as their owner wants it."""

from dataclasses import dataclass, field
from typing import Literal

# What may be kept out of the memory: card numbers, passwords and keys, bank accounts, e-mail addresses.
Category = Literal["cards", "secrets", "accounts", "emails"]


@dataclass(frozen=True, slots=True)
class MemoryRule:
    """Memories are written at once or wait for a review; those of the categories in `never` are not written."""

    after_review: bool = False
    never: frozenset[Category] = field(default_factory=lambda: frozenset[Category](("cards", "secrets")))
