"""What answering costs: seconds, calls of the chat model, tokens, and money where a price is known."""

from dataclasses import dataclass
from datetime import date
from typing import Literal


@dataclass(frozen=True, slots=True)
class Cost:
    """What a reply took, or the update of the memory after it.

    `seconds` of a reply run from the sending of the message, and `first_word` until its first word; that is None of an
    update, and where no word came. Tokens are None where the server does not count them, dollars where no price is known.
    """

    stage: Literal["reply", "update"]
    seconds: float
    first_word: float | None = None
    calls: int = 0
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    dollars: float | None = None


@dataclass(frozen=True, slots=True)
class CostSum:
    """The costs of several replies and updates; `day` is None where it is the sum of all days.

    `uncounted` of the calls had no count of tokens, `unpriced` no price: those sums are of the others.
    """

    day: date | None
    replies: int
    seconds: float
    calls: int
    input_tokens: int
    output_tokens: int
    dollars: float
    uncounted: int = 0
    unpriced: int = 0
