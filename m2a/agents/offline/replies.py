"""The reply: acknowledgement of a message, answers to its questions, small talk, and what these rules cannot do."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from m2a.agents.offline.answers import DECLINED, answer, led_to, nearest
from m2a.agents.offline.interpretation import Interpretation
from m2a.agents.offline.languages import is_english
from m2a.agents.offline.memory_requests import NOT_TO_MENTION
from m2a.agents.offline.names import mentioned
from m2a.agents.offline.questions import Question, content_words
from m2a.agents.offline.quoting import as_list, mark
from m2a.agents.offline.recognised import remarks, who_is_this
from m2a.agents.offline.relevance import answers, is_sure
from m2a.agents.offline.said import without_history
from m2a.agents.offline.selection import selected, speaks_of
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.shown import asks_for_photos, photos_shown, showing
from m2a.agents.offline.statements import Reading
from m2a.agents.offline.utterances import utterances
from m2a.agents.state import MemoryContext, TurnState
from m2a.types import MemoryEntry, Message

CONNECT = (
    "I run without a language model, so I can only remember what you tell me and look it up. "
    "You can connect one in Settings."
)
UNREAD = "I can't read that question without a language model."
# Small talk: patterns and replies. The first match is used.
_SMALL_TALK = (
    (r"\bthank|\bthx\b|\bcheers\b|\bappreciate|\bta\b", "You're welcome!"),
    (r"\bgood ?night\b|\bsleep well\b|\bsweet dreams\b|\bbedtime\b|\bgoing to bed\b", "Good night!"),
    (
        r"\bbye\b|\bsee (?:you|ya)\b|\btake care\b|\btalk (?:to you )?(?:later|soon)|\bthat's all\b",
        "Goodbye, until next time!",
    ),
    (
        r"\bhow are you\b|\bhow(?:'s| is) it going\b|\bhow are things\b",
        "I'm well, thank you. What would you like me to remember or look up?",
    ),
    (r"\bmorning\b", "Good morning!"),
    (r"\bevening\b", "Good evening!"),
    (
        r"\bwho are you\b|\bwhat are you\b|\byour name\b|\bwhat can you do\b|^\W*help\W*$",
        f"I'm M2A, your memory. {CONNECT}",
    ),
    (r"^\W*(?:hi|hello|hey|hiya|howdy|greetings)\b", "Hello!"),
    (r"\bsorry\b", "No problem."),
    (r"\byou're\b|\byou are\b|\bwell done\b|\bgood job\b", "That's kind of you."),
    (r"\bweather\b|\bsun(?:ny)?\b|\brain|\bsnow", "I can't look out of the window, but I hope that you enjoy it."),
    (r"\bfingers crossed\b|\bluck\b", "Fingers crossed!"),
    (r"\bhaha|\bhehe|\blol\b|\bfunny\b|😂|😄", "Glad that you can laugh."),
)


NOT_KEPT_HERE = "Nothing is kept of a temporary chat: this is gone when the chat ends."
NOT_CHANGED_HERE = "Nothing is changed or forgotten from a temporary chat; tell me in a conversation that is kept."


def small_talk(text: str) -> str:
    for pattern, reply in _SMALL_TALK:
        if re.search(pattern, text, re.IGNORECASE):
            return reply
    return "All right. I kept nothing of that as a memory; it stays in this conversation."


@dataclass(frozen=True, slots=True)
class _Reply:
    """The reply to a question. If it `declines`, the text says what is near to an answer, if anything is."""

    text: str
    declines: bool = False
    may_connect: bool = False

    def __str__(self) -> str:
        sentences = [DECLINED if self.declines else "", self.text, CONNECT if self.may_connect else ""]
        return " ".join(filter(None, sentences))


def reply_parts(state: TurnState, heard: Interpretation, sense: Sense) -> list[str]:
    """Returns the paragraphs of the reply."""
    questions = [q for q in heard.questions if q.is_read or _has_hits(q, heard, state)]
    unread = [q.text for q in questions if not q.is_read]
    today = state.message.said_at.date()
    replies: list[_Reply] = []
    for question in questions:
        reply = _reply_to(question, heard.questions.index(question), state, replies, sense)
        if reply is not None:
            replies.append(reply)
    photos = (
        [] if _names_photos(heard.reading) or any(q.kind.answer == "recognised" for q in questions) else state.photos
    )
    is_known = any(view.recognition.recognised for view in photos)  # "whose clock is this?"
    answered = [str(reply) for reply in replies if not reply.declines]
    declined = [reply for reply in replies if reply.declines]
    parts = [acknowledgement(heard.reading, unread, is_temporary=state.is_temporary), *dict.fromkeys(answered)]
    if answered and declined:
        near = next((reply.text for reply in declined if reply.text), "")
        parts.append(f"The rest of what you ask I don't have in memory. {near}".rstrip())
    elif not is_known:
        parts += map(str, declined[:1])
    parts.append(remarks(photos, today))
    paragraphs = [part for part in parts if part]
    return paragraphs or [_reply_to_rest(state, sense)]


def _reply_to(
    question: Question, index: int, state: TurnState, replies: Sequence[_Reply], sense: Sense
) -> _Reply | None:
    """Returns the reply to a question, None if the `replies` to those before it say the same already."""
    context = without_history(state.context[index]) if index < len(state.context) else MemoryContext("", (), ())
    entries = [hit.record for hit in context.hits if isinstance(hit.record, MemoryEntry)]
    certain = not context.only_near
    if not context.complete:  # out of rounds: the memories are search results, not chosen yet
        matches = answers(question, context.hits, state.concepts, sense)
        entries, certain = selected(question, matches), is_sure(matches)
    fresh = [entry for entry in entries if not any(mark(entry) in reply.text for reply in replies)]
    if entries and (question.kind.answer == "quoted" or not certain):
        if not fresh if certain else entries[0] not in fresh and _has_its_words(question, entries[0]):
            return None
        entries = fresh
    today = state.message.said_at.date()
    if context.facts:
        return _Reply(led_to(context.facts, context.messages))
    if question.kind.answer == "recognised":
        photos, temporary = state.photos, state.is_temporary
        text, is_known = who_is_this(photos, context, state.recalled, today, is_temporary=temporary)
        return _Reply(text) if is_known else _declined(question, state, text)
    if not entries and (shown := _shown(question, context, state)):
        return _Reply(photos_shown(shown, state.recalled, state.concepts))
    if context.hits and not certain:
        near = nearest(question, entries, context)
        return _declined(question, state, near) if question.is_read else _Reply(f"{UNREAD} {near}".rstrip())
    text = answer(question, entries, context, state.concepts, today, state.recalled)
    if entries and not fresh and text == as_list(entries, context.messages, question.names):
        return None  # an age that is only quoted
    return _Reply(text) if text else _declined(question, state)


def _declined(question: Question, state: TurnState, near: str = "") -> _Reply:
    """Returns the reply without an answer. A question about nothing that the user told may be one for a language model."""
    is_general = not near and not question.about_self and not mentioned(question.text, state.concepts)
    return _Reply(near, declines=True, may_connect=is_general)


def _has_its_words(question: Question, entry: MemoryEntry) -> bool:
    """Returns whether the memory has a word of the question, apart from names."""
    names = {word for name in question.names for word in content_words(name)}
    words = tuple(word for word in question.words if word not in names)
    return speaks_of(replace(question, words=words), [entry])


def _shown(question: Question, context: MemoryContext, state: TurnState) -> list[Message]:
    """Returns the messages with photos that were found for a question that asks for photos."""
    if not asks_for_photos(question):
        return []
    messages = [hit.record for hit in context.hits if isinstance(hit.record, Message)]
    return showing(messages, state.message.message_id)


def _names_photos(reading: Reading) -> bool:
    """Returns whether the message itself says whom its photos show."""
    return any(observation.concepts for observation in reading.observations)


def acknowledgement(reading: Reading, answered: Sequence[str] = (), *, is_temporary: bool = False) -> str:
    """Returns what of a message was read and what was not. It does not say what is kept: that is reported once it is."""
    parts = []
    if reading.observations:
        parts.append(f"Got it. {NOT_KEPT_HERE}" if is_temporary else "Got it.")
        if not is_temporary and not all(is_english(observation.text) for observation in reading.observations):
            parts.append("I can't read that language without a language model: I keep your words as they are.")
    if is_temporary and (reading.forgets or reading.restores):
        parts.append(NOT_CHANGED_HERE)
    elif reading.forgets:
        parts.append("All right. What I forget is listed below, and so is what I did not find or am not sure of.")
    if reading.restores and not is_temporary:
        parts.append("All right, both.")
    if any(sentence not in answered for sentence in reading.unread):
        which = "part of that" if reading.observations or reading.forgets else "that"
        parts.append(
            f"I can't read {which} without a language model, so it stays in this conversation only: "
            "I neither remember nor forget anything for it."
        )
    if reading.left_out:
        more, are = (
            ("1 more sentence stays", "is")
            if reading.left_out == 1
            else (f"{reading.left_out} more sentences stay", "are")
        )
        parts.append(f"That is long: {more} in this conversation only and {are} not remembered.")
    return " ".join(parts)


def _has_hits(question: Question, heard: Interpretation, state: TurnState) -> bool:
    """Returns whether anything was found for the question."""
    index = heard.questions.index(question)
    return index < len(state.context) and bool(state.context[index].hits)


def _reply_to_rest(state: TurnState, sense: Sense) -> str:
    if state.is_temporary and state.photos and not state.message.text.strip():
        return f"I've seen the photo. {NOT_KEPT_HERE}"
    if state.photos and not state.message.text.strip():
        return "I've seen the photo. Tell me who or what it shows, and I can keep it by that name."
    commands = [utterance.text for utterance in utterances(state.message.text, sense) if utterance.act == "command"]
    if any(map(NOT_TO_MENTION.match, commands)):
        return "I haven’t changed anything yet. Open it in Memory and choose “Don’t mention”: I keep it, and no answer uses it."
    if commands:
        return cannot()
    return small_talk(state.message.text)


def cannot() -> str:
    """Returns the reply to a request that needs a language model."""
    return f"I can't do that. {CONNECT}"
