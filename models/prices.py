"""What calls cost, in dollars, where that is known. Unknown is None, never 0."""

from collections.abc import Callable

Price = Callable[[int, int], float | None]


def unknown(input_tokens: int, output_tokens: int) -> float | None:
    """Of a server of one's own, of a model in this process, and of a model that no price list names."""
    return None


def per_million(input_price: float, output_price: float) -> Price:
    """A price given in dollars per million tokens of input and of output."""
    return lambda input_tokens, output_tokens: (input_tokens * input_price + output_tokens * output_price) / 1_000_000


def price_of(chat_model: str | None, base_url: str | None) -> Price:
    """The list price of `provider:name` at its provider, by tokens of input and of output."""
    if chat_model is None or base_url is not None:
        return unknown
    provider, _, model = chat_model.partition(":")

    def price(input_tokens: int, output_tokens: int) -> float | None:
        from genai_prices import Usage, calc_price

        try:
            priced = calc_price(
                Usage(input_tokens=input_tokens, output_tokens=output_tokens), model_ref=model, provider_id=provider
            )
        except LookupError:
            return None
        return float(priced.total_price)

    return price
