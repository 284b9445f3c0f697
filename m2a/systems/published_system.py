"""The shared base of the systems built from papers: notes, model steps that may fail, and photos.

Photos are given to the systems as captions. A variant with `photo_path` also searches M2A's photo path.
"""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from m2a.systems.base_system import BaseSystem
from m2a.systems.metered import MeteredChatModel
from m2a.systems.model_steps import Attempts
from m2a.systems.notes import Notes
from m2a.systems.prompting import message_line, photos_of
from m2a.systems.shared import Memory, Parts
from m2a.systems.system import Meter, Question
from m2a.types import Message, Query

PHOTO_HITS = 5


@dataclass(frozen=True, slots=True)
class PublishedVariant:
    """The settings of a system or of one of its ablations.

    With `by_rules`, rules take messages in instead of a model. With `photo_path`, hits of M2A's photo path come first.
    """

    by_rules: bool = False
    photo_path: bool = False

    @property
    def takes_in_by_model(self) -> bool:
        """Whether taking messages in needs a chat model."""
        return not self.by_rules

    @property
    def retrieves(self) -> bool:
        """Whether it can find messages without a chat model."""
        return True

    @property
    def calls_per_message(self) -> float:
        """The estimated calls of the chat model."""
        return 0.0

    @property
    def calls_per_question(self) -> float:
        """The estimated calls of the chat model."""
        return 1.0


class PublishedSystem(BaseSystem):
    """A system that needs a chat model to answer, and to take messages in if its variant `takes_in_by_model`."""

    def __init__(
        self,
        name: str,
        variant: PublishedVariant,
        memory: Memory,
        parts: Parts,
        *,
        without_vectors: Collection[str] = (),
    ) -> None:
        super().__init__(memory, parts)
        self.name = name
        self._notes = Notes(memory, name, without_vectors=without_vectors)
        self._meter = Meter()
        self._attempts = Attempts(self._meter)
        self._photo_path = variant.photo_path
        self._decider = "rules" if variant.by_rules else parts.chat_model.name if parts.chat_model else "nobody"

    async def observe(self, session: Sequence[Message]) -> None:
        try:
            await self._take_in(session, [await self._captioned(message) for message in session])
            if self._photo_path:
                await asyncio.to_thread(self._memory.index)
        finally:
            self.ingestion = self._meter.usage

    async def _take_in(self, session: Sequence[Message], lines: Sequence[str]) -> None:
        """Adds notes of the messages. `lines` are the messages as `message_line` writes them, with captions."""
        raise NotImplementedError

    @property
    def _ingestion_model(self) -> MeteredChatModel:
        return MeteredChatModel(self._chat_model, self._meter)

    async def _captioned(self, message: Message) -> str:
        async def caption_photos() -> list[str]:
            return [await self._memory.caption(photo, self._parts, self._meter) for photo in message.photos]

        return message_line(message, filter(None, await self._attempts.run("caption", caption_photos()) or ()))

    async def _words_of(self, question: Question, meter: Meter) -> str:
        """Returns the question with the captions of its photos. Raises what the captioner raises."""
        captions = [
            (await self._parts.captions.caption(photo, self._memory.photo_data(photo), self._parts.chat_model, meter))[
                0
            ]
            for photo in question.photos
        ]
        return " ".join([question.text, *(f"[photo: {caption}]" for caption in captions if caption)]).strip()

    def _messages_by_photo(self, question: Question) -> list[int]:
        """Returns the messages whose photos are nearest to the question's photos, or to its words if it has none.

        Uses M2A's photo path as `Retriever.search` ranks it. Returns nothing for a variant without it.
        """
        if not self._photo_path:
            return []
        retriever = self._memory.shared.retrieval(self._memory.fusion).retriever
        query = Query(question.text, question.photos)
        hits = retriever.search(self._memory.owner, query, frozenset({"message"}), 10 * PHOTO_HITS)
        photo_hits = sorted((hit for hit in hits if "photo" in hit.ranks), key=lambda hit: hit.ranks["photo"])
        return [hit.key.record_id for hit in photo_hits[:PHOTO_HITS]]

    def _photos(self, message_ids: Iterable[int]) -> list[tuple[str, str]]:
        """Returns the photos of the messages as (label, photo id), or nothing for a variant without the photo path."""
        if not self._photo_path:
            return []
        messages = {message.message_id: message for message in self._memory.messages()}
        return photos_of(messages[message_id] for message_id in message_ids)
