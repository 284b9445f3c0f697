"""All that the rules read out of one message: what it tells, and what it asks."""

from collections.abc import Sequence
from dataclasses import dataclass

from m2a.agents.offline.questions import Question, questions_of
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.statements import Reading, read
from m2a.types import Concept, Message


@dataclass(frozen=True, slots=True)
class Heard:
    reading: Reading
    questions: tuple[Question, ...]


def hear(message: Message, recent: Sequence[Message], concepts: Sequence[Concept], sense: Sense) -> Heard:
    return Heard(read(message, recent, concepts, sense), tuple(questions_of(message, recent, concepts, sense)))
