"""The owner's rule for when memories are written."""

from dataclasses import dataclass, field
from typing import Literal

# Categories that can be excluded from the memory: card numbers, passwords and keys, bank accounts, e-mail addresses.
Category = Literal["cards", "secrets", "accounts", "emails"]


@dataclass(frozen=True, slots=True)
class MemoryRule:
    """Memories are written at once, or wait for review (`after_review`). The categories in `never` are not written."""

    after_review: bool = False
    never: frozenset[Category] = field(default_factory=lambda: frozenset[Category](("cards", "secrets")))
