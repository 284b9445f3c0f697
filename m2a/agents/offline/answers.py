"""Answers to questions, from the memories chosen for them. What is quoted is copied from the raw messages that a memory cites."""

import re
from collections.abc import Sequence
from datetime import date

from m2a.agents.offline.clauses import segments
from m2a.agents.offline.computing import computed, counted
from m2a.agents.offline.questions import Question
from m2a.agents.offline.quoting import (
    as_lines,
    as_list,
    capitalised,
    day_told,
    followed_by,
    quote,
    told_once,
    written_day,
)
from m2a.agents.offline.relevance import together
from m2a.agents.offline.said import OF_A_DAY, quoted
from m2a.agents.offline.selection import newest_of_each
from m2a.agents.state import FollowedFact, MemoryContext, PhotoView
from m2a.types import Concept, MemoryEntry, Message

DECLINED = "I don't have that in memory."
STILL_OPEN = "That was still open when you told me."
_WHOLE_MESSAGE = 400  # characters up to which the nearest message is quoted as a whole


def answer(
    question: Question,
    chosen: Sequence[MemoryEntry],
    context: MemoryContext,
    concepts: Sequence[Concept],
    today: date,
    recalled: Sequence[PhotoView] = (),
) -> str:
    """Returns the answer with its citation marks from the chosen memories, best first, or else from messages; "" without either.

    Of memories that exclude each other only the newest is quoted, with a note that older ones are kept.
    """
    messages = context.messages
    if not chosen:
        found = [hit.record for hit in context.hits if isinstance(hit.record, Message)]
        return _quoted_messages(question, found) if found else ""
    current, older = newest_of_each(chosen)
    reply = followed_by(_answer(question, current, messages, concepts, today, recalled), _older_notes(older, messages))
    is_open = not _ASKS_OF_PLANS.search(question.text) and all(_is_open(entry.text) for entry in current)
    return f"{STILL_OPEN} {reply}" if is_open else reply


_OPEN = re.compile(
    r"\b(?:might|maybe|perhaps|possibly|hop(?:e|es|ed|ing) (?:to|that|for)|think(?:s|ing)? (?:of|about) \w+ing|considering|"
    r"(?<!in )(?<!of )(?<!last )(?<!this )(?<!next )(?-i:may [a-z]))",
    re.IGNORECASE,
)
_ON_CONDITION = re.compile(r"\W*(?:if|unless|when|once|as|because|since|although|though)\b", re.IGNORECASE)
_ASKS_OF_PLANS = re.compile(
    r"\b(?:might|may|hop(?:e|es|ing)|think(?:s|ing)?|considering|plan(?:s|ned|ning)?|wants?|dream(?:s|ing)?|wish(?:es)?|ideas?|"
    r"will|would|going to|next|soon)\b|'ll\b",
    re.IGNORECASE,
)


def _is_open(text: str) -> bool:
    """Returns whether every clause of the text is about something uncertain: "Daniel might get a job in Braga"."""
    clauses = [text[first:last] for first, last in segments(text)]
    return _OPEN.search(clauses[0]) is not None and all(
        _OPEN.search(clause) or _ON_CONDITION.match(clause) for clause in clauses
    )


def _answer(
    question: Question,
    entries: Sequence[MemoryEntry],
    messages: Sequence[Message],
    concepts: Sequence[Concept],
    today: date,
    recalled: Sequence[PhotoView],
) -> str:
    match question.kind.answer:
        case "counted":
            return counted(question, entries, concepts, messages)
        case "computed":
            return computed(question, entries, messages, today)
        case "shown":
            return _shown(entries, messages, recalled)
        case "with photos":
            return as_list(entries, messages, question.names) + _photos(entries[:1], recalled)
    return as_list(entries, messages, question.names)


def led_to(facts: Sequence[FollowedFact], messages: Sequence[Message]) -> str:
    """Returns the value of the last fact on a line of its own, followed by a quotation for each fact."""
    days = {message.message_id: message.said_at.date() for message in messages}
    quotations = [f'On {written_day(days[fact.message_id])} you told me: "{fact.sentence}"' for fact in facts]
    return "\n".join([capitalised(facts[-1].value), *dict.fromkeys(quotations)])


def _older_notes(older: Sequence[MemoryEntry], messages: Sequence[Message]) -> list[str]:
    """Returns a note that older statements about the same are kept, if there are any."""
    if not older:
        return []
    if len(older) == 1:
        return [f"I also keep what you said of it before, on {day_told(older[0], messages)}."]
    return [f"I also keep {len(older)} older statements about it."]


def _quoted_messages(question: Question, messages: Sequence[Message]) -> str:
    """Returns quotations of the messages, for what is in no memory or is asked for by its day."""
    if question.kind.answer == "said on the day":
        days = list(dict.fromkeys(m.said_at.date() for m in messages))
        may_be_more = len(messages) >= OF_A_DAY
        head = "The last that you told me on {}:" if may_be_more else "On {} you said:"
        return "\n".join(
            "\n".join(
                [head.format(written_day(day)), *(f'- "{m.text.strip()}"' for m in messages if m.said_at.date() == day)]
            )
            for day in days
        )
    parts = [f'on {written_day(m.said_at.date())} you said: "{quoted(question.text, m)}"' for m in messages]
    return capitalised(", and ".join(parts))


def nearest(question: Question, entries: Sequence[MemoryEntry], context: MemoryContext) -> str:
    """Returns quotations of the nearest memories, or else messages, worded as something that may not be an answer.

    Returns "" if there are none.
    """
    if not entries:
        parts = []
        for message in (hit.record for hit in context.hits if isinstance(hit.record, Message)):
            words = message.text.strip() if len(message.text) <= _WHOLE_MESSAGE else quoted(question.text, message)
            parts.append(f'on {written_day(message.said_at.date())} you said: "{words}"')
        return f"The nearest that I find in our conversations: {', and '.join(parts)}" if parts else ""
    current, older = newest_of_each(entries)
    notes = _older_notes(older, context.messages)
    groups = told_once(together(current), context.messages)
    if len(groups) == 1:
        (entry, *corrections), beside = groups[0]
        quotation = quote(entry, context.messages, corrections, beside, question.names)
        return followed_by(f"The nearest that I have: {quotation}", notes)
    return followed_by(f"The nearest that I have:\n{as_lines(current, context.messages, question.names)}", notes)


def _shown(entries: Sequence[MemoryEntry], messages: Sequence[Message], recalled: Sequence[PhotoView]) -> str:
    chosen = [
        entry for entry in entries if any(view.memory and view.memory.memory_id == entry.memory_id for view in recalled)
    ]
    if not chosen:
        return f"I have no photo of that. {as_list(entries[:1], messages)}"
    photos = _photos(chosen[:1], recalled)
    here = "Here they are" if photos.count("[photo") > 1 else "Here it is"
    return f"{here}. {quote(chosen[0], messages)}{photos}"


def _photos(entries: Sequence[MemoryEntry], recalled: Sequence[PhotoView]) -> str:
    ids = {entry.memory_id for entry in entries}
    marks = [f" [photo {view.number}]" for view in recalled if view.memory is not None and view.memory.memory_id in ids]
    return "".join(marks)
