"""The user's messages as answers to a question that no memory answers, found by the words that both have."""

import math
from collections.abc import Sequence
from dataclasses import replace

from m2a.agents.offline.answer_checks import has_answer_of_kind
from m2a.agents.offline.clauses import sentences
from m2a.agents.offline.exclusion import exclude_each_other
from m2a.agents.offline.foreign import QUESTION_MARKS, asks_to_forget, nearest_to
from m2a.agents.offline.memory_requests import opens_with_forget
from m2a.agents.offline.questions import Question
from m2a.agents.offline.relevance import entries_of
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.utterances import utterances
from m2a.agents.state import MemoryContext, Opened, Revisions, Searched, TurnState, superseded_among
from m2a.memory.quotations import matching_sentences
from m2a.memory.repetitions import spans_of_statement
from m2a.memory.withheld import FORGOTTEN, masked
from m2a.memory.words import finished_words
from m2a.types import Message

_MIN_SHARE = 0.75  # of the weight of a question in English that a message must have
_MIN_SHARE_UNREAD = 0.3  # the same for other languages, whose question words and endings are not known here
_MIN_WEIGHT = 2
_ALIKE_WEIGHT = 0.7  # of a word that only begins alike: with so many letters, and so much of the shorter word
_MIN_ALIKE = 4
_MIN_ALIKE_SHARE = 0.6
_MIN_SHARE_OF_BEST = 0.6  # of the weight of the best message that another one must have
_MAX_FOUND = 2
_MAX_WHOLE = 400  # characters up to which a message is quoted as a whole
MAX_OF_A_DAY = 12  # messages


def find_messages(question: Question, messages: Sequence[Message], state: TurnState, sense: Sense) -> list[Message]:
    """Returns the user's messages with most words of the question, best first.

    Questions, requests to forget, and messages that are superseded or that a newer match contradicts, are left out.
    """
    wanted = set(finished_words(question.text))
    min_share = _MIN_SHARE if question.is_read else _MIN_SHARE_UNREAD
    min_weight = max(_MIN_WEIGHT, min_share * sum(map(_weight, wanted)))
    matches = []
    for message in _statements(messages, state):
        if question.kind.is_value and has_answer_of_kind(question, message.text) is False:
            continue
        weight = _shared_weight(wanted, set(finished_words(message.text)))
        if weight >= min_weight and any(utterance.act != "ask" for utterance in utterances(message.text, sense)):
            matches.append((weight, message.message_id, message))
    matches.sort(key=lambda match: match[:2], reverse=True)
    best = [message for weight, _, message in matches if weight >= _MIN_SHARE_OF_BEST * matches[0][0]]
    current = [
        message
        for message in best
        if not any(m.message_id > message.message_id and exclude_each_other(message.text, m.text) for m in best)
    ]
    return current[:_MAX_FOUND]


def find_messages_for_unread(question: Question, messages: Sequence[Message], state: TurnState) -> list[Message]:
    """Returns the user's messages with the rarest words of a question in a language that is not read, best first."""
    return nearest_to(question.text, _statements(messages, state))


def ids_with_corrections(question: Question, messages: Sequence[Message], state: TurnState) -> tuple[int, ...]:
    """Returns the ids of the messages; if the question is not read, after those of their corrections, the newest first."""
    ids = [message.message_id for message in messages]
    revisions = [] if question.is_read else _revisions(state)
    entries = [entry for by_id in revisions for each in ids for entry in by_id.get(each, ())]
    corrections = {entry.evidence_ids[-1].last for entry in entries if entry.corrects is not None}
    return tuple(dict.fromkeys([*sorted(corrections, reverse=True), *ids]))


def _statements(messages: Sequence[Message], state: TurnState) -> list[Message]:
    """Returns the user's messages that are not superseded and do more than ask or request to forget."""
    return [message for message in _current(messages, state) if not _only_asks(message.text)]


def _current(messages: Sequence[Message], state: TurnState) -> list[Message]:
    """Returns the user's messages that have no superseded statement."""
    superseded = _superseded_ids(state)
    return [message for message in messages if message.role == "user" and message.message_id not in superseded]


def find_message_about(
    question: Question, messages: Sequence[Message], state: TurnState, sense: Sense
) -> list[Message]:
    """Returns the newest message in which the user told something about somebody whom the question names, if any."""
    names = {word for name in question.names for word in finished_words(name)}
    about = [message for message in _statements(messages, state) if names & set(finished_words(message.text))]
    return statements_among(sorted(about, key=lambda message: message.message_id), state, sense)[-1:]


def statements_among(messages: Sequence[Message], state: TurnState, sense: Sense) -> list[Message]:
    """Returns the newest of the messages in which the user told something, in order: as many as are listed of a day."""
    statements = [
        message
        for message in _current(messages, state)
        if any(utterance.act in ("tell", "preference", "unread") for utterance in utterances(message.text, sense))
    ]
    return statements[-MAX_OF_A_DAY:]


def quoted(question: str, message: Message) -> str:
    """Returns a short message as a whole, and of a long one the sentences that the question is about, if any stand out."""
    spans = matching_sentences(question, message.text) if len(message.text) > _MAX_WHOLE else []
    return message.text[spans[0][0] : spans[-1][1]] if spans else message.text.strip()


def without_superseded(context: MemoryContext) -> MemoryContext:
    """Returns the context with superseded statements masked in its messages, since it is used only for quotations."""
    entries = entries_of(context.hits)
    messages = []
    for message in context.messages:
        current = [entry.text for entry in entries if entry.rests_on_message(message.message_id)]
        superseded = [
            span
            for older in superseded_among(context.revisions.get(message.message_id, ()))
            for span in spans_of_statement(older.text, message.text, current)
        ]
        messages.append(replace(message, text=masked(message.text, superseded)))
    return replace(context, messages=tuple(messages))


def _superseded_ids(state: TurnState) -> set[int]:
    """Returns the ids of the messages with a superseded statement."""
    return {message_id for by_id in _revisions(state) for message_id in by_id if superseded_among(by_id[message_id])}


def _revisions(state: TurnState) -> list[Revisions]:
    observed = [step.observation for step in state.steps if isinstance(step.observation, Searched | Opened)]
    return [state.revisions, *(observation.revisions for observation in observed)]


def _only_asks(text: str) -> bool:
    return (
        text.rstrip().endswith(QUESTION_MARKS)
        or text.strip() == FORGOTTEN
        or all(opens_with_forget(sentence) or asks_to_forget(sentence) for sentence in sentences(text))
    )


def _shared_weight(wanted: set[str], words: set[str]) -> float:
    """Returns the weight of the wanted words among the words; one that only begins alike counts less: "Kuzeni", "kuzenler"."""
    return sum(
        _weight(word) if word in words else _ALIKE_WEIGHT if any(_begin_alike(word, other) for other in words) else 0.0
        for word in wanted
    )


def _weight(word: str) -> float:
    """Returns the weight of a word; a year or a code counts more."""
    return 2.0 if any(character.isdigit() for character in word) else 1.0


def _begin_alike(word: str, other: str) -> bool:
    shorter = min(len(word), len(other))
    length = max(_MIN_ALIKE, math.ceil(_MIN_ALIKE_SHARE * shorter))
    return shorter >= _MIN_ALIKE and word[:length] == other[:length]
