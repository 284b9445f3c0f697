"""Answers that are counted or computed from memories, and worded as such: numbers of things, spans of time, ages."""

import re
from collections.abc import Sequence
from datetime import date

from m2a.agents.offline.answer_checks import ASKS_HOW_LONG_IT_TAKES
from m2a.agents.offline.change_words import ADDS
from m2a.agents.offline.clauses import find_subject, segments
from m2a.agents.offline.dates import find_dates, number
from m2a.agents.offline.names import is_named
from m2a.agents.offline.questions import Question
from m2a.agents.offline.quoting import as_list, capitalised, quote, written_day
from m2a.agents.offline.relevance import correction_groups
from m2a.agents.offline.selection import MAX_LISTED
from m2a.agents.offline.text import equivalents, is_member, plain, stem, stems
from m2a.agents.offline.values import amount_of
from m2a.types import Concept, DateInterval, MemoryEntry, Message


def counted(
    question: Question, entries: Sequence[MemoryEntry], concepts: Sequence[Concept], messages: Sequence[Message]
) -> str:
    """Returns the sum of what the memories count or name, with a list: two cats and a tortoise are three pets.

    Where the number has changed, nothing is summed: the newest statement is quoted first. Of somebody's things, only what is said
    of them counts, if anything is: "Andrew has one boy", not "I have two children, Fiona and Andrew".
    """
    entries = [entry for entry in entries if _is_said_of(question, entry.text)] or entries
    nouns = set(equivalents(stem(question.noun)))
    species = {breed: noun for noun in nouns for breed in equivalents(noun) - nouns}
    per_noun: dict[str, int] = {}
    added: dict[str, int] = {}
    named: dict[str, set[int]] = {}
    for concept in concepts:
        for alias in concept.aliases:
            noun = next((word for word in stems(alias) if word in nouns), None)
            if noun is not None and any(concept.concept_id in entry.concept_ids for entry in entries):
                named.setdefault(noun, set()).add(concept.concept_id)
    for entry in entries:
        words = stems(entry.text)
        if _TWIN in words and _TWIN in nouns:  # "the twins, our two boys" are counted once
            per_noun[_TWIN] = 2
            continue
        for word in [word for word in words if word in nouns] or [word for word in words if word in species][:1]:
            noun = species.get(word, word)
            count = amount_of(entry.text, {word})
            if count is not None:
                per_noun[noun] = max(per_noun.get(noun, 0), count)
            elif noun not in per_noun and _is_owned(entry.text, word):
                per_noun[noun] = 1
            if noun in per_noun and ADDS.search(entry.text):
                added[noun] = count or 1
    for noun, concept_ids in named.items():
        if _TWIN in per_noun and noun != _TWIN and concept_ids <= named.get(_TWIN, set()):
            continue
        per_noun[noun] = max(per_noun.get(noun, 0), len(concept_ids))
    kinds = {kind for kind in nouns if any(is_member(noun, kind) for noun in nouns)}
    whole = max((per_noun.get(kind, 0) for kind in kinds), default=0)
    # "Three kids, two boys and a girl" are three, whatever is said of a son; a parrot that "we got, too" is one pet more.
    counts = added if whole else per_noun
    total = whole + sum(count for noun, count in counts.items() if noun not in kinds)
    quotations = as_list(entries[:MAX_LISTED], messages, question)
    has_changed = any(
        not (nouns | species.keys()).isdisjoint(stems(entry.text))
        and (entry.corrects is not None or _FEWER.search(entry.text))
        for entry in entries
    )
    if not total or has_changed or (len(entries) == 1 and len(per_noun) == 1 and not named):
        return quotations
    typed = re.findall(r"[\w'-]+", plain(question.text))
    as_typed = next((word for word in typed if word.lower() == question.noun), "")
    amount = f"{total} {as_typed}".strip() if total > 1 else str(total)
    return f"{amount} by my count. {quotations}"


def _is_said_of(question: Question, text: str) -> bool:
    subjects = [find_subject(text[first:last]) for first, last in segments(text)]
    return any(subject is not None and question.name_stems & set(stems(subject.text)) for subject in subjects)


_TWIN = stem("twin")
_ASKS_FOR_PAST_SPAN = re.compile(r"\b(?:did|was|were|had)\b", re.IGNORECASE)
# "We had been married for forty-one years"
_STATES_A_SPAN = re.compile(
    r"\bfor (?:[\w-]+ ){1,3}?(?:minute|hour|day|night|week|month|year|decade)s?\b(?! old)",
    re.IGNORECASE,
)
_FEWER = re.compile(
    r"\b(?:sold|died|dead|passed away|lost|(?:gave|given) away|cancell?ed|dropped out|left|rehomed|put down|only)\b",
    re.IGNORECASE,
)


def _is_owned(text: str, noun: str) -> bool:
    return bool(
        re.search(
            rf"\b(?:my|our|us|have|got|adopted|bought|a|an|her|his)\b[^.]*\b{re.escape(noun[:4])}|"
            rf"\b(?-i:[A-Z])\w+,? (?:the|our|my|a) {re.escape(noun[:4])}",  # "Pickle the tortoise"
            text,
            re.IGNORECASE,
        )
    )


def computed(question: Question, entries: Sequence[MemoryEntry], messages: Sequence[Message], today: date) -> str:
    """Returns the age or the span of time asked for, computed from the best memory with a date, and its quotation."""
    groups = correction_groups(entries)
    if question.kind.name == "duration":  # it must have begun: the wedding, not the next anniversary
        groups = [group for group in groups if (when := _date_of(group)) and when.first <= today] or groups
    entry, *corrections = groups[0]
    quotation = quote(entry, messages, corrections, question=question)
    if question.kind.name == "age":
        age = _age(entry, question.names, today) if not corrections else ""
        return f"{age} {quotation}".lstrip()
    interval = _date_of(groups[0])
    if interval is None or (
        question.kind.name == "duration"
        and (
            ASKS_HOW_LONG_IT_TAKES.search(question.text)
            or (_ASKS_FOR_PAST_SPAN.search(question.text) and _STATES_A_SPAN.search(groups[0][-1].text))
        )
    ):
        return quotation
    day, written_today = interval.first, written_day(today)
    if question.kind.name == "duration" and question.within and day < today < question.within.last:
        return f"{_span_to(_anniversary(interval, question.within), interval, question.unit)}. {quotation}"
    if question.kind.name == "duration" and day > today:
        return quotation
    span = _span(day, today, question.unit)
    if day == today:
        return f"That is today. {quotation}"
    if day > today:
        return f"{span} from today ({written_today}) to {written_day(day)}. {quotation}"
    about = "" if day == interval.last else "about "
    since = "since then" if question.kind.name == "duration" else "ago"
    return capitalised(f"{about}{span} {since}, counted to today ({written_today}). {quotation}")


def _date_of(group: Sequence[MemoryEntry]) -> DateInterval | None:
    """Returns the date of the newest of a memory and its corrections that has one."""
    return next((when for entry in reversed(group) if (when := entry.happened or _first_date(entry))), None)


def _anniversary(interval: DateInterval, within: DateInterval) -> date:
    """Returns the day to count to if the question asks about "this November": the anniversary within it, or else its last day."""
    day = interval.first
    if interval.first == interval.last and (day.month, day.day) != (2, 29):
        for year in (within.first.year, within.last.year):
            if within.first <= day.replace(year=year) <= within.last:
                return day.replace(year=year)
    return within.last


def _span_to(until: date, interval: DateInterval, unit: str) -> str:
    if interval.first == interval.last:
        return f"{_span(interval.first, until, unit)} on {written_day(until)}"
    return f"About {_count(until.year - interval.first.year, 'year')} by {written_day(until)}"


def _first_date(entry: MemoryEntry) -> DateInterval | None:
    dates = find_dates(entry.text, entry.recorded_at.date(), past=False)
    return dates[0].interval if dates else None


def _span(first: date, second: date, unit: str) -> str:
    """Returns the span in the unit asked for, or else in years from one on, and in others: "77 days (11 weeks, or 2 months)"."""
    earlier, later = sorted((first, second))
    days = (later - earlier).days
    months = (later.year - earlier.year) * 12 + later.month - earlier.month - (later.day < earlier.day)
    years, rest_months = divmod(months, 12)
    weeks, rest_days = divmod(days, 7)
    spans = {"day": _count(days, "day")}
    if unit == "week" or (days >= 14 and not years):
        spans["week"] = _counts((weeks, "week"), (rest_days, "day"))
    if months:
        spans["year" if years else "month"] = _counts((years, "year"), (rest_months, "month"))
    first_span = spans.pop(unit, None) or spans.pop("year", None) or spans.pop("day")
    return first_span + (f" ({', or '.join(spans.values())})" if spans else "")


def _counts(*counts: tuple[int, str]) -> str:
    return " and ".join(_count(count, noun) for count, noun in counts if count)


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


def _age(entry: MemoryEntry, names: Sequence[str], today: date) -> str:
    """Returns the age today, from the date or the year of birth or from the age on a known day; "" if none is known.

    Of several people, it is that of the one with one of the `names`.
    """
    text, happened = plain(entry.text), entry.happened
    clauses = [text[first:last] for first, last in segments(text)]
    text = next((clause for clause in clauses if any(is_named(name, clause) for name in names)), text)
    if born := re.search(r"\bborn\b.*?\b((?:19|20)\d\d)\b", text):
        if happened is not None and happened.first == happened.last:
            return f"{_years_since(happened.first, today)} years old today."
        years = today.year - int(born[1])
        return f"{years - 1} or {years} years old, counted from {born[1]}." if years > 0 else ""
    turned = re.search(r"\bturn(?:s|ed|ing)? (\w+(?:-\w+)?)", text)
    if turned and happened and happened.first <= today and (age := number(turned[1])):
        return f"{age + _years_since(happened.first, today)} years old by now."
    return ""


def _years_since(day: date, today: date) -> int:
    return today.year - day.year - ((today.month, today.day) < (day.month, day.day))
