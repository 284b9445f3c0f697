"""The costs of answering: seconds, chat model calls, tokens, and money if the price is known."""

from dataclasses import dataclass
from datetime import date
from typing import Literal


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a reply or of the memory update after it.

    The `seconds` of a reply count from the sending of the message, and so does `first_word`, the time to its first word, which is
    None for an update and for a reply without words. Tokens are None if the server does not count them, and dollars are None
    if the price is unknown.
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
    """The summed costs of replies and updates on one day, or of all days if `day` is None.

    `uncounted` calls without token counts and `unpriced` calls without a price are missing from the sums of tokens and dollars.
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
