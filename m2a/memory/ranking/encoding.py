"""Records and questions as the ranker's features want them."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time

import numpy as np

from m2a.memory import words as word_rules
from m2a.memory.ranking.features import Asked, Record, Words, traits_of
from m2a.memory.ranking.token_head import TokenHead, unit
from m2a.memory.words import finished_words, message_words
from m2a.types import MemoryEntry, Message
from models.text_encoder import TokenEncoder, TokenStates

CONTEXT = 2  # messages before one that are encoded with it

_VERSION = 1  # raise it whenever the same record would become another
_CONTEXT_CHARACTERS = 200  # of each, its last
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class InContext:
    """A message, those before it in its conversation (at most CONTEXT, oldest first), and how many there are before it."""

    message: Message
    before: Sequence[Message]
    position: int


class RecordEncoder:
    """Makes what is kept of a record for ranking, and what is asked. `made_by` changes with what it makes of a record."""

    def __init__(self, encoder: TokenEncoder, head: TokenHead) -> None:
        self._encoder = encoder
        self._head = head
        self.made_by = f"{encoder.encoder_id} {head.fingerprint} {_VERSION}.{word_rules.VERSION}"

    def entries(self, entries: Sequence[MemoryEntry], texts: Sequence[str]) -> list[Record]:
        """`texts` are what the entries are found by. An entry stands alone: it has no context."""
        return [
            self.record("", entry.memory_id, "", _time_of(entry), finished_words(text), tokens, traits_of(text, 0, ""))
            for entry, text, tokens in zip(entries, texts, self._states(texts), strict=True)
        ]

    def messages(self, messages: Sequence[InContext]) -> list[Record]:
        """Each encoded after the messages before it: they say what its "it" and "there" mean. Their tokens are not kept."""
        texts, starts = [], []
        for item in messages:
            context = "".join(f"{m.speaker}: {m.text[-_CONTEXT_CHARACTERS:]}\n" for m in item.before)
            message = item.message
            texts.append(f"{context}{message.speaker} ({message.said_at:%-d %B %Y}): {message.text}")
            starts.append(len(context))
        records = []
        for item, tokens in zip(messages, self._states(texts, starts), strict=True):
            message = item.message
            traits = traits_of(message.text, item.position, item.before[-1].text if item.before else "")
            words = message_words(message.speaker, message.text)
            records.append(
                self.record(
                    message.conversation_id, message.message_id, message.speaker, message.said_at, words, tokens, traits
                )
            )
        return records

    def states(self, text: str) -> TokenStates:
        """A question's tokens: the first half of `asked`, and the slow one."""
        [states] = self._encoder.encode_tokens([text])
        return states

    def asked(self, text: str, states: TokenStates, speakers: Collection[str]) -> Asked:
        """A question to a memory in which these speakers speak."""
        words = finished_words(text)
        words_of = {speaker: frozenset(finished_words(speaker)) for speaker in speakers}
        names = frozenset().union(*words_of.values())
        tokens, token_weights = self._head.of_question(states.states)
        return Asked(
            text=text,
            vector=states.vector,
            content_vector=_content_vector(text, states, names),
            tokens=tokens,
            token_weights=token_weights,
            words=words,
            names=names,
            people=frozenset(speaker for speaker, of_name in words_of.items() if not of_name.isdisjoint(words)),
        )

    def record(
        self,
        conversation: str,
        number: int,
        speaker: str,
        said_at: datetime,
        words: Sequence[str],
        states: np.ndarray,
        traits: np.ndarray,
    ) -> Record:
        mean = states.mean(axis=0) if len(states) else np.zeros(self._encoder.dimensions)
        vector = unit(mean).astype(np.float16)
        tokens = self._head.of_record(states)
        return Record(conversation, number, speaker, said_at, Words.of(words), vector, tokens, traits)

    def _states(self, texts: Sequence[str], starts: Sequence[int] | None = None) -> Iterator[np.ndarray]:
        """The token states of each text, from the character on at which its own words begin."""
        for found, start in zip(self._encoder.encode_tokens(texts), starts or [0] * len(texts), strict=True):
            yield found.states[found.spans[:, 0] >= start]


def _content_vector(text: str, states: TokenStates, names: frozenset[str]) -> np.ndarray:
    """The mean of the question's tokens without those of names: whom it asks about says little of what it asks."""
    tokens = unit(states.states)
    of_name = np.zeros(len(tokens), dtype=bool)
    for word in _WORD.finditer(text):
        stems = finished_words(word[0])
        if stems and names.issuperset(stems):
            of_name |= (states.spans[:, 0] >= word.start()) & (states.spans[:, 1] <= word.end())
    kept = tokens if of_name.all() else tokens[~of_name]
    return unit(kept.mean(axis=0)) if len(kept) else states.vector


def _time_of(entry: MemoryEntry) -> datetime:
    return datetime.combine(entry.happened.first, time.min, UTC) if entry.happened else entry.recorded_at
