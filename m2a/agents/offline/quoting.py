"""A memory as an answer quotes it: the user's own words from the raw messages that it cites, with day, corrections and marks."""

import re
from collections.abc import Collection, Sequence
from datetime import date
from itertools import groupby

from m2a.agents.offline.claims import Claim
from m2a.agents.offline.clauses import PRONOUNS, find_subject
from m2a.agents.offline.dates import find_dates, written
from m2a.agents.offline.dialogues import speaker_named
from m2a.agents.offline.photo_statements import said_to_user
from m2a.agents.offline.questions import Question
from m2a.agents.offline.relevance import correction_groups
from m2a.agents.offline.text import content
from m2a.memory.quotations import Quotation, quotations
from m2a.memory.withheld import FORGOTTEN
from m2a.memory.words import finished_words
from m2a.types import DateInterval, MemoryEntry, Message


def quote(
    entry: MemoryEntry,
    messages: Sequence[Message],
    corrections: Sequence[MemoryEntry] = (),
    beside: Sequence[MemoryEntry] = (),
    question: Question | None = None,
) -> str:
    """Returns `On 12 March 2026 you told me: "…"` with marks that cite the memory and those `beside` it.

    `beside` are memories whose words are part of the quotation. The corrections are quoted in the order of `_in_order`. What
    day "next Friday" means is added unless the `question` asks for something else.
    """
    (first, _), *others = _in_order(entry, corrections, question)
    words = _quoted(first, messages, dated=_asks_when(question))
    quotation = f"{capitalised(words)} {_marks(first, beside if first is entry else ())}"
    return followed_by(quotation, _others(others, entry, messages, beside, question))


_KINDS_WITH_DAYS = frozenset(("day", "until", "ago", "duration", "age", "time", "about"))
_OF_TIME = re.compile(
    r"\b(?:when|next|dates?|days?|weeks?|plans?|planned|planning|appointments?|booked|due)\b", re.IGNORECASE
)


def _asks_when(question: Question | None) -> bool:
    """Returns whether the days that a quotation means matter to the question or to another of its message, or there is none."""
    if question is None or question.within is not None:
        return True
    return question.kind.name in _KINDS_WITH_DAYS or _OF_TIME.search(f"{question.text} {question.beside}") is not None


def _in_order(
    entry: MemoryEntry, corrections: Sequence[MemoryEntry], question: Question | None
) -> list[tuple[MemoryEntry, str]]:
    """Returns a memory and its corrections in the order of quotation, each after the first with words that introduce it.

    The newest comes first, since it holds, unless it is about somebody other than those whom the question names: "Bas is eight"
    says nothing about Noor in "Bas is seven and Noor is four".
    """
    mentioned_names = content(" ".join(question.names if question else ())) & content(entry.text)
    subject = Claim.of(corrections[-1].text).subject_names if corrections else frozenset()
    if mentioned_names and subject and not mentioned_names & subject:
        return [(entry, ""), *((correction, "Since then") for correction in corrections)]
    return [(member, "Before that") for member in reversed((entry, *corrections))]


def followed_by(text: str, more: Sequence[str]) -> str:
    """Returns the text followed by `more` sentences. If there are any, the text ends in a full stop before its last marks."""
    if not more:
        return text
    words = _LAST_MARKS.sub("", text)
    end = "" if _ENDS.search(words) else "."
    return " ".join([f"{words}{end}{text[len(words) :]}", *more])


_LAST_MARKS = re.compile(r"(?: \[(?:memory|photo) \d+\])+$")
_ENDS = re.compile(r"[.!?…]\W*$")


def _others(
    others: Sequence[tuple[MemoryEntry, str]],
    entry: MemoryEntry,
    messages: Sequence[Message],
    beside: Sequence[MemoryEntry],
    question: Question | None,
) -> list[str]:
    """Returns the quotations after the first one of a memory and its corrections; `beside` are cited with `entry`."""
    dated = _asks_when(question)
    return [
        f"{introduction}, {_quoted(member, messages, dated=dated)} {_marks(member, beside if member is entry else ())}"
        for member, introduction in others
    ]


def _quoted(entry: MemoryEntry, messages: Sequence[Message], *, dated: bool) -> str:
    """Returns the user's words behind the memory with the days of telling, and if `dated`, the dates that the memory adds."""
    quotes = _quotations_of(entry, messages)
    if not quotes:
        return f"on {day_told(entry, messages)} you told me something that I cannot quote"
    person = _who_is_meant(entry, quotes)
    about = f" about {person}" if person else ""
    parts = [
        f"on {written_day(day)} {f'{speaker} said' if speaker else 'you told me'}{about}: "
        + " and ".join(f'"{quotation.text}"' for quotation in of_day)
        for (day, speaker), of_day in groupby(quotes, _day_and_speaker)
    ]
    if not dated:
        return " and ".join(parts)
    told_on = {quotation.message.said_at.date() for quotation in quotes}
    added = (day for day in _days_meant(entry, told_on) if not any(day in quotation.text for quotation in quotes))
    dates = ", ".join(dict.fromkeys(added))
    return " and ".join(parts) + (f" (meaning {dates})" if dates else "")


def _day_and_speaker(quotation: Quotation) -> tuple[date, str | None]:
    return quotation.message.said_at.date(), speaker_named(quotation.message)


def _days_meant(entry: MemoryEntry, told_on: Collection[date]) -> list[str]:
    """Returns the dates added to the user's words; if the memory has a date inside one, that date: "next month, on the 3rd".

    What everybody knows is left out: "today", "this week" and "last year" of a quotation with its day, and when Christmas is.
    """
    dates = [d.interval for d in find_dates(entry.text, entry.recorded_at.date(), past=False)]
    days = []
    for match in _DATE_ADDED.finditer(entry.text):
        added = match[1]
        found = [d.interval for d in find_dates(added, entry.recorded_at.date(), past=False)]
        period = DateInterval(found[0].first, found[-1].last) if found else None
        is_of_then = period is not None and any(period.first <= day <= period.last for day in told_on)
        if is_of_then or added.isdigit() or _FEAST_BEFORE.search(entry.text, 0, match.start()):
            continue
        others = [d for d in dates if d != period and d not in found]
        within = [d for d in others if period and period.first <= d.first and d.last <= period.last]
        days.append(written(min(within, key=lambda d: d.last - d.first)) if within else added)
    return days


_FEAST_BEFORE = re.compile(r"\b(?:christmas(?: eve)?|boxing day|new year's (?:eve|day)|halloween) $", re.IGNORECASE)
_DATE_ADDED = re.compile(r"\(((?:\d{1,2} )?(?:[A-Z][a-z]+ )?\d{4}(?: to [^()]*\d{4})?)\)")

_ENDS_WITHHELD = re.compile(re.escape(FORGOTTEN) + r"\W*(?:(?:and|but|so)\W+)?$", re.IGNORECASE)
# Forgotten words, and the conjunctions that joined them to the rest.
_FORGOTTEN_CLAUSE = re.compile(
    r"(?:[\s,;:–—-]+(?:and|but|or|so|because|since|although|though|while|und|aber|oder|et|mais|y|pero|e|ma)\b){0,2}"
    r"[\s,;:–—-]*" + re.escape(FORGOTTEN) + r"\W*(?:(?:and|but|or|so)\b\W*)?",
    re.IGNORECASE,
)
_BEGINS_WITH_PRONOUN = re.compile(
    r"\W*(?:(?:oh|and|but|so|also|btw|plus)\W+)*(?:he|she|they|his|her|their)\b", re.IGNORECASE
)


def _who_is_meant(entry: MemoryEntry, quotes: Sequence[Quotation]) -> str:
    """Returns the subject of the memory if its quotation does not name it, since it begins with "she" or after withheld words.

    Returns "" if the quotation begins otherwise.
    """
    if not quotes or not (_BEGINS_WITH_PRONOUN.match(quotes[0].text) or _follows_withheld_words(quotes[0])):
        return ""
    subject = find_subject(entry.text)
    if subject is None or subject.text.lower() in PRONOUNS or _BEGINS_WITH_PRONOUN.match(subject.text):
        return ""
    is_named = subject.text.casefold() in quotes[0].text.casefold()
    return "" if is_named else said_to_user(subject.text.removesuffix("'s"))


def _follows_withheld_words(quotation: Quotation) -> bool:
    before = quotation.message.text.partition(quotation.text)[0]
    return quotation.text[:1].islower() and _ENDS_WITHHELD.search(before) is not None


def _quotations_of(entry: MemoryEntry, messages: Sequence[Message]) -> list[Quotation]:
    """Returns the quotations for a memory: the newer of repeated words, or the whole message if the memory rewords it."""
    quotes = quotations(entry, messages)
    if not quotes:
        sources = [m for m in messages if m.role == "user" and entry.rests_on_message(m.message_id) and m.text.strip()]
        quotes = [Quotation(message, message.text.strip()) for message in sources[-1:]]
    quotes = [Quotation(quotation.message, piece) for quotation in quotes for piece in _not_withheld(quotation.text)]
    words = [set(finished_words(quotation.text)) for quotation in quotes]
    return [
        quotation
        for index, quotation in enumerate(quotes)
        if not any(words[index] <= later for later in words[index + 1 :])
    ]


def _not_withheld(text: str) -> list[str]:
    """Returns the pieces of a quotation that are left after forgotten words are removed."""
    if FORGOTTEN not in text:
        return [text]
    pieces = [piece.strip(" \n,;:&-") for piece in _FORGOTTEN_CLAUSE.split(text)]
    return [piece for piece in pieces if len(piece.split()) > 1]


def as_list(
    entries: Sequence[MemoryEntry], messages: Sequence[Message], question: Question | None = None, *, opening: str = ""
) -> str:
    """Returns the quotation of a memory with its corrections, or a list if there are several memories.

    The `opening` is put in front. Without one, a list opens with "You told me:", or "They said:" for several people.
    """
    groups = _quoted_once(correction_groups(entries), messages)
    if len(groups) == 1:
        (entry, *corrections), beside = groups[0]
        return f"{opening} {quote(entry, messages, corrections, beside, question)}".lstrip()
    lines = [_line(group, beside, messages, question) for group, beside in groups]
    are_several = any(speaker_named(message) for message in messages)
    return "\n".join([opening or ("They said:" if are_several else "You told me:"), *lines])


def _line(
    group: Sequence[MemoryEntry], beside: Sequence[MemoryEntry], messages: Sequence[Message], question: Question | None
) -> str:
    entry, *corrections = group
    (first, _), *others = _in_order(entry, corrections, question)
    quotes = _quotations_of(first, messages)
    person = _who_is_meant(first, quotes)
    about = f"About {person}: " if person else ""
    speaker = speaker_named(quotes[0].message) if quotes else None
    by = f"{speaker}: " if speaker else ""
    words = " and ".join(f'"{quotation.text}"' for quotation in quotes) or "Something that I cannot quote"
    line = f"- {by}{about}{words} ({day_told(first, messages)}) {_marks(first, beside if first is entry else ())}"
    return followed_by(line, _others(others, entry, messages, beside, question))


def _quoted_once(
    groups: Sequence[list[MemoryEntry]], messages: Sequence[Message]
) -> list[tuple[list[MemoryEntry], list[MemoryEntry]]]:
    """Returns each group with the memories that its quotation cites.

    A memory without corrections whose words another quotation contains is cited there instead.
    """
    words = [[(q.message.message_id, q.text) for q in _quotations_of(group[0], messages)] for group in groups]
    quoted_by: dict[int, int] = {}
    for index in (index for index, group in enumerate(groups) if len(group) == 1 and words[index]):
        others = (other for other in range(len(groups)) if other not in (index, *quoted_by))
        other = next((other for other in others if _are_among(words[index], words[other])), None)
        if other is not None:
            quoted_by |= {index: other, **{i: other for i, quoting in quoted_by.items() if quoting == index}}
    return [
        (group, [groups[other][0] for other, quoting in quoted_by.items() if quoting == index])
        for index, group in enumerate(groups)
        if index not in quoted_by
    ]


def _are_among(words: Sequence[tuple[int, str]], others: Sequence[tuple[int, str]]) -> bool:
    return all(any(source == other and text in longer for other, longer in others) for source, text in words)


def _marks(entry: MemoryEntry, beside: Sequence[MemoryEntry]) -> str:
    return " ".join(map(mark, (entry, *beside)))


def mark(entry: MemoryEntry) -> str:
    """Returns the mark that cites a memory."""
    return f"[memory {entry.memory_id}]"


def day_told(entry: MemoryEntry, messages: Sequence[Message]) -> str:
    """Returns the day of the user's newest message that the memory cites."""
    dates = [m.said_at for m in messages if m.role == "user" and entry.rests_on_message(m.message_id)]
    return written_day(max(dates, default=entry.recorded_at).date())


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def written_day(day: date) -> str:
    return written(DateInterval(day, day))
