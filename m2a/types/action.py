"""The actions that an agent can take. A language model and the offline rules choose from the same ones.

A language model reads the class docstrings and field descriptions as the descriptions of its tools.
"""

from datetime import date
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from m2a.types.concept import ConceptKind

LARGEST_ID = 2**53
EARLIEST, LATEST = date(1000, 1, 1), date(9000, 12, 31)


def _stored(number: int) -> int:
    if not 1 <= number <= LARGEST_ID:
        raise ValueError(f"{number} is no id; ids are the numbers that you were shown")
    return number


def _in_reach(day: date) -> date:
    return min(max(day, EARLIEST), LATEST)


# Models invent numbers that no database accepts, and write the last day of the calendar for "until now". The schema does not
# contain these bounds, because a server may refuse a schema with keywords that it does not know.
Id = Annotated[int, AfterValidator(_stored)]
Day = Annotated[date, AfterValidator(_in_reach)]

Certainty = Literal["surely", "perhaps", "no"]  # whether something answers a question


class _Action(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class QueryMemory(_Action):
    """Search long-term memory for relevant information."""

    query: str = Field(min_length=1, description="What to look for, in full words, with names instead of pronouns.")


class Answer(_Action):
    """Reply to the user now: nothing (more) is needed from long-term memory."""


class UpdateMemory(_Action):
    """Ask the memory manager to remember, correct or forget something that the user said or showed."""

    request: str = Field(min_length=1, description="What to remember, correct or forget.")


class SearchSemanticMemories(_Action):
    """Search the semantic memories and the raw messages, in one ranking, by words, and by the attached photos where they help.

    A memory stands for the messages that it rests on.
    """

    query: str = Field(default="", description="Words to look for; may be empty when photos are used.")
    use_photos: bool = Field(default=False, description="Compare with the photos of the user's message.")


class FetchRawMessages(_Action):
    """Read raw messages by ranges of message ids, such as a memory's evidence_ids."""

    ranges: tuple[tuple[Id, Id], ...] = Field(min_length=1, description="[first, last] pairs, both included.")


class SearchRawMessages(_Action):
    """Find raw messages by exact words: questions, replies and repetitions too, which search_semantic_memories leaves out."""

    query: str = Field(min_length=1)


class FetchRawMessagesByTime(_Action):
    """Read the raw messages said between two days, both included."""

    start: Day
    end: Day


class NamedConcept(_Action):
    """A person, pet, place or thing that the user calls by a name."""

    name: str = Field(min_length=1)
    kind: ConceptKind
    aliases: tuple[str, ...] = ()
    photos: tuple[int, ...] | None = Field(
        default=None,
        description="Numbers of those of the memory's photos that show it, all if left out. Empty where it is only spoken "
        "of, as the one for whom a gift is, or who took the photo.",
    )
    denied: bool = Field(default=False, description="The user says that the photos do not show it.")


class _Write(_Action):
    more: bool = Field(default=False, description="Further changes follow in another answer.")


class AddMemory(_Write):
    """Keep one observation."""

    text: str = Field(min_length=1, max_length=2000)
    evidence_ids: tuple[tuple[Id, Id], ...] = Field(
        min_length=1,
        description="Ranges of message ids that it rests on, [first, last]: the new message, and earlier ones of this "
        "conversation where it needs them, as for agreed the assistant's.",
    )
    rests_on: Literal["stated", "agreed", "shown"] = Field(
        default="stated",
        description="stated: the user says it. agreed: the assistant proposed it and the user takes it. shown: the "
        "user's photo shows it, or a text that they pasted says it.",
    )
    kind: Literal["event", "fact", "preference", "procedure"] = Field(
        default="fact",
        description="preference: how the user always wants to be answered; it stands before every later reply.",
    )
    photos: tuple[int, ...] = Field(
        default=(), description="Numbers of the photos that it is about: new, earlier or found ones."
    )
    concepts: tuple[NamedConcept, ...] = ()
    happened_from: date | None = Field(
        default=None, description="First day of what happened on certain days; left out for what goes on."
    )
    happened_to: date | None = Field(default=None, description="Last day, if it is another.")
    corrects: Id | None = Field(
        default=None, description="Id of a memory of which this corrects or adds to a part; both stay."
    )
    # Live memories that may state the same about the same thing; the user is offered to replace them.
    rivals: Annotated[tuple[Id, ...], SkipJsonSchema()] = ()


class ReplaceMemory(AddMemory):
    """Put a memory in the place of one that is history then.

    Write all of it that still holds. Its fields are those of add_memory.
    """

    memory_id: Id
    reason: str = Field(min_length=1)


_REQUEST = "The words of the new message that ask for it, exactly: they are forgotten too."


class DeleteMemory(_Write):
    """Forget a memory, and the user's words that it rests on, because the user asks to."""

    memory_id: Id
    reason: str = Field(min_length=1)
    evidence_ids: tuple[tuple[Id, Id], ...] = Field(min_length=1, description="The messages that ask for it.")
    words: str = Field(
        default="",
        description="What of the message goes, exactly as it stands there; empty for all that says the memory.",
    )
    rest: str = Field(
        default="",
        description="What of the memory stays, a sentence in its own words; empty where nothing does, or another memory says "
        "it.",
    )
    request: str = Field(default="", description=_REQUEST)
    # It may not be what is meant: it is kept back until the user says so. Only the offline rules ask.
    asks: SkipJsonSchema[bool] = False


class ForgetWords(_Write):
    """Forget words that stand in a message and in no memory, because the user asks to."""

    message_id: Id
    words: str = Field(min_length=1, description="The words, exactly as in the message.")
    request: str = Field(default="", description=_REQUEST)


class RestoreMemory(_Write):
    """Bring back a memory that another one replaced, because the user says that both are true."""

    memory_id: Id
    reason: str = Field(min_length=1)


class Finish(_Action):
    """End the request."""

    context: str = Field(default="", description="What was found, in a few sentences.")
    memory_ids: tuple[Id, ...] = Field(default=(), description="The memories that the context rests on.")
    message_ids: tuple[Id, ...] = Field(default=(), description="Raw messages that it rests on besides theirs.")
    answers: Certainty = Field(
        default="surely", description="Whether these answer: no if they are the nearest, but not the answer."
    )
    missing: str = Field(default="", description="What the user wants forgotten and nothing holds.")


Action = (
    QueryMemory
    | Answer
    | UpdateMemory
    | SearchSemanticMemories
    | FetchRawMessages
    | FetchRawMessagesByTime
    | SearchRawMessages
    | AddMemory
    | ReplaceMemory
    | DeleteMemory
    | ForgetWords
    | RestoreMemory
    | Finish
)
