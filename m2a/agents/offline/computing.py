"""What code counts or computes from memories: numbers of things, spans of time, ages. It is worded as such."""

import re
from collections.abc import Sequence
from datetime import date

from m2a.agents.offline.dates import find_dates, number
from m2a.agents.offline.questions import Question
from m2a.agents.offline.quoting import as_list, capitalised, quote, written_day
from m2a.agents.offline.relevance import together
from m2a.agents.offline.selection import MAX_LISTED
from m2a.agents.offline.text import equivalents, plain, stem, stems
from m2a.agents.offline.values import amount_of
from m2a.types import Concept, DateInterval, MemoryEntry, Message


def counted(
    question: Question, entries: Sequence[MemoryEntry], concepts: Sequence[Concept], messages: Sequence[Message]
) -> str:
    """Returns the sum of what the memories count or name, with a list: two cats and a tortoise are three pets."""
    nouns = set(equivalents(stem(question.noun)))
    species = {breed: noun for noun in nouns for breed in equivalents(noun) - nouns}
    per_noun: dict[str, int] = {}
    names: dict[str, set[int]] = {}
    for concept in concepts:
        for alias in concept.aliases:
            word = next((root for root in stems(alias) if root in nouns), None)
            if word is not None and any(concept.concept_id in entry.concept_ids for entry in entries):
                names.setdefault(word, set()).add(concept.concept_id)
    for entry in entries:
        roots = list(dict.fromkeys(root for root in stems(entry.text) if root in nouns))
        if _TWIN in roots:  # "the twins, our two boys" are counted once
            per_noun[_TWIN] = 2
            roots = []
        roots = roots or [root for root in stems(entry.text) if root in species][:1]
        for mentioned in roots:
            word = species.get(mentioned, mentioned)
            count = amount_of(entry.text, {mentioned})
            if count is not None:
                per_noun[word] = max(per_noun.get(word, 0), count)
            elif word not in per_noun and _is_owned(entry.text, mentioned):
                per_noun[word] = 1
    for word, concept_ids in names.items():
        if _TWIN in per_noun and concept_ids <= names.get(_TWIN, set()) and word != _TWIN:
            continue
        per_noun[word] = max(per_noun.get(word, 0), len(concept_ids))
    total = sum(per_noun.values())
    listed = as_list(entries[:MAX_LISTED], messages)
    if len(entries) == 1 and len(per_noun) == 1 and not names:
        return listed
    if not total:
        return listed
    noun = next((word for word in plain(question.text).split() if word.strip("?,.").lower() == question.noun), "")
    counted = f"{total} {noun.strip('?')}".strip() if total > 1 else str(total)
    return f"{counted} by my count. {listed}"


_TWIN = stem("twin")


def _is_owned(text: str, word: str) -> bool:
    return bool(
        re.search(
            rf"\b(?:my|our|us|have|got|adopted|bought|a|an|her|his)\b[^.]*\b{re.escape(word[:4])}|"
            rf"\b(?-i:[A-Z])\w+,? (?:the|our|my|a) {re.escape(word[:4])}",  # "Pickle the tortoise"
            text,
            re.IGNORECASE,
        )
    )


def computed(question: Question, entries: Sequence[MemoryEntry], messages: Sequence[Message], today: date) -> str:
    groups = together(entries)
    best, *corrections = groups[0]
    if question.kind.name == "age":
        age, quotation = _age(best, messages, today), quote(best, messages, corrections, names=question.names)
        return f"{age} {quotation}" if age and not corrections else quotation
    if question.kind.name == "duration":  # it must have begun: the wedding, not the next anniversary
        begun = [group for group in groups if (when := _date_of(group)) and when.first <= today]
        best, *corrections = begun[0] if begun else groups[0]
    quotation, interval = quote(best, messages, corrections, names=question.names), _date_of([best, *corrections])
    if interval is None:
        return quotation
    if question.kind.name == "duration" and question.within and interval.first < today < question.within.last:
        return f"{_span_to(_anniversary(interval, question.within), interval, question.unit)}. {quotation}"
    if question.kind.name == "duration" and interval.first > today:
        return quotation
    if interval.first > today:
        days = (interval.first - today).days
        span = _span(days, interval.first, today, question.unit)
        return f"{span} from today ({written_day(today)}) to {written_day(interval.first)}. {quotation}"
    days = (today - interval.first).days
    if days == 0:
        return f"That is today. {quotation}"
    if question.kind.name == "until":
        return f"That was {_span(days, interval.first, today, question.unit)} ago. {quotation}"
    about = "" if interval.first == interval.last else "about "
    since = "since then" if question.kind.name == "duration" else "ago"
    span = _span(days, interval.first, today, question.unit)
    return capitalised(f"{about}{span} {since}, counted to today ({written_day(today)}). {quotation}")


def _happened(entry: MemoryEntry) -> DateInterval | None:
    return entry.happened or _first_date(entry)


def _date_of(group: Sequence[MemoryEntry]) -> DateInterval | None:
    """Returns the date in the newest of a memory and its corrections that has one."""
    return next((when for entry in reversed(group) if (when := _happened(entry))), None)


def _anniversary(interval: DateInterval, within: DateInterval) -> date:
    """Returns the day to count to if the question asks about "this November": the anniversary in it, or else its last day."""
    day = interval.first
    if interval.first == interval.last and (day.month, day.day) != (2, 29):
        for year in (within.first.year, within.last.year):
            if within.first <= day.replace(year=year) <= within.last:
                return day.replace(year=year)
    return within.last


def _span_to(until: date, interval: DateInterval, unit: str) -> str:
    if interval.first == interval.last:
        return f"{_span((until - interval.first).days, interval.first, until, unit)} on {written_day(until)}"
    return f"About {_count(until.year - interval.first.year, 'year')} by {written_day(until)}"


def _first_date(entry: MemoryEntry) -> DateInterval | None:
    dates = find_dates(entry.text, entry.recorded_at.date(), past=False)
    return dates[0].interval if dates else None


def _span(days: int, first: date, second: date, unit: str) -> str:
    """Returns the span in the unit asked for, and in other usual units: "77 days (11 weeks, or 2 months)"."""
    earlier, later = min(first, second), max(first, second)
    months = (later.year - earlier.year) * 12 + later.month - earlier.month - (later.day < earlier.day)
    years, rest_months = divmod(months, 12)
    weeks, rest_days = divmod(days, 7)
    spans = {"day": _count(days, "day")}
    if days >= 14 or unit == "week":
        spans["week"] = _counts((weeks, "week"), (rest_days, "day"))
    if months:
        spans["year" if years else "month"] = _counts((years, "year"), (rest_months, "month"))
    first_span = spans.pop(unit, None) or spans.pop("day")
    return first_span + (f" ({', or '.join(spans.values())})" if spans else "")


def _counts(*counted: tuple[int, str]) -> str:
    return " and ".join(_count(count, name) for count, name in counted if count) or _count(*counted[0])


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


def _age(entry: MemoryEntry, messages: Sequence[Message], today: date) -> str:
    """Returns the age today, from the year of birth or from the age on a known day; "" if neither is known."""
    text = plain(entry.text)
    born = re.search(r"\bborn\b.*?\b((?:19|20)\d\d)\b", text)
    if born:
        interval = entry.happened
        if interval is not None and interval.first == interval.last:
            day = interval.first
            return f"{today.year - day.year - ((today.month, today.day) < (day.month, day.day))} years old today."
        years = today.year - int(born[1])
        return f"{years - 1} or {years} years old, counted from {born[1]}."
    turned = re.search(r"\bturn(?:s|ed|ing)? (\w+(?:-\w+)?)", text)
    if turned and entry.happened and entry.happened.first <= today and (age := number(turned[1])):
        day = entry.happened.first
        passed = today.year - day.year - ((today.month, today.day) < (day.month, day.day))
        return f"{age + passed} years old by now."
    return ""
