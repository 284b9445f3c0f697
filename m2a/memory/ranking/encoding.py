"""Encodes records and questions for the ranker's features."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from itertools import pairwise

import numpy as np

from m2a.memory import words as word_rules
from m2a.memory.passages import passages
from m2a.memory.ranking.features import EncodedQuestion, RankedPassage, Words, traits_of
from m2a.memory.ranking.token_head import TokenHead, unit
from m2a.memory.words import finished_words, message_words
from m2a.types import MemoryEntry, Message
from models.text_encoder import TokenEncoder, TokenStates

CONTEXT = 2  # preceding messages that are encoded with a message

_VERSION = 1  # increase it whenever the same record would be encoded differently
_CONTEXT_CHARACTERS = 200  # at the end of each preceding message
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class InContext:
    """A message, the last CONTEXT messages before it in its conversation, and the number of all before it."""

    message: Message
    before: Sequence[Message]
    position: int


class RecordEncoder:
    """Encodes records and questions for ranking. `made_by` changes whenever the encoded form of a record changes."""

    def __init__(self, encoder: TokenEncoder, head: TokenHead) -> None:
        self._encoder = encoder
        self._head = head
        self.made_by = f"{encoder.encoder_id} {head.fingerprint} {_VERSION}.{word_rules.VERSION}"

    def entries(self, entries: Sequence[MemoryEntry], texts: Sequence[str]) -> list[list[RankedPassage]]:
        """Encodes the passages of entries, without context. `texts` are the texts that represent them."""
        divided = [passages(text) for text in texts]
        states = self._states([passage for of_entry in divided for passage in of_entry])
        return [
            [
                self.record(
                    conversation="",
                    number=entry.memory_id,
                    passage=number,
                    speaker="",
                    said_at=_time_of(entry),
                    words=finished_words(passage),
                    states=next(states),
                    traits=traits_of(passage, 0, ""),
                )
                for number, passage in enumerate(of_entry)
            ]
            for entry, of_entry in zip(entries, divided, strict=True)
        ]

    def messages(self, messages: Sequence[InContext]) -> list[list[RankedPassage]]:
        """Encodes the passages of messages. Each is encoded together with its context, which says what "it" and "there" mean: the
        passage before it, or else the messages. Only its own tokens are kept."""
        divided = [passages(item.message.text) for item in messages]
        texts, starts = [], []
        for item, of_message in zip(messages, divided, strict=True):
            speaker = item.message.speaker
            lines = [(m.speaker, m.text) for m in item.before]
            for passage in of_message:
                context = "".join(f"{name}: {text[-_CONTEXT_CHARACTERS:]}\n" for name, text in lines)
                texts.append(f"{context}{speaker} ({item.message.said_at:%-d %B %Y}): {passage}")
                starts.append(len(context))
                lines = [(speaker, passage)]  # one is enough, and encoding takes long
        states = self._states(texts, starts)
        records = []
        for item, of_message in zip(messages, divided, strict=True):
            message = item.message
            text_before = item.before[-1].text if item.before else ""
            records.append(
                [
                    self.record(
                        conversation=message.conversation_id,
                        number=message.message_id,
                        passage=number,
                        speaker=message.speaker,
                        said_at=message.said_at,
                        words=message_words(message.speaker, passage),
                        states=next(states),
                        traits=traits_of(passage, item.position, before),
                    )
                    for number, (before, passage) in enumerate(pairwise([text_before, *of_message]))
                ]
            )
        return records

    def states(self, text: str) -> TokenStates:
        """Returns a question's token states. This is the slow part of encoding it."""
        [states] = self._encoder.encode_tokens([text])
        return states

    def question(self, text: str, states: TokenStates, speakers: Collection[str]) -> EncodedQuestion:
        """Encodes a question, given its token states. `speakers` are those of the owner's messages."""
        words = finished_words(text)
        words_of = {speaker: frozenset(finished_words(speaker)) for speaker in speakers}
        names = frozenset().union(*words_of.values())
        tokens, token_weights = self._head.of_question(states.states)
        return EncodedQuestion(
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
        passage: int,
        speaker: str,
        said_at: datetime,
        words: Sequence[str],
        states: np.ndarray,
        traits: np.ndarray,
    ) -> RankedPassage:
        mean = states.mean(axis=0) if len(states) else np.zeros(self._encoder.dimensions)
        vector = unit(mean).astype(np.float16)
        tokens = self._head.of_record(states)
        return RankedPassage(conversation, number, speaker, said_at, Words.of(words), vector, tokens, traits, passage)

    def _states(self, texts: Sequence[str], starts: Sequence[int] | None = None) -> Iterator[np.ndarray]:
        """Yields the token states of each text, without those before the character `start`."""
        for encoded, start in zip(self._encoder.encode_tokens(texts), starts or [0] * len(texts), strict=True):
            yield encoded.states[encoded.spans[:, 0] >= start]


def _content_vector(text: str, states: TokenStates, names: frozenset[str]) -> np.ndarray:
    """Returns the mean of the question's tokens without those of names, which say little about what is asked."""
    tokens = unit(states.states)
    of_name = np.zeros(len(tokens), dtype=bool)
    for word in _WORD.finditer(text):
        stems = finished_words(word[0])
        if stems and names.issuperset(stems):
            of_name |= (states.spans[:, 0] >= word.start()) & (states.spans[:, 1] <= word.end())
    content = tokens if of_name.all() else tokens[~of_name]
    return unit(content.mean(axis=0)) if len(content) else states.vector


def _time_of(entry: MemoryEntry) -> datetime:
    return datetime.combine(entry.happened.first, time.min, UTC) if entry.happened else entry.recorded_at
