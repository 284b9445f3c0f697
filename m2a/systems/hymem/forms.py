"""The forms of HyMem's storage, of its two modules, and of the reflection."""

from pydantic import BaseModel, Field

from m2a.systems.model_steps import Form


class EventUnit(BaseModel):
    topic: str = Field(description="What it is about, in a few words.")
    messages: tuple[int, ...] = Field(min_length=1, description="The numbers of its messages.")


class Division(Form):
    """Divide the session into units, each about one thing."""

    units: tuple[EventUnit, ...] = Field(min_length=1)


class Summary(Form):
    """Keep what the unit tells."""

    sentences: tuple[str, ...] = Field(
        min_length=1, description="Short sentences, each clear by itself, that hold all that may be asked for later."
    )


class LightAnswer(Form):
    """Answer from the summaries, or say that they are not enough."""

    complete: bool = Field(description="True only where the answer stands in what is shown, whole and beyond doubt.")
    answer: str = Field(default="", description="The answer; empty where it is not complete.")


class Choice(Form):
    """Choose what to read in full."""

    ids: tuple[int, ...] = Field(description="The ids that may help to answer, also indirectly; none where none does.")


class DeepAnswer(Form):
    """Answer from the conversation itself."""

    answer: str = Field(min_length=1)


class Review(Form):
    """Say whether the question is answered, and else what to look for."""

    finished: bool = Field(description="Every part of the question is answered.")
    new_question: str = Field(default="", description="Where it is not: the question rewritten for what is missing.")
