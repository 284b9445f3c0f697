"""The time and cost of an answer, and of each day, as HTML."""

from collections.abc import Sequence
from datetime import date

from m2a.types import Cost, CostSum
from m2a.ui import markup

_STAGES = {"reply": "The answer", "update": "What I remembered"}
_NO_MODEL = "No language model was used."


def cost_html(costs: Sequence[Cost], *, key: str) -> str:
    """Returns the collapsible table below an answer: its seconds and, if a chat model was called, calls, tokens and cost."""
    if not costs:
        return ""
    calls = sum(cost.calls for cost in costs)
    rows = [
        ("First word", [_seconds(cost.first_word) for cost in costs]),
        ("Total", [_seconds(cost.seconds) for cost in costs]),
    ]
    if calls:
        rows += [
            ("Model calls", [str(cost.calls) for cost in costs]),
            ("Tokens in", [_tokens(cost.input_tokens, cost.calls) for cost in costs]),
            ("Tokens out", [_tokens(cost.output_tokens, cost.calls) for cost in costs]),
            ("Cost", [money(cost.dollars, cost.calls) for cost in costs]),
        ]
    head = "".join(f'<th scope="col">{_STAGES[cost.stage]}</th>' for cost in costs)
    body = "".join(
        f'<tr><th scope="row">{name}</th>{"".join(f"<td>{value}</td>" for value in values)}</tr>'
        for name, values in rows
    )
    note = "The cost is the provider’s list price." if calls else _NO_MODEL
    return (
        f'<details class="m-details m-cost" data-key="{markup.text(key)}-cost"><summary>Cost and time '
        f"<span>· {_seconds(costs[0].seconds)}</span></summary>"
        f'<table class="m-table"><tr><td></td>{head}</tr>{body}</table><p class="m-when">{note}</p></details>'
    )


def days_html(days: Sequence[CostSum], total: CostSum, *, today: date) -> str:
    """Returns the sums by day, newest first, and the total. Without a chat model it shows answers and seconds only."""
    if not total.replies and not total.calls:
        return (
            "<p>Nothing yet. Once I have answered something, you will see here how long my answers took and what they cost, "
            "day by day.</p>"
        )
    with_model = total.calls > 0
    names = ["Day", "Answers", "Time"] + (["Calls", "Tokens in", "Tokens out", "Cost"] if with_model else [])
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(_row(markup.day_name(costs.day, today), costs, with_model) for costs in days if costs.day)
    notes = [] if with_model else [_NO_MODEL]
    if total.uncounted:
        notes.append(
            f"{markup.plural(total.uncounted, 'call')} reported no tokens and {_is_are(total.uncounted)} not included."
        )
    if total.unpriced:
        notes.append(
            f"{markup.plural(total.unpriced, 'call')} had no known price and {_is_are(total.unpriced)} not included."
        )
    note = f'<p class="m-when">{" ".join(notes)}</p>' if notes else ""
    return (
        f'<div class="m-scroll" tabindex="0" role="group" aria-label="Cost and time by day"><table class="m-table">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
        f"<tfoot>{_row('All days', total, with_model)}</tfoot></table></div>{note}"
    )


def money(dollars: float | None, calls: int) -> str:
    """Returns the amount; "unknown" for calls without a price, and a dash if there were no calls."""
    if dollars is None:
        return "unknown" if calls else "–"
    return f"${dollars:.2f}" if dollars >= 1 else f"${dollars:.4f}"


def _row(name: str, costs: CostSum, with_model: bool) -> str:
    cells = [str(costs.replies), _seconds(costs.seconds)]
    if with_model:
        dollars = costs.dollars if costs.calls > costs.unpriced else None
        is_counted = costs.calls > costs.uncounted or not costs.calls
        counts = costs.input_tokens, costs.output_tokens
        tokens = [f"{count:,}" if is_counted else "not counted" for count in counts]
        cells += [str(costs.calls), *tokens, money(dollars, costs.calls)]
    return f'<tr><th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def _tokens(number: int | None, calls: int) -> str:
    if not calls:
        return "–"
    return "not counted" if number is None else f"{number:,}"


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    if value < 60:
        return f"{value:.2f} s" if value < 1 else f"{value:.1f} s"
    minutes = round(value / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _is_are(number: int) -> str:
    return "is" if number == 1 else "are"
