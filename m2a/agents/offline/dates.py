"""Dates in a sentence, resolved against the day of its message.

This replaces the search of dateparser, which reads "may", "sun" and "a second" as dates and does not know "the day before
yesterday", weekends, seasons or ranges. Each date keeps its position in the text, so that a memory can show the absolute
date beside the user's own words.
"""

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial

from m2a.types import DateInterval

MONTHS = "january february march april may june july august september october november december".split()
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_UP_TO_NINETEEN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen"
)
NUMBERS = {"a": 1, "an": 1, **{word: value for value, word in enumerate(_UP_TO_NINETEEN.split())}, **_TENS}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_DAYS_OF_UNIT = {"day": 1, "week": 7, "fortnight": 14}
_MONTHS_OF_UNIT = {"month": 1, "year": 12}
_FEASTS = {
    "christmas eve": (12, 24),
    "christmas": (12, 25),
    "boxing day": (12, 26),
    "new year's eve": (12, 31),
    "new year's day": (1, 1),
    "valentine's day": (2, 14),
    "halloween": (10, 31),
}

_MONTH = rf"(?P<month>{'|'.join(MONTHS)}|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_ITS_YEAR = rf"(?:,? {_YEAR}|,? (?:of )?(?P<which_year>last|this|next) year)?"  # "12 June 2026", "12 June next year"
_WEEKDAY = rf"(?P<weekday>{'|'.join(WEEKDAYS)})"
BIRTHDAY = r"\bb(?:irth)?-?days?\b"
SHORT_WEEKDAY = r"mon|tues?|wed|thu(?:rs?)?|fri|sat|sun"
# Alone, the short forms that are no other word, and the others where a day is due: "on sat", "not sun", "mon 9.30".
SHORT_WEEKDAY_ALONE = (
    r"(?:tues?|weds|thu(?:rs?)?|fri|"
    + "|".join(
        rf"(?<=\b{before} )(?:mon|wed|sat|sun)"
        for before in "on by til till until from every each starting starts not".split()
    )
    + r"|(?:mon|wed|sat|sun)(?=,? (?:at )?\d{1,2}(?:[:.]\d\d| ?[ap]m)\b|,? (?:morning|afternoon|evening|night)\b))"
)
_ANY_WEEKDAY = rf"(?:{'|'.join(WEEKDAYS)}|{SHORT_WEEKDAY})"
_WEEKDAYS = rf"(?P<first>{_ANY_WEEKDAY}) ?(?:to|-|until|till|through) ?(?P<weekday>{_ANY_WEEKDAY})"
# A weekday before a full date adds nothing: "Thursday 23 April", "Tues, the 5th of May".
_ITS_WEEKDAY = rf"(?:{_ANY_WEEKDAY}\b\.?,? )?"
# "Thursday evenings" and "Friday night is pizza night" are about every week.
_NOT_WEEKLY = r"(?! (?:mornings|afternoons|evenings|nights)\b| (?:morning|afternoon|evening|night) is\b)"
_NOT_OF = r"(?! of\b)"  # "the last week of August" is not last week
_WHICH = r"(?:the )?(?P<which>last|past|this past|this coming|coming|this|next)"
# "The Christmas presents" is not a date.
_NOT_AN_ADJECTIVE = (
    r"(?! (?:presents?|gifts?|cards?|trees?|cakes?|puddings?|jumpers?|lights?|decorations?|markets?|songs?|carols?|films?|"
    r"movies?|stockings?|costumes?|sweets|cookies|crackers?|box(?:es)?|concerts?|part(?:y|ies)|dinners?|lunch(?:es)?|fairs?|"
    r"plays?|shows?|holidays?|break|choir|services?|shopping)\b)"
)
_FIRST_DAY = r"(?:the )?(?P<first>[0-3]?\d)(?:st|nd|rd|th)?"
_TO = r"(?:to|-|until|till|and|through)"
_COUNT = r"(?P<count>\d+|an?(?: couple of| few)?|half an?|" + "|".join(n for n in NUMBERS if len(n) > 2) + r"|several)"
_UNIT = r"(?P<unit>day|week|fortnight|month|year)s?"


@dataclass(frozen=True, slots=True)
class FoundDate:
    """A date at `start` to `end` of a text.

    `relative`: the words lose their meaning as time passes, as "next week" does. `yearless`: they do not give the year.
    """

    start: int
    end: int
    interval: DateInterval
    relative: bool
    words: str
    yearless: bool


def written(interval: DateInterval) -> str:
    """Returns `9 June 2026`, `September 2026`, `2019`, or `18 September 2026 to 20 September 2026`."""
    first, last = interval
    if first == last:
        return f"{first.day} {first:%B} {first.year}"
    if first.day == 1 and last == _month_end(first):
        return f"{first:%B} {first.year}"
    if (first.month, first.day, last.month, last.day) == (1, 1, 12, 31) and first.year == last.year:
        return str(first.year)
    for season, month in _SEASONS.items():
        if first.day == 1 and first.month == month and last == _month_end(_add_months(first, 2)):
            return f"{season} {first.year}"
    return f"{written(DateInterval(first, first))} to {written(DateInterval(last, last))}"


def number(word: str) -> int | None:
    """Returns the value of `17`, `seventeen`, `a` or `twenty-one`, None for any other word."""
    lower = word.lower().strip()
    if lower.isdigit():
        return int(lower)
    if lower in NUMBERS:
        return NUMBERS[lower]
    if re.fullmatch(r"(?:a |an )?couple(?: of)?|both", lower):
        return 2
    if re.fullmatch(r"(?:a )?few|several", lower):
        return 3
    ten, _, unit = lower.replace(" ", "-").partition("-")
    if ten in _TENS and unit in NUMBERS:
        return _TENS[ten] + NUMBERS[unit]
    return None


def find_dates(text: str, today: date, *, past: bool) -> list[FoundDate]:
    """Returns the dates in the text, in order. `past` tells on which side of today they are if the year or week is open."""
    dates: list[FoundDate] = []
    taken: set[int] = set()
    points_at_next: list[int] = []  # where "the Friday before" ends
    for pattern, resolve in _RULES:
        for match in pattern.finditer(text):
            positions = range(*match.span())
            if not taken.isdisjoint(positions):
                continue
            reference, is_before = today, past
            if resolve is _day_of_month:
                sentence = _sentence_at(text, match.start())
                if _MONTHLY.search(text, *sentence):
                    continue  # "940 a month, due on the 3rd"
                earlier = [day for day in dates if not day.relative and sentence[0] <= day.start < match.start()]
                if earlier:  # "on 12 December, back on the 19th"
                    reference, is_before = max(earlier, key=lambda day: day.start).interval.first, False
            taken.update(positions)
            try:
                interval = resolve(match, reference, is_before)
            except (ValueError, OverflowError):
                if resolve is _unresolved:
                    points_at_next.append(match.end())
                continue  # an impossible date: no later rule may read a part of it
            absolute = bool(_group(match, "month") or _group(match, "year")) and not _group(match, "which_year")
            yearless = absolute and not _group(match, "year")
            dates.append(FoundDate(match.start(), match.end(), interval, not absolute, match.group(), yearless))
    # "The Friday before Christmas" is not Christmas.
    dates = [day for day in dates if not any(text[end : day.start].isspace() for end in points_at_next)]
    return sorted(dates, key=lambda day: day.start)


_SENTENCE_END = re.compile(r"[.!?]+\s")
_MONTHLY = re.compile(r"(?<!in )\b(?:a|per|every|each) month\b|\bmonthly\b", re.IGNORECASE)


def _sentence_at(text: str, position: int) -> tuple[int, int]:
    """Returns the span of the sentence around a position."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    first = max((end for end in ends if end <= position), default=0)
    return first, min((end for end in ends if end > position), default=len(text))


def annotate(text: str, dates: list[FoundDate]) -> str:
    """Returns the text with what its dates leave open: "in three weeks (9 June 2026)", "11 September 2026"."""
    for day in reversed(dates):
        if day.relative:
            text = f"{text[: day.end]} ({written(day.interval)}){text[day.end :]}"
        elif day.yearless:
            text = f"{text[: day.end]} {day.interval.last.year}{text[day.end :]}"
    return text


def _group(match: re.Match[str], name: str) -> str:
    return match.groupdict().get(name) or ""


# Returns the interval of a match, given the day of the message and whether an open date is in the past.
# Raises `ValueError` or `OverflowError` for an impossible date.
_Resolve = Callable[[re.Match[str], date, bool], DateInterval]


def _single_day(day: date) -> DateInterval:
    return DateInterval(day, day)


def _month_end(day: date) -> date:
    return day.replace(day=monthrange(day.year, day.month)[1])


def _month_number(word: str) -> int:
    return next(index for index, name in enumerate(MONTHS, start=1) if name.startswith(word.lower()[:3]))


def _add_months(day: date, months: int) -> date:
    index = day.year * 12 + day.month - 1 + months
    year, month = divmod(index, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def _month(year: int, month: int) -> DateInterval:
    first = date(year, month, 1)
    return DateInterval(first, _month_end(first))


def _month_after(day: date, months: int) -> DateInterval:
    later = _add_months(day, months)
    return _month(later.year, later.month)


def _open_year(month: int, day: int, today: date, past: bool) -> int:
    """Returns the year of the nearest such day in the past or in the future, today included."""
    this_year = date(today.year, month, min(day, monthrange(today.year, month)[1]))
    if past and this_year > today:
        return today.year - 1
    if not past and this_year < today:
        return today.year + 1
    return today.year


def _stated_year(match: re.Match[str], today: date) -> int | None:
    if which := _group(match, "which_year").lower():
        return today.year + _STEPS[which]
    return int(match["year"]) if _group(match, "year") else None


def _in_digits(match: re.Match[str], today: date, past: bool) -> DateInterval:
    return _single_day(date(int(match["year"]), int(match["m"]), int(match["d"])))


def _day_month(match: re.Match[str], today: date, past: bool) -> DateInterval:
    month, day = _month_number(match["month"]), int(match["day"])
    year = _stated_year(match, today) or _open_year(month, day, today, past)
    return _single_day(date(year, month, day))


def _day_range(match: re.Match[str], today: date, past: bool) -> DateInterval:
    month = _month_number(match["month"])
    first, last = int(match["first"]), int(match["day"])
    year = _stated_year(match, today) or _open_year(month, last, today, past)
    return DateInterval(date(year, month, first), date(year, month, last))


def _whole_month(match: re.Match[str], today: date, past: bool) -> DateInterval:
    month = _month_number(match["month"])
    if year := _stated_year(match, today):
        return _month(year, month)
    return _month(_open_year(month, 1 if past else 31, today, past), month)


def _relative_month(match: re.Match[str], today: date, past: bool) -> DateInterval:
    month, step = _month_number(match["month"]), _STEPS[match["which"].lower()]
    is_near = month < today.month if step < 0 else month > today.month
    return _month(today.year if is_near else today.year + step, month)


def _whole_year(year: int) -> DateInterval:
    return DateInterval(date(year, 1, 1), date(year, 12, 31))


def _year(match: re.Match[str], today: date, past: bool) -> DateInterval:
    return _whole_year(int(match["year"]))


_NAMED_DAYS = {
    "the day before yesterday": -2,
    "the day after tomorrow": 2,
    "yesterday": -1,
    "last night": -1,
    "tomorrow": 1,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "earlier today": 0,
    "just now": 0,
}


def _named_day(match: re.Match[str], today: date, past: bool) -> DateInterval:
    return _single_day(today + timedelta(days=_NAMED_DAYS[match["named"].lower()]))


def _weekday(match: re.Match[str], today: date, past: bool) -> DateInterval:
    weekday = _weekday_number(match["weekday"])
    which = _group(match, "which").lower()
    ahead, behind = (weekday - today.weekday()) % 7, (today.weekday() - weekday) % 7
    if _STEPS[which] < 0:
        return _single_day(today - timedelta(days=behind or 7))
    if which == "next":
        monday = today - timedelta(days=today.weekday())
        return _single_day(monday + timedelta(days=7 + weekday))
    if later := _group(match, "later"):
        weeks = 2 if "fortnight" in later else 1
        return _single_day(today + timedelta(days=(ahead or 7) + 7 * weeks))
    if which:
        return _single_day(today + timedelta(days=ahead))
    if past:
        return _single_day(today - timedelta(days=behind))
    return _single_day(today + timedelta(days=ahead or 7))


def _weekday_of_week(match: re.Match[str], today: date, past: bool) -> DateInterval:
    """Resolves "Thursday next week", "next week on Thursday" and "Monday to Thursday next week"."""
    monday = today + timedelta(days=7 * _STEPS[match["which"].lower()] - today.weekday())
    last = _weekday_number(match["weekday"])
    first = _weekday_number(match["first"]) if _group(match, "first") else last
    length = (last - first) % 7  # "Friday to Monday next week" ends in the week after
    return DateInterval(monday + timedelta(days=first), monday + timedelta(days=first + length))


def _weekday_number(word: str) -> int:
    return next(index for index, name in enumerate(WEEKDAYS) if name.startswith(word.lower()[:3]))


def _unresolved(match: re.Match[str], today: date, past: bool) -> DateInterval:
    """Raises `ValueError`: "the Saturday before" is before another day than that of the message."""
    raise ValueError(match.group())


def _weeks_from_weekday(match: re.Match[str], today: date, past: bool) -> DateInterval:
    """Resolves "a week on Friday": the coming Friday plus a week."""
    weekday = WEEKDAYS.index(match["weekday"].lower())
    days = (number(match["count"]) or 1) * _DAYS_OF_UNIT[match["unit"].lower()]
    return _single_day(today + timedelta(days=((weekday - today.weekday()) % 7 or 7) + days))


def _shifted(match: re.Match[str], today: date, past: bool, *, sign: int = 1) -> DateInterval:
    """Shifts the day exactly by days and weeks; months and years mean the whole month or year."""
    word, unit = match["count"].lower(), (match["unit"] or _group(match, "weeks")).lower()
    if word.startswith("half"):
        if unit != "year":
            raise ValueError(word)
        return _month_after(today, sign * 6)
    count = sign * (number(word) or 1)
    if unit in _DAYS_OF_UNIT:
        return _single_day(today + timedelta(days=count * _DAYS_OF_UNIT[unit]))
    if unit == "year" and abs(count) > 1:
        return _whole_year(today.year + count)
    return _month_after(today, count * _MONTHS_OF_UNIT[unit])


_STEPS = {"last": -1, "past": -1, "this past": -1, "this": 0, "": 0, "this coming": 0, "coming": 0, "next": 1}


def _calendar(match: re.Match[str], today: date, past: bool) -> DateInterval:
    """Resolves "last week", "this weekend", "next month", "next year"."""
    step = _STEPS[_group(match, "which").lower()]
    unit = match["unit"].lower()
    monday = today - timedelta(days=today.weekday())
    if unit == "weekend":
        weeks = step or (-1 if past and today.weekday() < 5 else 0)
        saturday = monday + timedelta(days=5 + 7 * weeks)
        return DateInterval(saturday, saturday + timedelta(days=1))
    if unit == "week":
        first = monday + timedelta(days=7 * step)
        return DateInterval(first, first + timedelta(days=6))
    if unit == "month":
        return _month_after(today, step)
    return _whole_year(today.year + step)


def _end_of(match: re.Match[str], today: date, past: bool) -> DateInterval:
    unit, following = match["unit"].lower(), match["which"].lower() == "next"
    if unit == "week":
        return _single_day(today - timedelta(days=today.weekday()) + timedelta(days=6 + 7 * following))
    if unit == "year":
        return _single_day(date(today.year + following, 12, 31))
    return _single_day(_month_end(_add_months(today, int(following))))


def _season(match: re.Match[str], today: date, past: bool) -> DateInterval:
    """Resolves a season of the northern hemisphere; winter spans the turn of the year."""
    start_month, which = _SEASONS[match["season"].lower()], _group(match, "which").lower()
    year = _stated_year(match, today)
    if year is None:
        year = today.year
        if start_month == 12 and today.month <= 2:
            year -= 1
        first = date(year, start_month, 1)
        is_over = _month_end(_add_months(first, 2)) < today
        if _STEPS[which] < 0:
            year -= not is_over
        elif which == "next":
            year += today >= first
        elif not which:
            year += -(first > today) if past else is_over
    first = date(year, start_month, 1)
    return DateInterval(first, _month_end(_add_months(first, 2)))


def _feast(match: re.Match[str], today: date, past: bool) -> DateInterval:
    month, day = _FEASTS[match["feast"].lower()]
    which = _group(match, "which").lower()
    year = _stated_year(match, today) or _open_year(month, day, today, past or _STEPS[which] < 0)
    return _single_day(date(year, month, day))


def _day_of_month(match: re.Match[str], today: date, past: bool) -> DateInterval:
    """Resolves "on the 5th": the nearest one in the past or the future. "Saturday 17th" is one of the next or last months."""
    day, weekday = int(match["ordinal"]), _group(match, "weekday")
    for step in range(3 if weekday else 13):
        month = _add_months(today.replace(day=1), -step if past else step)
        if day <= monthrange(month.year, month.month)[1]:
            candidate = month.replace(day=day)
            is_named_so = not weekday or candidate.weekday() == _weekday_number(weekday)
            if is_named_so and ((candidate <= today) if past else (candidate >= today)):
                return _single_day(candidate)
    raise ValueError(day)


def nearest_day(day: int, reference: date) -> date:
    """Returns the nearest day with this number in its month; the number must be one of 1 to 31."""
    months = (_add_months(reference.replace(day=1), step) for step in (-1, 0, 1))
    days = [month.replace(day=day) for month in months if day <= monthrange(month.year, month.month)[1]]
    return min(days, key=lambda candidate: abs(candidate - reference))


def _rule(pattern: str, resolve: _Resolve) -> tuple[re.Pattern[str], _Resolve]:
    return re.compile(rf"(?<![\w/-])(?:{pattern})(?![\w/-])", re.IGNORECASE), resolve


# The longest and most certain rules come first: no later rule reads the characters of an earlier match.
_RULES: tuple[tuple[re.Pattern[str], _Resolve], ...] = (
    _rule(rf"{_ITS_WEEKDAY}(?P<year>\d{{4}})-(?P<m>\d\d)-(?P<d>\d\d)", _in_digits),
    _rule(rf"{_ITS_WEEKDAY}(?P<d>[0-3]?\d)[./](?P<m>[01]?\d)[./](?P<year>(?:19|20)\d\d)", _in_digits),
    _rule(rf"(?P<which_year>last|this|next) year,? on (?:the )?{_DAY} (?:of )?{_MONTH}", _day_month),
    _rule(rf"(?P<which_year>last|this|next) year,? in {_MONTH}", _whole_month),
    _rule(rf"{_ITS_WEEKDAY}{_FIRST_DAY} ?{_TO} ?{_ITS_WEEKDAY}(?:the )?{_DAY} (?:of )?{_MONTH}{_ITS_YEAR}", _day_range),
    _rule(rf"{_ITS_WEEKDAY}{_MONTH} {_FIRST_DAY} ?{_TO} ?(?:the )?{_DAY}{_ITS_YEAR}", _day_range),
    _rule(rf"{_ITS_WEEKDAY}(?:the )?{_DAY} (?:of )?{_MONTH}{_ITS_YEAR}", _day_month),
    _rule(rf"{_ITS_WEEKDAY}{_MONTH} (?:the )?{_DAY}(?!\d){_ITS_YEAR}", _day_month),
    _rule(rf"{_MONTH}(?: of)?,? (?:{_YEAR}|(?P<which_year>last|this|next) year)", _whole_month),
    _rule(rf"{_COUNT} {_UNIT} (?:(?:from|after) (?:now|today)|hence|today)", _shifted),
    _rule(
        rf"{_COUNT} (?:{_UNIT} from|(?P<weeks>week|fortnight)s?) tomorrow(?! since)",
        lambda match, today, past: _shifted(match, today + timedelta(days=1), past),
    ),
    _rule(rf"{_COUNT} (?P<unit>week|fortnight)s? (?:from|on) (?:this )?{_WEEKDAY}", _weeks_from_weekday),
    _rule(rf"(?P<named>{'|'.join(_NAMED_DAYS)})", _named_day),
    _rule(rf"(?P<weekday>{_ANY_WEEKDAY}),? (?:the )?(?P<ordinal>[0-3]?\d)(?:st|nd|rd|th)", _day_of_month),
    _rule(rf"{_WEEKDAYS}(?:,| of)? (?P<which>last|this|next) week", _weekday_of_week),
    _rule(rf"(?P<which>last|this|next) week,?(?: from)? {_WEEKDAYS}", _weekday_of_week),
    _rule(rf"{_WEEKDAY}(?:,| of)? (?P<which>last|this|next) week", _weekday_of_week),
    _rule(rf"(?P<which>last|this|next) week,?(?: on)? {_WEEKDAY}", _weekday_of_week),
    _rule(rf"the {_WEEKDAY} (?:before|after|following)", _unresolved),
    _rule(rf"(?<!\ba )(?:{_WHICH} )?{_WEEKDAY}(?P<later> week| fortnight)?{_NOT_WEEKLY}{_NOT_OF}", _weekday),
    _rule(rf"{_WHICH} (?P<weekday>{SHORT_WEEKDAY})", _weekday),
    _rule(rf"(?<!\ba )(?P<weekday>{SHORT_WEEKDAY_ALONE}){_NOT_WEEKLY}{_NOT_OF}", _weekday),
    _rule(
        rf"(?:about |around |almost |nearly |over |some )?{_COUNT} {_UNIT} (?:ago|back|earlier)",
        partial(_shifted, sign=-1),
    ),
    _rule(rf"(?:with)?in (?:about |around )?{_COUNT} {_UNIT}(?:'s?)?(?: time)?", _shifted),
    _rule(rf"{_WHICH} (?P<unit>weekend|week|month|year){_NOT_OF}", _calendar),
    _rule(r"at the (?P<unit>weekend)", _calendar),
    _rule(r"(?:the )?end of (?P<which>the|this|next) (?P<unit>week|month|year)", _end_of),
    _rule(rf"{_WHICH} (?P<season>spring|summer|autumn|fall|winter)", _season),
    _rule(rf"(?:in |in the )?(?P<season>spring|summer|autumn|winter)(?: of)? {_YEAR}", _season),
    _rule(rf"(?:{_WHICH} )?(?P<feast>{'|'.join(_FEASTS)})(?: {_YEAR})?{_NOT_AN_ADJECTIVE}", _feast),
    _rule(rf"{_WHICH} {_MONTH}", _relative_month),
    _rule(rf"(?:(?<=\bin )|(?<=\bsince )|(?<=\buntil ))(?:early |mid-?|late )?{_MONTH}", _whole_month),
    _rule(rf"(?:(?<=\bin )|(?<=\bsince )|(?<=\buntil )){_YEAR}", _year),
    _rule(r"(?:on|by|until|to|for|from) the (?P<ordinal>[0-3]?\d)(?:st|nd|rd|th)(?! (?:[a-z]+ )?floor)", _day_of_month),
)
