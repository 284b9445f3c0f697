"""Answers to questions, from the memories chosen for them; quotations are copied from the raw messages that a memory cites."""

import re
from collections.abc import Sequence
from datetime import date

from m2a.agents.offline.clauses import segments
from m2a.agents.offline.computed_answers import computed, counted
from m2a.agents.offline.dialogues import speaker_named
from m2a.agents.offline.messages import MAX_OF_A_DAY, quoted
from m2a.agents.offline.photo_answers import photo_marks
from m2a.agents.offline.questions import Question
from m2a.agents.offline.quoting import as_list, capitalised, day_told, followed_by, quote, written_day
from m2a.agents.offline.relevance import messages_of
from m2a.agents.offline.selection import newest_of_each
from m2a.agents.state import FollowedFact, MemoryContext, PhotoView
from m2a.types import Concept, MemoryEntry, Message

DECLINED = "I don't have that in memory."
UNSURE = "I don't know for sure."
STILL_OPEN = "That was still open when you told me."


def answer(
    question: Question,
    chosen: Sequence[MemoryEntry],
    context: MemoryContext,
    concepts: Sequence[Concept],
    today: date,
    recalled: Sequence[PhotoView],
) -> str:
    """Returns the answer with its citation marks, from the chosen memories, best first, or else from messages.

    Of memories that exclude each other, only the newest is quoted, with a note that older ones are kept. Returns "" if there are
    neither memories nor messages.
    """
    if not chosen:
        return capitalised(_quoted_messages(question, messages_of(context.hits)))
    current, older = newest_of_each(chosen)
    text = _answer(question, current, context.messages, concepts, today, recalled)
    text = followed_by(text, _older_notes(older, context.messages))
    is_open = not _ASKS_FOR_PLANS.search(question.text) and all(_is_open(entry.text) for entry in current)
    return f"{STILL_OPEN} {text}" if is_open else text


_OPEN = re.compile(
    r"\b(?:might|maybe|perhaps|possibly|hop(?:e|es|ed|ing) (?:to|that|for)|think(?:s|ing)? (?:of|about) \w+ing|considering|"
    r"(?<!in )(?<!of )(?<!last )(?<!this )(?<!next )(?-i:may [a-z]))",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\W*(?:if|unless|when|once|as|because|since|although|though)\b", re.IGNORECASE)
_ASKS_FOR_PLANS = re.compile(
    r"\b(?:might|may|hop(?:e|es|ing)|think(?:s|ing)?|considering|plan(?:s|ned|ning)?|wants?|dream(?:s|ing)?|wish(?:es)?|ideas?|"
    r"will|would|going to|next|soon)\b|'ll\b",
    re.IGNORECASE,
)


def _is_open(text: str) -> bool:
    """Returns whether every clause of the text is about something uncertain: "Daniel might get a job in Braga".

    After the first clause, one that only gives a condition or a reason does not count: "…, if the visa comes".
    """
    clause, *others = (text[first:last] for first, last in segments(text))
    return bool(_OPEN.search(clause)) and all(_OPEN.search(other) or _CONDITION.match(other) for other in others)


def _answer(
    question: Question,
    entries: Sequence[MemoryEntry],
    messages: Sequence[Message],
    concepts: Sequence[Concept],
    today: date,
    recalled: Sequence[PhotoView],
) -> str:
    match question.kind.reply_form:
        case "counted":
            return counted(question, entries, concepts, messages)
        case "computed":
            return computed(question, entries, messages, today)
        case "shown":
            return _shown(entries, messages, recalled)
        case "with photos":
            return " ".join([as_list(entries, messages, question), *photo_marks(entries[:1], recalled)])
    return as_list(entries, messages, question)


def from_facts(facts: Sequence[FollowedFact], messages: Sequence[Message]) -> str:
    """Returns the value of the last fact on a line of its own, followed by a quotation of each fact."""
    days = {message.message_id: message.said_at.date() for message in messages}
    quotations = [f'On {written_day(days[fact.message_id])} you told me: "{fact.sentence}"' for fact in facts]
    return "\n".join([capitalised(facts[-1].value), *dict.fromkeys(quotations)])


def _older_notes(older: Sequence[MemoryEntry], messages: Sequence[Message]) -> list[str]:
    """Returns a note that older statements about the same are kept, if there are any."""
    if not older:
        return []
    if len(older) == 1:
        return [f"I also keep what you said about it before, on {day_told(older[0], messages)}."]
    return [f"I also keep {len(older)} older statements about it."]


def _quoted_messages(question: Question, messages: Sequence[Message]) -> str:
    """Returns quotations of the messages, for what is in no memory or is asked for by its day; "" without messages."""
    if question.kind.reply_form == "said on the day":
        heading = "The last that you told me on {}:" if len(messages) >= MAX_OF_A_DAY else "On {} you said:"
        by_day: dict[date, list[str]] = {}
        for message in messages:
            by_day.setdefault(message.said_at.date(), []).append(f'- "{message.text.strip()}"')
        return "\n".join("\n".join([heading.format(written_day(day)), *lines]) for day, lines in by_day.items())
    quotations = [
        f'on {written_day(m.said_at.date())} {speaker_named(m) or "you"} said: "{quoted(question.text, m)}"'
        for m in messages
    ]
    return ", and ".join(quotations)


def nearest(question: Question, entries: Sequence[MemoryEntry], context: MemoryContext) -> str:
    """Returns quotations of the nearest memories, or else messages, worded as something that may not be an answer.

    Returns "" if there are none.
    """
    if not entries:
        text = _quoted_messages(question, messages_of(context.hits))
        return f"The nearest that I find in our conversations: {text}" if text else ""
    current, older = newest_of_each(entries)
    text = as_list(current, context.messages, question, opening="The nearest that I have:")
    return followed_by(text, _older_notes(older, context.messages))


def _shown(entries: Sequence[MemoryEntry], messages: Sequence[Message], recalled: Sequence[PhotoView]) -> str:
    entry = next((entry for entry in entries if photo_marks([entry], recalled)), None)
    if entry is None:
        return f"I have no photo of that. {as_list(entries[:1], messages)}"
    marks = photo_marks([entry], recalled)
    opening = "Here they are." if len(marks) > 1 else "Here it is."
    return " ".join([opening, quote(entry, messages), *marks])
