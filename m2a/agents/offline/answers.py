"""Answers to questions: quotes with their date and source, and what code can count or compute from them."""

import re
from collections.abc import Sequence
from datetime import date

from m2a.agents.offline.dates import find_dates, number, written
from m2a.agents.offline.questions import Question
from m2a.agents.offline.relevance import Match, is_sure, share_evidence
from m2a.agents.offline.text import equivalents, plain, stem, stems
from m2a.agents.offline.values import amount_of
from m2a.agents.state import MemoryContext, PhotoView
from m2a.types import Concept, DateInterval, MemoryEntry, Message

DECLINED = "I don't have that in memory."
# EfficientNet's cosine from which two photos show one thing, and what the best must be ahead of the next by.
SAME_PHOTO = 0.60
PHOTO_MARGIN = 0.06
_LISTED = 8
_QUOTED = 2
_NEAREST = 3
_BESIDE = 2
_AS_NEAR = 0.1  # of the best memory's probability: what is told beside it as the nearest
_LOOSELY_CLOSE = 0.3  # of the best memory's probability: what is counted or told beside it
_CLOSE = 0.6  # the same for what is quoted beside it


def answer(
    question: Question,
    chosen: Sequence[MemoryEntry],
    context: MemoryContext,
    concepts: Sequence[Concept],
    today: date,
    recalled: Sequence[PhotoView] = (),
) -> str:
    """The answer in words, with its marks, from the chosen memories, best first; `DECLINED` where there is none."""
    if question.asks == "who is this":
        return _who_is_this(context, concepts, recalled)
    if not chosen:
        return DECLINED
    messages = context.messages
    match question.asks:
        case "count":
            return _counted(question, chosen, concepts, messages)
        case "until" | "ago" | "duration" | "age":
            return _computed(question, chosen, messages, today)
        case "show":
            return _shown(chosen, messages, recalled)
        case "about":
            return _list(chosen, messages) + _photos(chosen[:1], recalled)
    return _list(chosen, messages)


def nearest(found: Sequence[MemoryEntry], context: MemoryContext) -> str:
    """What comes near to an answer and may be none, so that nothing is read into it that was not said."""
    if len(found) == 1:
        return f"The nearest that I have: {quote(found[0], context.messages)}"
    return f"The nearest that I have:\n{_lines(found, context.messages)}"


def selected(question: Question, found: Sequence[Match]) -> list[MemoryEntry]:
    """Of the memories found, best first, those that the answer will rest on."""
    if not found:
        return []
    if not is_sure(found):
        close = [match.entry for match in found[:_NEAREST] if match.score >= _AS_NEAR * found[0].score]
        return _with_its_message(close, found)
    wide = question.asks in ("count", "about", "show")
    share = _LOOSELY_CLOSE if wide else _CLOSE
    close = [match.entry for match in found if match.score >= share * found[0].score]
    return close[:_LISTED] if wide else _with_its_message(close[:_QUOTED], found)


def _with_its_message(chosen: Sequence[MemoryEntry], found: Sequence[Match]) -> list[MemoryEntry]:
    """The best, what was said in one breath with it, and the rest: half of an answer often stands in the next sentence."""
    best = chosen[0]
    beside = [match.entry for match in found if match.entry is not best and share_evidence(match.entry, best)]
    together = [best, *beside[:_BESIDE]]
    return [*together, *(entry for entry in chosen if entry not in together)]


def quote(entry: MemoryEntry, messages: Sequence[Message]) -> str:
    """`On 12 March 2026 you told me: "…"` with the mark that cites the memory."""
    return f'On {_told_on(entry, messages)} you told me: "{entry.text}" [memory {entry.memory_id}]'


def photo_concepts(context: MemoryContext, concepts: Sequence[Concept]) -> list[tuple[float, Concept, MemoryEntry]]:
    """The named things that the message's photo looks like, best first, each with its best photo's memory."""
    known = {concept.concept_id: concept for concept in concepts}
    best: dict[int, tuple[float, Concept, MemoryEntry]] = {}
    for hit in context.hits:
        entry = hit.record
        if not isinstance(entry, MemoryEntry) or "photo" not in hit.similarity:
            continue
        for concept_id in entry.concept_ids:
            concept = known.get(concept_id)
            if concept is None or not set(concept.photo_ids) & set(entry.photo_ids):
                continue
            if concept_id not in best or hit.similarity["photo"] > best[concept_id][0]:
                best[concept_id] = (hit.similarity["photo"], concept, entry)
    return sorted(best.values(), key=lambda found: found[0], reverse=True)


def _list(found: Sequence[MemoryEntry], messages: Sequence[Message]) -> str:
    if len(found) == 1:
        return quote(found[0], messages)
    return f"You told me:\n{_lines(found, messages)}"


def _lines(found: Sequence[MemoryEntry], messages: Sequence[Message]) -> str:
    return "\n".join(f'- "{entry.text}" ({_told_on(entry, messages)}) [memory {entry.memory_id}]' for entry in found)


def _told_on(entry: MemoryEntry, messages: Sequence[Message]) -> str:
    """The day of the user's newest message under the memory."""
    said = [
        message.said_at
        for message in messages
        if message.role == "user" and any(first <= message.message_id <= last for first, last in entry.evidence_ids)
    ]
    day = max(said, default=entry.recorded_at).date()
    return written(DateInterval(day, day))


def _counted(
    question: Question, found: Sequence[MemoryEntry], concepts: Sequence[Concept], messages: Sequence[Message]
) -> str:
    """The sum over what the memories count or name: two cats and a tortoise are three pets."""
    nouns = set(equivalents(stem(question.noun)))
    species = {breed: noun for noun in nouns for breed in equivalents(noun) - nouns}
    per_noun: dict[str, int] = {}
    names: dict[str, set[int]] = {}
    for concept in concepts:
        for alias in concept.aliases:
            word = next((one for one in stems(alias) if one in nouns), None)
            if word is not None and any(concept.concept_id in match.concept_ids for match in found):
                names.setdefault(word, set()).add(concept.concept_id)
    for match in found:
        said = list(dict.fromkeys(one for one in stems(match.text) if one in nouns))
        if _TWIN in said:  # "the twins, our two boys" are counted once
            per_noun[_TWIN] = 2
            said = []
        said = said or [one for one in stems(match.text) if one in species][:1]
        for mentioned in said:
            word = species.get(mentioned, mentioned)
            count = amount_of(match.text, {mentioned})
            if count is not None:
                per_noun[word] = max(per_noun.get(word, 0), count)
            elif word not in per_noun and _is_owned(match.text, mentioned):
                per_noun[word] = 1
    for word, ids in names.items():
        if _TWIN in per_noun and ids <= names.get(_TWIN, set()) and word != _TWIN:
            continue
        per_noun[word] = max(per_noun.get(word, 0), len(ids))
    total = sum(per_noun.values())
    listed = _list(found[:_LISTED], messages)
    if len(found) == 1 and len(per_noun) == 1 and not names:
        return listed
    if not total:
        return listed
    what = next((word for word in plain(question.text).split() if word.strip("?,.").lower() == question.noun), "")
    counted = f"{total} {what.strip('?')}".strip() if total > 1 else str(total)
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


def _computed(question: Question, found: Sequence[MemoryEntry], messages: Sequence[Message], today: date) -> str:
    best = found[0]
    if question.asks == "age":
        age, quoted = _age(best, messages, today), quote(best, messages)
        return f"{age} {quoted}" if age else quoted
    if question.asks == "duration":  # it has begun: the wedding, and not the next anniversary
        best = next((one for one in found if (when := _happened(one)) and when.first <= today), best)
    quoted, interval = quote(best, messages), _happened(best)
    if interval is None:
        return quoted
    if question.asks == "duration" and question.within and interval.first < today < question.within.last:
        return f"{_span_to(_anniversary(interval, question.within), interval, question.unit)}. {quoted}"
    if question.asks == "duration" and interval.first > today:
        return quoted
    if interval.first > today:
        days = (interval.first - today).days
        span = _span(days, interval.first, today, question.unit)
        return f"{span} from today ({_day(today)}) to {_day(interval.first)}. {quoted}"
    days = (today - interval.first).days
    if days == 0:
        return f"That is today. {quoted}"
    if question.asks == "until":
        return f"That was {_span(days, interval.first, today, question.unit)} ago. {quoted}"
    about = "" if interval.first == interval.last else "about "
    since = "since then" if question.asks == "duration" else "ago"
    span = _span(days, interval.first, today, question.unit)
    return _upper(f"{about}{span} {since}, counted to today ({_day(today)}). {quoted}")


def _upper(text: str) -> str:
    return text[0].upper() + text[1:]


def _day(day: date) -> str:
    return written(DateInterval(day, day))


def _happened(entry: MemoryEntry) -> DateInterval | None:
    return entry.happened or _first_date(entry)


def _anniversary(interval: DateInterval, within: DateInterval) -> date:
    """The day to count to where "this November" is asked of: that of the year, where it lies there; else the last."""
    day = interval.first
    if interval.first == interval.last and (day.month, day.day) != (2, 29):
        for year in (within.first.year, within.last.year):
            if within.first <= day.replace(year=year) <= within.last:
                return day.replace(year=year)
    return within.last


def _span_to(until: date, interval: DateInterval, unit: str) -> str:
    if interval.first == interval.last:
        return f"{_span((until - interval.first).days, interval.first, until, unit)} on {_day(until)}"
    return f"About {_count(until.year - interval.first.year, 'year')} by {_day(until)}"


def _first_date(entry: MemoryEntry) -> DateInterval | None:
    found = find_dates(entry.text, entry.recorded_at.date(), past=False)
    return found[0].interval if found else None


def _span(days: int, first: date, second: date, unit: str) -> str:
    """In the unit asked for, and beside it the others that one thinks in: "77 days (11 weeks, or 2 months)"."""
    earlier, later = min(first, second), max(first, second)
    months = (later.year - earlier.year) * 12 + later.month - earlier.month - (later.day < earlier.day)
    years, rest_months = divmod(months, 12)
    weeks, rest_days = divmod(days, 7)
    told = {"day": _count(days, "day")}
    if days >= 14 or unit == "week":
        told["week"] = _counts((weeks, "week"), (rest_days, "day"))
    if months:
        told["year" if years else "month"] = _counts((years, "year"), (rest_months, "month"))
    first_told = told.pop(unit, None) or told.pop("day")
    return first_told + (f" ({', or '.join(told.values())})" if told else "")


def _counts(*counted: tuple[int, str]) -> str:
    return " and ".join(_count(count, name) for count, name in counted if count) or _count(*counted[0])


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


def _age(entry: MemoryEntry, messages: Sequence[Message], today: date) -> str:
    """How old by now: from the year of birth, or from the age on a day that is known."""
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


def _shown(found: Sequence[MemoryEntry], messages: Sequence[Message], recalled: Sequence[PhotoView]) -> str:
    chosen = [
        match for match in found if any(view.memory and view.memory.memory_id == match.memory_id for view in recalled)
    ]
    if not chosen:
        return f"I have no photo of that. {_list(found[:1], messages)}"
    photos = _photos(chosen[:1], recalled)
    here = "Here they are" if photos.count("[photo") > 1 else "Here it is"
    return f"{here}. {quote(chosen[0], messages)}{photos}"


def _photos(found: Sequence[MemoryEntry], recalled: Sequence[PhotoView]) -> str:
    shown = {match.memory_id for match in found}
    marks = [
        f" [photo {view.number}]" for view in recalled if view.memory is not None and view.memory.memory_id in shown
    ]
    return "".join(marks)


def _who_is_this(context: MemoryContext, concepts: Sequence[Concept], recalled: Sequence[PhotoView]) -> str:
    """A guess in words where one known thing is clearly nearest, a question where two are, else an invitation."""
    found = photo_concepts(context, concepts)
    if not found or found[0][0] < SAME_PHOTO:
        return f"{DECLINED} I don't recognise what this photo shows; tell me a name and I'll keep it with the photo."
    similarity, concept, entry = found[0]
    shown = "".join(
        f" [photo {view.number}]" for view in recalled if view.memory and view.memory.memory_id == entry.memory_id
    )
    if len(found) > 1 and similarity - found[1][0] < PHOTO_MARGIN:
        other = found[1]
        marks = f"[memory {entry.memory_id}] [memory {other[2].memory_id}]"
        return f"I'm not sure: is this {concept.name} or {other[1].name}? {marks}"
    return f"This looks like {concept.name}. {quote(entry, context.messages)}{shown}"
