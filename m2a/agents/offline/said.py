"""Messages that answer a question although no memory does, found by the words that both have."""

from collections.abc import Sequence
from dataclasses import replace

from m2a.agents.offline.clauses import sentences
from m2a.agents.offline.exclusion import exclude_each_other
from m2a.agents.offline.foreign import asks_to_forget, nearest_to
from m2a.agents.offline.memory_requests import is_forget
from m2a.agents.offline.questions import Question
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.utterances import utterances
from m2a.agents.state import MemoryContext, Revisions, TurnState, superseded_among
from m2a.memory.quotations import matching_sentences
from m2a.memory.repetitions import spans_of_statement
from m2a.memory.withheld import FORGOTTEN, masked
from m2a.memory.words import finished_words
from m2a.types import MemoryEntry, Message

_QUESTION_SHARE = 0.75  # the least share of the weight of the question that a message in English has
_UNREAD_SHARE = 0.3  # the same for a language whose question words and endings are not known here
_STEM_WEIGHT = 0.7  # the weight of a word that begins alike
_MIN_WEIGHT = 2  # words
_BESIDE_BEST = 0.6  # the least share of the weight of the best message that another one quoted with it has
_MAX_FOUND = 2  # messages
OF_A_DAY = 12


def find_said(question: Question, messages: Sequence[Message], state: TurnState) -> list[Message]:
    """Returns the user's messages with most words of the question, best first, without questions and requests to forget.

    Superseded messages are history and left out.
    """
    wanted = set(finished_words(question.text))
    least = _QUESTION_SHARE if question.is_read else _UNREAD_SHARE
    matches = []
    for message in _still_told(messages, state):
        weight = _shared_weight(wanted, set(finished_words(message.text)))
        if weight >= max(_MIN_WEIGHT, least * sum(map(_weight, wanted))):
            matches.append((weight, message.message_id, message))
    matches.sort(key=lambda m: m[:2], reverse=True)
    best = [message for weight, _, message in matches if weight >= _BESIDE_BEST * matches[0][0]]
    newest = [
        message
        for message in best
        if not any(
            other.message_id > message.message_id and exclude_each_other(message.text, other.text) for other in best
        )
    ]
    return newest[:_MAX_FOUND]


def find_nearest_unread(question: Question, messages: Sequence[Message], state: TurnState) -> list[Message]:
    """Returns the user's messages with the rarest words of a question in a language that is not read, best first."""
    return nearest_to(question.text, _still_told(messages, state))


def _still_told(messages: Sequence[Message], state: TurnState) -> list[Message]:
    superseded = superseded_ids(state)
    return [
        message
        for message in messages
        if message.role == "user" and not _only_asks(message.text) and message.message_id not in superseded
    ]


def find_spoken_of(question: Question, messages: Sequence[Message], state: TurnState, sense: Sense) -> list[Message]:
    """Returns the newest message in which the user told something about somebody whom the question names, if any."""
    names = {word for name in question.names for word in finished_words(name)}
    spoken = [
        message for message in messages if names & set(finished_words(message.text)) and not _only_asks(message.text)
    ]
    return told_then(sorted(spoken, key=lambda message: message.message_id), state, sense)[-1:]


_WHOLE_MESSAGE = 100  # characters up to which a message is quoted as a whole


def told_then(messages: Sequence[Message], state: TurnState, sense: Sense) -> list[Message]:
    """Returns the newest of a day's messages in which the user told something, in order."""
    statements = [
        message
        for message in messages
        if message.role == "user"
        and message.message_id < state.message.message_id
        and message.message_id not in superseded_ids(state)
        and any(utterance.act in ("tell", "preference", "unread") for utterance in utterances(message.text, sense))
    ]
    return statements[-OF_A_DAY:]


def quoted(question: str, message: Message) -> str:
    """Returns the sentences of the message that the question is about; all of it if it is short or none stands out."""
    spans = matching_sentences(question, message.text) if len(message.text) > _WHOLE_MESSAGE else []
    return message.text[spans[0][0] : spans[-1][1]] if spans else message.text.strip()


def without_history(context: MemoryContext) -> MemoryContext:
    """Returns the context with superseded statements masked in its messages, since it is used only for quotations."""
    entries = [hit.record for hit in context.hits if isinstance(hit.record, MemoryEntry)]
    messages = []
    for message in context.messages:
        holding = [entry.text for entry in entries if entry.rests_on_message(message.message_id)]
        superseded = [
            span
            for older in superseded_among(context.revisions.get(message.message_id, ()))
            for span in spans_of_statement(older.text, message.text, holding)
        ]
        messages.append(replace(message, text=masked(message.text, superseded)) if message.role == "user" else message)
    return replace(context, messages=tuple(messages))


def superseded_ids(state: TurnState) -> set[int]:
    maps: list[Revisions] = [state.revisions]
    maps += [step.observation.revisions for step in state.steps if hasattr(step.observation, "revisions")]
    return {message_id for revisions in maps for message_id in revisions if superseded_among(revisions[message_id])}


def _only_asks(text: str) -> bool:
    return (
        text.rstrip().endswith(("?", "？", "؟"))
        or text.strip() == FORGOTTEN
        or all(map(_bids_to_forget, sentences(text)))
    )


def _bids_to_forget(sentence: str) -> bool:
    return is_forget(sentence) or asks_to_forget(sentence)


def _shared_weight(wanted: set[str], words: set[str]) -> float:
    """Returns the weight of the wanted words that are held, or have one that begins alike: "Kuzeni" and "kuzenlerinden"."""
    return sum(
        _weight(word) if word in words else _STEM_WEIGHT if any(_alike(word, other) for other in words) else 0.0
        for word in wanted
    )


def _weight(word: str) -> float:
    """Returns the weight of a word; a year or a code counts more."""
    return 2.0 if any(character.isdigit() for character in word) else 1.0


def _alike(word: str, other: str) -> bool:
    shared = 0
    for left, right in zip(word, other, strict=False):
        if left != right:
            break
        shared += 1
    return shared >= 4 and shared >= 0.6 * min(len(word), len(other))
