"""Expressions of time for the days that the plan has drawn."""

import random
from datetime import date, timedelta

from data_synthesis.dates import MONTHS, NUMBERS, WEEKDAYS, resolve


def day_before(said_on: date, earliest: date | None, rng: random.Random) -> date:
    """Returns a day in the week before `said_on` and after `earliest`: people name such a day without a date."""
    first = said_on - timedelta(days=7)
    if earliest is not None:
        first = max(first, earliest + timedelta(days=1))
    span = max((said_on - first).days, 1)
    return said_on - timedelta(days=rng.randint(1, min(span, rng.choice((3, 6, 7)))))


def expression_for(day: date, said_on: date, rng: random.Random, *, british: bool, exact: bool) -> str:
    """Returns an expression that means `day` when said on `said_on`; with `exact`, it names the day of the month."""
    ago = (said_on - day).days
    dated = f"on {day.day} {MONTHS[day.month - 1]}" if british else f"on {MONTHS[day.month - 1]} {day.day}"
    weekday = f"last {WEEKDAYS[day.weekday()]}"
    fixed = {1: ["yesterday"], 2: ["the day before yesterday", weekday], 7: ["a week ago"], 14: ["two weeks ago"]}
    forms = fixed.get(ago, [])
    if 2 < ago < 7:
        forms = [weekday] * 2
    if 2 < ago <= 12 and ago != 7:
        forms = [*forms, f"{NUMBERS[ago - 1]} days ago"]
    chosen = dated if exact else rng.choice(forms or [dated])
    if resolve(chosen, said_on) != day:  # a rule of dates.py reads the expression differently
        chosen = f"on {day.day} {MONTHS[day.month - 1]} {day.year}"
    return chosen
