"""The prices of calls in dollars. An unknown price is None, never 0."""

from collections.abc import Callable

Price = Callable[[int, int], float | None]


def unknown(input_tokens: int, output_tokens: int) -> float | None:
    """Returns None, the price of models on the user's own server, in this process or in no price list."""
    return None


def per_million(input_price: float, output_price: float) -> Price:
    """Returns a price from dollars per million input and output tokens."""
    return lambda input_tokens, output_tokens: (input_tokens * input_price + output_tokens * output_price) / 1_000_000


def price_of(chat_model: str | None, base_url: str | None) -> Price:
    """Returns the provider's list price of `provider:name`, by input and output tokens."""
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
