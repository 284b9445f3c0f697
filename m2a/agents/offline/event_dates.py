"""When what a statement tells happens: its dates, past or to come as its clauses say."""

import re
from dataclasses import replace
from datetime import date

from m2a.agents.offline.clauses import find_subject, has_verb, is_past, segments
from m2a.agents.offline.dates import (
    BIRTHDAY,
    SHORT_WEEKDAY,
    WEEKDAYS,
    FoundDate,
    annotate,
    find_dates,
    nearest_day,
    written,
)
from m2a.agents.offline.observations import Observation
from m2a.types import DateInterval


def dates_of(text: str, today: date) -> list[FoundDate]:
    """Returns the dates of the text. The clause around an open date decides whether it is past or future."""
    future, past = find_dates(text, today, past=False), find_dates(text, today, past=True)
    if len(future) != len(past):
        return past if is_past(text) else future
    return [earlier if _is_past_at(text, later.start) else later for later, earlier in zip(future, past, strict=True)]


# "I met Shona, who says she's moving in August": what was met is past, what is said is not.
_REPORTS = re.compile(r"\b(?:who|which|says?|said|told (?:me|us)|because|so)(?: that)?\b", re.IGNORECASE)


def _is_past_at(text: str, position: int) -> bool:
    """Returns whether the clause at the position is about the past: if it has no verb, the last one before it with a subject."""
    sentence_start = max((end.end() for end in re.finditer(r"[.!?]\s", text[:position])), default=0)
    *before, clause = [text[start:end] for start, end in segments(text) if sentence_start <= start <= position] or [
        text
    ]
    reported = [match.end() for match in _REPORTS.finditer(clause) if has_verb(clause[match.end() :])]
    at = position - text.rfind(clause, 0, position + 1)
    if before_it := [end for end in reported if end <= at]:
        clause = clause[before_it[-1] :]
    if not has_verb(clause):
        clause = next((earlier for earlier in reversed(before) if find_subject(earlier) is not None), text)
    return is_past(clause)


_DAY = rf"(?:{'|'.join(WEEKDAYS)})"
_RECURS = re.compile(
    rf"\b(?:every|each|weekly|fortnightly|monthly|yearly)\b|\b{_DAY}s\b|\bon a {_DAY}\b|\bof (?:the|a) month\b|\bany ?more\b|"
    rf"\b{_DAY} (?:to|till|until|through) {_DAY}\b(?! (?:next|this|last)\b)|"
    rf"\b(?:{SHORT_WEEKDAY})(?: ?(?:n|&|/|and|,) ?| )(?:{SHORT_WEEKDAY})\b",
    re.IGNORECASE,
)
_ANY_DAY = re.compile(
    rf"(?:(?:on|by|until|to|for|from) )?(?:the )?(?:{_DAY}|{SHORT_WEEKDAY}|\d+(?:st|nd|rd|th))", re.IGNORECASE
)
_DATED_DAY = re.compile(rf"\b({_DAY}) \(\d+ \w+ \d{{4}}\)", re.IGNORECASE)


def with_dates(text: str, today: date) -> tuple[str, DateInterval | None]:
    """Returns a statement with its dates written out, and when it happens: never for what recurs, or for a birthday."""
    dates = dates_of(text, today)
    recurs = _RECURS.search(text) is not None
    is_birthday = re.search(BIRTHDAY, text, re.IGNORECASE) is not None
    annotated = [
        match
        for match in dates
        if not _REFUTES.search(text, 0, match.start)
        and not (is_birthday and match.yearless)
        and not (recurs and _ANY_DAY.fullmatch(match.words))
    ]
    happened = dates[0].interval if dates and not (recurs or is_birthday) else None
    return annotate(text, annotated), happened


_REFUTES = re.compile(r"\b(?:not|instead of)(?: (?:on|this|the))? $", re.IGNORECASE)
_OPEN_DAY = re.compile(r"\bthe (?P<day>\d{1,2})(?:st|nd|rd|th) \((?P<date>\d{1,2} [A-Z][a-z]+ \d{4})\)")
_FULL_DATE = re.compile(r"\b\d{1,2} [A-Z][a-z]+ \d{4}\b")


def dated_as(observation: Observation, before: str) -> Observation:
    """Returns a correction with its day as that of the memory it corrects: "the 12th" after "on 11 February 2027".

    A correction of a recurring day has no date: "moved to Wednesday" after "on Tuesdays".
    """
    text = _DATED_DAY.sub(r"\1", observation.text)
    if _RECURS.search(before) and text != observation.text:
        return replace(observation, text=text, kind="fact", happened=None)
    open_day = _OPEN_DAY.search(observation.text)
    days = find_dates("; ".join(_FULL_DATE.findall(before)), date.min, past=False)
    if open_day is None or not days:
        return observation
    day = nearest_day(int(open_day["day"]), days[-1].interval.first)
    first, last = open_day.span("date")
    text = f"{observation.text[:first]}{written(DateInterval(day, day))}{observation.text[last:]}"
    return replace(observation, text=text, happened=observation.happened and DateInterval(day, day))
