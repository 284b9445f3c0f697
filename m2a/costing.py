"""Computes the time, tokens and price of one stage of a turn."""

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
    """Returns the cost of a stage: only its seconds without a chat model, and a price only if both token counts are known."""
    if usage is None:
        return Cost(stage, seconds, first_word)
    tokens = usage.input_tokens, usage.output_tokens
    dollars = None if tokens[0] is None or tokens[1] is None else price(tokens[0], tokens[1])
    return Cost(stage, seconds, first_word, usage.calls, *tokens, dollars)
