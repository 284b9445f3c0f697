"""How photos reach a system that works with words: by captions, and beside them by M2A's photo path."""

from m2a.systems.model_steps import Attempts
from m2a.systems.prompting import message_line
from m2a.systems.shared import Memory, Parts
from m2a.systems.system import Meter, Question
from m2a.types import Message, Query

FOUND_BY_PHOTO = 5  # messages


async def captioned_line(message: Message, memory: Memory, parts: Parts, attempts: Attempts, meter: Meter) -> str:
    """The message as a person would note it, with the captions of its photos; without any if a photo has none.

    Raises what `attempts` raises after too many failures.
    """

    async def caption_photos() -> list[str]:
        return [await memory.caption(photo, parts, meter) for photo in message.photos]

    captions = await attempts.of("caption", caption_photos())
    return message_line(message, filter(None, captions or ()))


async def question_text(question: Question, memory: Memory, parts: Parts, meter: Meter) -> str:
    """The question with the captions of its photos. Raises what the captioner raises."""
    captions = []
    for photo in question.photos:
        data = memory.photo_data(photo)
        captions.append((await parts.captions.of(photo, data, parts.chat_model, meter))[0])
    return " ".join([question.text, *(f"[photo: {caption}]" for caption in captions if caption)]).strip()


def messages_by_photo(question: Question, memory: Memory, k: int = FOUND_BY_PHOTO) -> list[int]:
    """The messages whose photos are nearest to the photos of the question, or to its words where it shows none.

    M2A's photo path alone, as `Retriever.search` ranks it. The memory is indexed.
    """
    retriever = memory.shared.retrieval(memory.fusion).retriever
    query = Query(question.text, question.photos)
    hits = retriever.search(memory.owner, query, frozenset({"message"}), 10 * k)
    shown = [hit for hit in hits if "photo" in hit.ranks and isinstance(hit.record, Message)]
    shown.sort(key=lambda hit: hit.ranks["photo"])
    return [hit.record.message_id for hit in shown[:k] if isinstance(hit.record, Message)]


def photos_of(message_ids: list[int], messages: dict[int, Message]) -> list[tuple[str, str]]:
    """The photos of the messages as (label, photo id), as `prompting.ask` takes them."""
    said = [messages[message_id] for message_id in message_ids if message_id in messages]
    return [(f"A photo of: {message_line(message)}", photo) for message in said for photo in message.photos]
