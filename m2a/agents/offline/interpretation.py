"""What the rules understand of a message: what it changes in the memory, and its questions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from m2a.agents.offline.observations import Reading
from m2a.agents.offline.photo_statements import one_photo_a_sentence
from m2a.agents.offline.questions import Question, questions_of
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.statements import read
from m2a.types import Concept, Message

_VERB_AND_NAME = re.compile(r"(?P<verb>(?:is|was|has|did|can) )(?P<name>[a-z]\w+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Interpretation:
    reading: Reading
    questions: tuple[Question, ...]


def interpret(message: Message, recent: Sequence[Message], concepts: Sequence[Concept], sense: Sense) -> Interpretation:
    text = _with_capital(message.text, concepts)
    if message.photos or any(earlier.photos for earlier in recent):
        text = one_photo_a_sentence(text, concepts, with_photos=bool(message.photos))
    message = replace(message, text=text)
    return Interpretation(read(message, recent, concepts, sense), tuple(questions_of(message, recent, concepts, sense)))


def _with_capital(text: str, concepts: Sequence[Concept]) -> str:
    """Capitalises a known name as in "is tom married", which shows a question even without a question mark."""
    opening = _VERB_AND_NAME.match(text)
    names = {concept.name.casefold(): concept.name for concept in concepts}
    name = names.get(opening["name"].casefold()) if opening else None
    return f"{opening['verb']}{name}{text[opening.end() :]}" if opening and name else text
