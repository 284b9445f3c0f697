"""The forms of the router and the extractors, and the records made from them (section 3.3 of the paper)."""

from dataclasses import dataclass

from pydantic import Field

from m2a.systems.engram.variants import TYPES, MemoryType
from m2a.systems.model_steps import Form


@dataclass(frozen=True, slots=True)
class Record:
    """A record of one type: a text, which is also searched, and the time that it is about, in words."""

    type: MemoryType
    text: str
    anchor: str


class Route(Form):
    """Say which kinds of memory the message belongs in: any of them, or none."""

    episodic: bool = Field(description="It tells of something that happened, happens or is to happen at some time.")
    semantic: bool = Field(description="It tells a lasting fact or a liking, of a person, a place or a thing.")
    procedural: bool = Field(description="It tells how something is done.")

    @property
    def types(self) -> tuple[MemoryType, ...]:
        """The types that the message belongs to."""
        return tuple(kind for kind in TYPES if getattr(self, kind))


class Episode(Form):
    """Keep the event."""

    title: str = Field(min_length=1, description="A few words, with the names in it.")
    summary: str = Field(min_length=1, description="One sentence in the third person, without words such as yesterday.")
    timestamp: str = Field(description='When it happened, as exactly as is known: "21 July 2024", "June 2024".')

    def record(self, said_on: str) -> Record:
        return Record("episodic", f"{self.title}. {self.summary}", self.timestamp or said_on)


class Fact(Form):
    """Keep the fact."""

    fact: str = Field(min_length=1, description="One sentence with every name, number and place as the message has it.")

    def record(self, said_on: str) -> Record:
        return Record("semantic", self.fact, said_on)


class Procedure(Form):
    """Keep how it is done."""

    title: str = Field(min_length=1, description="What is done.")
    content: str | tuple[str, ...] = Field(min_length=1, description="How, in a sentence or in steps.")

    def record(self, said_on: str) -> Record:
        steps = self.content if isinstance(self.content, str) else " ".join(self.content)
        return Record("procedural", f"{self.title}. {steps}", said_on)


FORMS: dict[MemoryType, type[Episode] | type[Fact] | type[Procedure]] = {
    "episodic": Episode,
    "semantic": Fact,
    "procedural": Procedure,
}
