"""The steps that an agent may take. A language model and the offline rules choose among the same ones.

The class docstrings and field descriptions are what a language model reads as the tool's description.
"""

from datetime import date
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

LARGEST_ID = 2**53
EARLIEST, LATEST = date(1000, 1, 1), date(9000, 12, 31)


def _stored(number: int) -> int:
    if not 1 <= number <= LARGEST_ID:
        raise ValueError(f"{number} is no id; ids are the numbers that you were shown")
    return number


def _in_reach(day: date) -> date:
    return min(max(day, EARLIEST), LATEST)


# A model makes up numbers that no database takes, and writes the last day of the calendar for "until now". The bounds
# stand in no schema: a model has no use for them, and a server may refuse a schema with words that it does not know.
Id = Annotated[int, AfterValidator(_stored)]
Day = Annotated[date, AfterValidator(_in_reach)]


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
    """Search semantic memory by words, and by the attached photos where they help."""

    query: str = Field(default="", description="Words to look for; may be empty when photos are used.")
    use_photos: bool = Field(default=False, description="Compare with the photos of the user's message.")


class FetchRawMessages(_Action):
    """Read raw messages by ranges of message ids, such as a memory's evidence_ids."""

    ranges: tuple[tuple[Id, Id], ...] = Field(min_length=1, description="[first, last] pairs, both included.")


class SearchRawMessages(_Action):
    """Full-text search over the raw messages, for what no memory holds."""

    query: str = Field(min_length=1)


class FetchRawMessagesByTime(_Action):
    """Read the raw messages said between two days, both included."""

    start: Day
    end: Day


class ConceptMention(_Action):
    """A person, pet, place or thing that the user calls by a name."""

    name: str = Field(min_length=1)
    kind: Literal["person", "pet", "place", "thing"]
    aliases: tuple[str, ...] = ()


class AddMemory(_Action):
    """Create a memory: one observation that stands on its own, with names and absolute dates."""

    text: str = Field(min_length=1, max_length=2000)
    evidence_ids: tuple[tuple[Id, Id], ...] = Field(
        min_length=1, description="Ranges of raw message ids that support it, [first, last], both included."
    )
    kind: Literal["event", "fact", "preference", "procedure"] = "fact"
    photos: tuple[int, ...] = Field(default=(), description="Numbers of the photos it is about, as labelled.")
    concepts: tuple[ConceptMention, ...] = ()
    happened_from: date | None = None
    happened_to: date | None = None


class ReplaceMemory(AddMemory):
    """Replace a memory that is outdated or wrong; old and new are recorded together."""

    memory_id: Id
    reason: str = Field(min_length=1)


class DeleteMemory(_Action):
    """Delete a memory that the user no longer wants or that no longer holds."""

    memory_id: Id
    reason: str = Field(min_length=1)
    evidence_ids: tuple[tuple[Id, Id], ...] = Field(
        min_length=1, description="The raw messages in which the user said so."
    )


class Finish(_Action):
    """End the request. After a query: give the relevant context and the memories it rests on."""

    context: str = Field(default="", description="What was found, in a few sentences; empty after an update.")
    memory_ids: tuple[Id, ...] = Field(default=(), description="The memories that the context rests on.")
    message_ids: tuple[Id, ...] = Field(default=(), description="Raw messages that it rests on besides theirs.")


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
    | Finish
)
