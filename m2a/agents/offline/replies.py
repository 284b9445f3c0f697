"""The reply: acknowledgement of a message, answers to its questions, small talk, and what these rules cannot do."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat

from m2a.agents.offline.answers import DECLINED, UNSURE, answer, from_facts, nearest
from m2a.agents.offline.foreign import is_courteous
from m2a.agents.offline.interpretation import Interpretation
from m2a.agents.offline.languages import is_english
from m2a.agents.offline.memory_requests import NOT_TO_MENTION
from m2a.agents.offline.messages import without_superseded
from m2a.agents.offline.names import mentioned
from m2a.agents.offline.observations import Reading
from m2a.agents.offline.photo_answers import asks_for_photos, photos_shown, remarks, who_is_this, with_photos
from m2a.agents.offline.questions import Question
from m2a.agents.offline.quoting import as_list, mark
from m2a.agents.offline.relevance import entries_of, find_matches, is_sure, messages_of
from m2a.agents.offline.selection import selected, share_a_word
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.utterances import utterances
from m2a.agents.state import MemoryContext, TurnState
from m2a.types import Certainty, MemoryEntry

CONNECT = (
    "I run without a language model, so I can only remember what you tell me and look it up. "
    "You can connect one in Settings."
)
_UNREAD = "I can't read that question without a language model."
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
_NOT_KEPT_HERE = "Nothing is kept of a temporary chat: this is gone when the chat ends."
_NOT_CHANGED_HERE = "Nothing is changed or forgotten from a temporary chat; tell me in a conversation that is kept."


@dataclass(frozen=True, slots=True)
class _Reply:
    """The reply to a question. Unless it surely `answers`, the text says what is nearest to an answer, if anything is.

    With `may_connect`, the reply adds that a language model can be connected.
    """

    text: str
    answers: Certainty = "surely"
    may_connect: bool = False

    @property
    def declines(self) -> bool:
        return self.answers != "surely"

    def __str__(self) -> str:
        opening = {"surely": "", "perhaps": UNSURE, "no": DECLINED}[self.answers]
        sentences = [opening, self.text, CONNECT if self.may_connect else ""]
        return " ".join(filter(None, sentences))


def reply_parts(state: TurnState, interpretation: Interpretation, sense: Sense) -> list[str]:
    """Returns the paragraphs of the reply."""
    reading, questions = interpretation.reading, interpretation.questions
    contexts = chain(map(without_superseded, state.context), repeat(MemoryContext("", (), ())))
    pairs = [(q, context) for q, context in zip(questions, contexts, strict=False) if q.is_read or context.hits]
    replies: list[_Reply] = []
    for question, context in pairs:
        reply = _reply_to(question, context, state, replies, sense)
        if reply is not None:
            replies.append(reply)
    is_about_photos = any(question.kind.reply_form == "recognised" for question, _ in pairs)
    photos = (
        [] if is_about_photos or any(observation.concepts for observation in reading.observations) else state.photos
    )
    answered = [str(reply) for reply in replies if not reply.declines]
    declined = [reply for reply in replies if reply.declines]
    unread_questions = [question.text for question, _ in pairs if not question.is_read]
    parts = [
        _acknowledgement(reading, unread_questions, is_temporary=state.is_temporary),
        *dict.fromkeys(answered),
    ]
    if answered and declined:
        rest = next((reply for reply in declined if reply.text), declined[0])
        opening = "I don't know the rest for sure." if rest.answers == "perhaps" else "I don't have the rest in memory."
        parts.append(f"{opening} {rest.text}".rstrip())
    elif not any(view.recognition.recognised for view in photos):  # "whose clock is this?"
        parts += map(str, declined[:1])
    parts.append(remarks(photos, state.message.said_at.date()))
    return list(filter(None, parts)) or [_reply_to_rest(state, sense)]


def _reply_to(
    question: Question, context: MemoryContext, state: TurnState, replies: Sequence[_Reply], sense: Sense
) -> _Reply | None:
    """Returns the reply to a question, None if the `replies` to those before it say the same already."""
    entries, certain = entries_of(context.hits), context.answers == "surely"
    if not context.complete:  # out of rounds: the memories are search results, not chosen yet
        matches = find_matches(question, context.hits, state.concepts, sense)
        entries, certain = selected(question, matches), is_sure(matches)
    new = [entry for entry in entries if not any(mark(entry) in reply.text for reply in replies)]
    if entries and not certain:
        if entries[0] not in new and _has_its_words(question, entries[0]):
            return None
        entries = new
    elif entries and question.kind.reply_form == "quoted":
        if not new:
            return None
        entries = new
    today = state.message.said_at.date()
    if context.facts:
        return _Reply(from_facts(context.facts, context.messages))
    if question.kind.reply_form == "recognised":
        text, is_known = who_is_this(state.photos, context, state.recalled, today, is_temporary=state.is_temporary)
        return _Reply(text) if is_known else _declined(question, state, text)
    if asks_for_photos(question) and (shown := with_photos(messages_of(context.hits))):
        return _Reply(photos_shown(shown, state.recalled, state.concepts))
    if not certain:
        near = nearest(question, entries, context)
        return (
            _declined(question, state, near, context.answers)
            if question.is_read
            else _Reply(f"{_UNREAD} {near}".rstrip())
        )
    text = answer(question, entries, context, state.concepts, today, state.recalled)
    if entries and not new and text == as_list(entries, context.messages, question):
        return None  # an age that is only quoted
    return _Reply(text) if text else _declined(question, state)


def _declined(question: Question, state: TurnState, near: str = "", answers: Certainty = "no") -> _Reply:
    """Returns the reply without a sure answer. A question about nothing that the user told may be one for a language model."""
    is_general = not near and not question.about_self and not mentioned(question.text, state.concepts)
    return _Reply(near, answers if near and answers != "surely" else "no", may_connect=is_general)


def _has_its_words(question: Question, entry: MemoryEntry) -> bool:
    """Returns whether the memory has a word of the question, apart from names."""
    return share_a_word([word for word in question.words if word not in question.name_words], [entry])


def _acknowledgement(reading: Reading, unread_questions: Sequence[str], *, is_temporary: bool) -> str:
    """Returns what of a message was read and what was not, apart from the questions, which have replies of their own.

    It does not say what is kept: that is reported once it is.
    """
    parts = []
    if reading.observations:
        parts.append(f"Got it. {_NOT_KEPT_HERE}" if is_temporary else "Got it.")
        if not is_temporary and not all(is_english(observation.text) for observation in reading.observations):
            parts.append("I can't read that language without a language model: I keep your words as they are.")
    if is_temporary and (reading.forgets or reading.restores):
        parts.append(_NOT_CHANGED_HERE)
    elif reading.forgets:
        parts.append("All right. What I forget is listed below, and so is what I did not find or am not sure of.")
    if reading.restores and not is_temporary:
        parts.append("All right, both.")
    if any(sentence not in unread_questions for sentence in reading.unread):
        which = "part of that" if reading.observations or reading.forgets else "that"
        parts.append(
            f"I can't read {which} without a language model, so it stays in this conversation only: "
            "I neither kept nor forgot anything because of it."
        )
    if reading.left_out:
        rest = "1 more sentence stays" if reading.left_out == 1 else f"{reading.left_out} more sentences stay"
        parts.append(f"That is long: {rest} in this conversation only, without being remembered.")
    return " ".join(parts)


def _reply_to_rest(state: TurnState, sense: Sense) -> str:
    """Returns the reply to a message that was neither read nor asks anything: a request to do something, or small talk."""
    commands = [utterance.text for utterance in utterances(state.message.text, sense) if utterance.act == "command"]
    if any(map(NOT_TO_MENTION.match, commands)):
        return "I haven’t changed anything yet. Open it in Memory and choose “Don’t mention”: I keep it, and no answer uses it."
    if commands:
        return f"I can't do that. {CONNECT}"
    for pattern, reply in _SMALL_TALK:
        if re.search(pattern, state.message.text, re.IGNORECASE):
            return reply
    if is_courteous(state.message.text):
        return "All right."
    return "All right. I kept nothing of that as a memory; it stays in this conversation."
