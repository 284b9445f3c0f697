"""What a stage of a turn took, as it is kept with the reply."""

from typing import Literal

from m2a.types import Cost, Usage
from models.prices import Price


def cost_of(
    stage: Literal["reply", "update"],
    seconds: float,
    usage: Usage | None,
    price: Price,
    first_word: float | None = None,
) -> Cost:
    """Without a chat model it took only seconds; a price needs both counts of tokens."""
    if usage is None:
        return Cost(stage, seconds, first_word)
    tokens = usage.input_tokens, usage.output_tokens
    dollars = None if tokens[0] is None or tokens[1] is None else price(tokens[0], tokens[1])
    return Cost(stage, seconds, first_word, usage.calls, *tokens, dollars)
