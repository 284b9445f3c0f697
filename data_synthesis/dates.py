"""Expressions of time that mean one date each, and the forms of an answer that is a date or a number of days.

A temporal question carries the turns and expressions that its answer follows from, so that the answer can be computed
again. Expressions that are not in the list ("last week", "the other day", "in spring") have no single date.
"""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path
from typing import Any

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
NUMBERS = tuple(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen twenty".split()
)
_HOURS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("said_at_hours.json").read_text(encoding="utf-8"))

EXPRESSIONS = (
    "today, this morning, this afternoon, this evening, tonight, earlier today: the day itself",
    "yesterday, yesterday morning, yesterday afternoon, yesterday evening, last night: the day before",
    "the day before yesterday; tomorrow, tomorrow morning …; the day after tomorrow",
    'N days ago, N weeks ago, a week ago, a fortnight ago (N in digits, or in words up to twenty; "a couple of" is two)',
    "in N days, in N weeks, in a week, in a fortnight, N days from now, N weeks from now, a week from now",
    "last <weekday>: the most recent one before the day itself",
    "this <weekday>: the one of the same week (Monday to Sunday), not yet past",
    "next <weekday>: the one of the following week (Monday to Sunday)",
    "on <day> <month>, on <month> <day>, on the <day>th of <month>, each with or without a year (without: the nearest)",
)


def resolve(expression: str, said_on: date) -> date:
    """Returns the date that an expression means when it is said on `said_on`; "" means that day.

    Raises ValueError for an expression that is not in EXPRESSIONS and for a date that does not exist.
    """
    words = _plain(expression)
    day = None if words else said_on
    for match, meaning in ((match, meaning) for rule, meaning in _RULES if (match := rule.fullmatch(words))):
        with suppress(OverflowError):  # beyond the calendar
            day = meaning(match.groupdict(), said_on)
    if day is None:
        raise ValueError(f"{expression!r} has no single date. Use one of: {'; '.join(EXPRESSIONS)}.")
    return day


def expressions_in(text: str) -> list[str]:
    """Returns the expressions in a text, in order and in lower case. "the day before yesterday" is one, without "yesterday"."""
    return [match[0] for match in _ANY.finditer(_plain(text))]


def contains_expression(expression: str, text: str) -> bool:
    """Returns whether a text contains exactly this expression. Every text contains the empty one."""
    return not expression.strip() or _plain(expression) in expressions_in(text)


def words_at_odds(text: str, hour: int, *, certain: bool = False) -> str | None:
    """Returns the first words of a text that do not fit the hour, or None. With `certain`, only words that never fit count."""
    for rule in (rule for rule in _HOURS if rule.get("certain") or not certain):
        start, end = rule["from"], rule["to"]
        within = start <= hour < end if start < end else hour >= start or hour < end
        if not within and (match := re.search(rf"\b(?:{rule['words']})\b", text, re.IGNORECASE)):
            return match[0]
    return None


def date_text(day: date) -> str:
    """Returns a date in the form of an answer: "7 May 2023"."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def accepted_forms(day: date) -> tuple[str, ...]:
    """Returns the other forms of the same date that count as right."""
    month, suffix = MONTHS[day.month - 1], {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    nth = f"{day.day}{'th' if day.day in (11, 12, 13) else suffix}"
    return (
        *(f"{month} {day.day}, {day.year}", f"{day.day} {month}, {day.year}", f"{nth} of {month} {day.year}"),
        *(day.isoformat(), f"{day.day} {month}", f"{month} {day.day}", f"{month} {nth}", f"{nth} of {month}"),
    )


def days_text(count: int) -> str:
    """Returns a number of days as an answer: "12 days"."""
    return f"{count} day" if count == 1 else f"{count} days"


def accepted_days(count: int) -> tuple[str, ...]:
    """Returns the other ways to write the same number of days that count as right."""
    in_words = [days_text(count).replace(str(count), NUMBERS[count - 1])] if count <= len(NUMBERS) else []
    weeks = ["1 week", "one week", "a week"] if count == 7 else [f"{count // 7} weeks"]
    return (*in_words, *(weeks if count % 7 == 0 else ()))


def right_answers(event: date, since: date | None = None) -> tuple[str, ...]:
    """Returns the gold answer (the date of the event, or the days since `since`) and the other forms that count as right.

    Raises ValueError unless `since` is before the event.
    """
    if since is None:
        return (date_text(event), *accepted_forms(event))
    days = (event - since).days
    if days <= 0:
        raise ValueError(
            f"the event ({date_text(event)}) is not after the day it is counted from ({date_text(since)})."
        )
    return (days_text(days), *accepted_days(days))


def same_answer(*answers: str) -> bool:
    """Returns whether answers are the same date or number of days in different forms: "on May 8th, 2023", "May 8, 2023"."""
    plain = (re.sub(r"(?<=\d)(?:st|nd|rd|th)\b|[.,]|\b(?:on|the|of)\b", " ", _plain(answer)) for answer in answers)
    return len({tuple(answer.strip().removesuffix(" later").split()) for answer in plain}) == 1


_COUNT = rf"(?P<count>\d{{1,3}}|a couple of|an?|{'|'.join(reversed(NUMBERS))}) (?P<unit>day|week|fortnight)s?"
_WEEKDAY = rf"(?P<weekday>{'|'.join(WEEKDAYS).lower()})"
_MONTH = rf"(?P<month>{'|'.join(MONTHS).lower()})"
_DAY, _YEAR = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?", r"(?:,? (?P<year>\d{4}))?"
_PART = r"(?: (?:morning|afternoon|evening))?"


def _plain(text: str) -> str:
    return " ".join(text.lower().replace("’", "'").split())


def _span(words: dict[str, str]) -> timedelta:
    """Returns the time of "two weeks"."""
    count = {"a": 1, "an": 1, "a couple of": 2} | {name: number for number, name in enumerate(NUMBERS, start=1)}
    days = {"day": 1, "week": 7, "fortnight": 14}[words["unit"]]
    return timedelta(days * (count.get(words["count"]) or int(words["count"])))


def _ahead(words: dict[str, str], said_on: date) -> int:
    """Returns how many days the weekday is after `said_on` within its week; negative if it is past."""
    return WEEKDAYS.index(words["weekday"].title()) - said_on.weekday()


def _on(words: dict[str, str], said_on: date) -> date | None:
    years = [int(words["year"])] if words["year"] else [said_on.year + shift for shift in (0, -1, 1, -4, 4)]
    candidates = []
    for year in years:
        with suppress(ValueError):  # 29 February
            candidates.append(date(year, MONTHS.index(words["month"].title()) + 1, int(words["day"])))
    return min(candidates, key=lambda candidate: abs((candidate - said_on).days), default=None)


_Meaning = Callable[[dict[str, str], date], date | None]
_MEANINGS: tuple[tuple[str, _Meaning], ...] = (
    (r"the day before yesterday", lambda words, day: day - timedelta(2)),
    (r"the day after tomorrow", lambda words, day: day + timedelta(2)),
    (r"(?:earlier )?today|this (?:morning|afternoon|evening)|tonight", lambda words, day: day),
    (rf"yesterday{_PART}|last night", lambda words, day: day - timedelta(1)),
    (rf"tomorrow{_PART}|tomorrow night", lambda words, day: day + timedelta(1)),
    (rf"{_COUNT} ago", lambda words, day: day - _span(words)),
    (rf"in {_COUNT}", lambda words, day: day + _span(words)),
    (rf"{_COUNT} from (?:now|today)", lambda words, day: day + _span(words)),
    (rf"last {_WEEKDAY}", lambda words, day: day + timedelta(_ahead(words, day) % 7 - 7)),
    (rf"this {_WEEKDAY}", lambda words, day: day + timedelta(ahead) if (ahead := _ahead(words, day)) >= 0 else None),
    (rf"next {_WEEKDAY}", lambda words, day: day + timedelta(_ahead(words, day) + 7)),
    (rf"on (?:the )?{_DAY} (?:of )?{_MONTH}{_YEAR}", _on),
    (rf"on {_MONTH} (?:the )?{_DAY}{_YEAR}", _on),
)
_RULES = [(re.compile(pattern), meaning) for pattern, meaning in _MEANINGS]
_ANY = re.compile(
    r"(?<![\w-])(?:" + "|".join(re.sub(r"\?P<\w+>", "?:", pattern) for pattern, _ in _MEANINGS) + r")(?![\w-])"
)
