"""What was said and is in no memory: messages that answer a question, found by the words that both have."""

from collections.abc import Sequence
from dataclasses import replace

from m2a.agents.offline.acts import utterances
from m2a.agents.offline.claims import exclude_each_other
from m2a.agents.offline.clauses import sentences
from m2a.agents.offline.foreign import asks_to_forget
from m2a.agents.offline.questions import Question
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.wishes import is_forget
from m2a.agents.state import MemoryContext, Revisions, TurnState, superseded_among
from m2a.memory.quotations import spans_saying
from m2a.memory.repetitions import spans_of_statement
from m2a.memory.withheld import FORGOTTEN, masked
from m2a.memory.words import finished_words
from m2a.types import MemoryEntry, Message

_OF_A_QUESTION = 0.75  # of the telling words of a question that a message in English has to hold
_OF_ANOTHER = 0.3  # the same for a language whose question words and endings are not known here
_ALIKE = 0.7  # what a word counts that begins alike
_LEAST = 2  # words
_AS_MANY = 0.6  # of the words that the best message holds, those that another one told beside it holds
_TOLD = 2  # messages
OF_A_DAY = 12


def find_said(question: Question, messages: Sequence[Message], state: TurnState) -> list[Message]:
    """The messages of the user that answer, best first: they hold most words of the question, and neither ask nor bid to forget.

    What was superseded answers nothing: it is history.
    """
    wanted = set(finished_words(question.text))
    least = _OF_A_QUESTION if question.is_read else _OF_ANOTHER
    found = []
    for message in messages:
        if message.role != "user" or _only_asks(message.text) or message.message_id in superseded_ids(state):
            continue
        met = _met(wanted, set(finished_words(message.text)))
        if met >= max(_LEAST, least * sum(map(_weight, wanted))):
            found.append((met, message.message_id, message))
    found.sort(key=lambda one: one[:2], reverse=True)
    near = [message for met, _, message in found if met >= _AS_MANY * found[0][0]]
    newest = [
        message
        for message in near
        if not any(
            other.message_id > message.message_id and exclude_each_other(message.text, other.text) for other in near
        )
    ]
    return newest[:_TOLD]


def find_spoken_of(question: Question, messages: Sequence[Message], state: TurnState, sense: Sense) -> list[Message]:
    """The newest message in which the user told something of whom the question names, where none is known to answer it."""
    named = {word for name in question.names for word in finished_words(name)}
    spoken = [
        message for message in messages if named & set(finished_words(message.text)) and not _only_asks(message.text)
    ]
    return told_then(sorted(spoken, key=lambda message: message.message_id), state, sense)[-1:]


_SHORT = 100  # characters of a message whose sentences explain one another


def told_then(messages: Sequence[Message], state: TurnState, sense: Sense) -> list[Message]:
    """Of the messages of a day those in which the user told something, the newest of them, in order."""
    told = [
        message
        for message in messages
        if message.role == "user"
        and message.message_id < state.message.message_id
        and message.message_id not in superseded_ids(state)
        and any(one.act in ("tell", "preference", "unread") for one in utterances(message.text, sense))
    ]
    return told[-OF_A_DAY:]


def quoted(question: str, message: Message) -> str:
    """The sentences of the message that the question asks of, word for word; all of it where it is short or none stands out."""
    spans = spans_saying(question, message.text) if len(message.text) > _SHORT else []
    return message.text[spans[0][0] : spans[-1][1]] if spans else message.text.strip()


def without_history(context: MemoryContext) -> MemoryContext:
    """The context whose messages read as if what was superseded since were forgotten: it is quoted for nothing else."""
    entries = [hit.record for hit in context.hits if isinstance(hit.record, MemoryEntry)]
    messages = []
    for message in context.messages:
        holding = [entry.text for entry in entries if entry.rests_on_message(message.message_id)]
        past = [
            span
            for older in superseded_among(context.revisions.get(message.message_id, ()))
            for span in spans_of_statement(older.text, message.text, holding)
        ]
        messages.append(replace(message, text=masked(message.text, past)) if message.role == "user" else message)
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


def _met(wanted: set[str], held: set[str]) -> float:
    """How many of the words are held, by themselves or by one that begins alike: "Kuzeni" and "kuzenlerinden"."""
    return sum(
        _weight(word) if word in held else _ALIKE if any(_alike(word, other) for other in held) else 0.0
        for word in wanted
    )


def _weight(word: str) -> float:
    """A year or a code tells more than a word."""
    return 2.0 if any(character.isdigit() for character in word) else 1.0


def _alike(one: str, other: str) -> bool:
    shared = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared += 1
    return shared >= 4 and shared >= 0.6 * min(len(one), len(other))
