"""The costs of a run, and the budget that stops it."""

from dataclasses import dataclass, field

from data_synthesis.group import SynthesisError
from models.prices import Price


class BudgetReachedError(SynthesisError):
    """No further call may begin. The answers so far are kept; the run ends properly and can be resumed."""


@dataclass(slots=True)
class Costs:
    """The sums over all answers of a run, including those of earlier processes. An unknown `price` is None, never 0.

    `budget` is in dollars, for the whole run.
    """

    price: Price | None = None
    budget: float | None = None
    answers: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    uncounted: int = 0
    """Answers whose tokens the server did not count."""
    spent: float | None = field(init=False)
    _highest_cost: float = 0.0
    _in_flight: int = 0

    def __post_init__(self) -> None:
        self.spent = None if self.price is None else 0.0
        if self.budget is not None and self.price is None:
            raise SynthesisError(
                "The price of the chat model is not known, so --budget cannot be kept. Set it with --price, "
                "in dollars per million tokens of input and of output."
            )

    @property
    def cost_is_unknown(self) -> bool:
        """Whether there is a budget but no call has shown yet what a call costs. The first call must then run alone."""
        return self.budget is not None and not self.answers

    def begin(self) -> None:
        """Records the start of a call.

        Raises BudgetReachedError if a call that costs as much as the most expensive one so far could exceed the budget.
        """
        if self.budget is not None and self.uncounted:
            raise BudgetReachedError(
                "The server does not count its tokens, so the budget cannot be kept. Without --budget the run continues."
            )
        if self.budget is not None and self.spent is not None:
            highest = self.spent + self._highest_cost * (self._in_flight + 1)
            if self.spent >= self.budget or highest > self.budget:
                raise BudgetReachedError(
                    f"The budget of ${self.budget:g} does not allow another call. Resume the run with a larger one."
                )
        self._in_flight += 1

    def end(self) -> None:
        """Records the end of a call, whether it succeeded or failed."""
        self._in_flight -= 1

    def add(self, input_tokens: int | None, output_tokens: int | None) -> None:
        """Counts an answer."""
        self.answers += 1
        self.input_tokens += input_tokens or 0
        self.output_tokens += output_tokens or 0
        if input_tokens is None or output_tokens is None:
            self.uncounted += 1
            return
        cost = self.price(input_tokens, output_tokens) if self.price else None
        if cost is not None and self.spent is not None:
            self.spent += cost
            self._highest_cost = max(self._highest_cost, cost)

    def __str__(self) -> str:
        if not self.answers:
            return "no calls"
        if self.spent is None:
            tokens = f"{self.input_tokens} + {self.output_tokens} tokens"
            return f"{tokens}, price not known" + (" (some not counted)" if self.uncounted else "")
        return f"${self.spent:.4f}" + (" or more: some tokens were not counted" if self.uncounted else "")
