"""The results of a search as lines of a prompt, without repetition.

A photo's caption is with the first record that has the photo. A long message on which a memory rests, such as a pasted mail,
is reduced to the sentences that say what the memory says; an agent can fetch all of it by its number.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from m2a.agents.budget import fitted, tokens_of
from m2a.agents.material import WRITTEN_CHARACTERS, entry_line, message_line, one_line, photos_text, shorten
from m2a.agents.state import MemoryContext, Opened, PhotoNumbers, Searched
from m2a.memory.quotations import matching_sentences
from m2a.memory.sql import grouped
from m2a.types import Hit, MemoryEntry, Message

EVIDENCE_CHARACTERS = 400  # of a message that a memory above it rests on
ORIGINALS_OF = 5  # best memories, besides the near ones, whose original messages are included
NOTHING_NEAR = "Nothing was found by the new message's own words. Nearest to them, though perhaps about something else:"
TOGETHER = "Found by its sentences alone, by names in it, or together with the message before:"
NOTHING_FOUND = "Nothing was found by these words."
NOTHING_ELSE = "Nothing was found besides what is already in the conversation."
OUT_OF_ROUNDS = "(The search ran out of rounds: there may be more.)"


def context_lines(
    context: MemoryContext,
    memories: int | None = None,
    fetched: int | None = None,
    numbers: PhotoNumbers = MappingProxyType({}),
) -> list[str]:
    """Returns the result of a query: its text, and its memories and original messages within these numbers of tokens.

    `numbers` are those of the photos to which an action can refer.
    """
    lines = [shorten(context.text, WRITTEN_CHARACTERS)] if context.text else []
    records, originals = _records_and_originals(context, numbers)
    lines += records if memories is None else fitted(records, memories)
    if originals and fetched != 0:
        lines += ["Original messages:", *(originals if fetched is None else fitted(originals, fetched))]
    if not context.complete:
        lines.append(OUT_OF_ROUNDS)
    return lines or [NOTHING_FOUND]


def context_tokens(context: MemoryContext, numbers: PhotoNumbers) -> tuple[int, int]:
    """Returns the numbers of tokens of a query's memories and of their original messages."""
    records, originals = _records_and_originals(context, numbers)
    return sum(map(tokens_of, records)), sum(map(tokens_of, originals))


def hit_lines(searched: Searched, numbers: PhotoNumbers) -> list[str]:
    """Returns the records of the hits of a search, best first."""
    return _Lines(searched, numbers).of(searched.hits)


def message_lines(opened: Opened, numbers: PhotoNumbers) -> list[str]:
    """Returns the messages of a fetch in full, with the numbers and captions of their photos."""
    lines = _Lines(opened, numbers)
    return [lines.of_message(message) for message in opened.messages]


def beside(
    context: MemoryContext, conversation: Sequence[Message], entries: Sequence[MemoryEntry] = ()
) -> MemoryContext:
    """Returns the context without messages and entries that the prompt contains elsewhere, and without repeated messages."""
    message_ids = {message.message_id for message in conversation}
    memory_ids = {entry.memory_id for entry in entries}

    def remaining(hits: Sequence[Hit]) -> tuple[Hit, ...]:
        return tuple(
            hit for hit in hits if hit.key.record_id not in (memory_ids if hit.key.kind == "entry" else message_ids)
        )

    hits, nearest = remaining(context.hits), remaining(context.nearest)
    message_ids |= {hit.record.message_id for hit in (*hits, *nearest) if isinstance(hit.record, Message)}
    messages = tuple(message for message in context.messages if message.message_id not in message_ids)
    had_any = bool(context.hits or context.nearest or context.messages)
    text = context.text or (NOTHING_ELSE if had_any and not (hits or nearest or messages) else "")
    return replace(context, text=text, hits=hits, nearest=nearest, messages=messages)


def _records_and_originals(context: MemoryContext, numbers: PhotoNumbers) -> tuple[list[str], list[str]]:
    lines = _Lines(context, numbers)
    records = [NOTHING_NEAR, *lines.of(context.nearest)] if context.nearest else []
    records += [TOGETHER] if context.nearest and context.hits else []
    records += lines.of(context.hits)
    return records, [lines.of_message(message) for message in context.messages if _is_included(message, context)]


def _is_included(message: Message, context: MemoryContext) -> bool:
    """Returns whether a memory that ranks high or is near rests on the original message, or no memory does."""
    entries = [hit for hit in context.hits if isinstance(hit.record, MemoryEntry)]
    others = [hit for hit in (*entries[ORIGINALS_OF:], *context.nearest) if isinstance(hit.record, MemoryEntry)]
    included = [*entries[:ORIGINALS_OF], *(hit for hit in others if hit.is_near)]
    return any(_rests_on(hit, message) for hit in included) or not any(_rests_on(hit, message) for hit in others)


def _rests_on(hit: Hit, message: Message) -> bool:
    return isinstance(hit.record, MemoryEntry) and hit.record.rests_on_message(message.message_id)


class _Lines:
    """Turns records into lines one by one, so that a line does not repeat those above it."""

    def __init__(self, source: Searched | Opened | MemoryContext, numbers: PhotoNumbers) -> None:
        self._source = source
        self._numbers = numbers
        self._corrections = _corrections_in(source)
        self._entries: list[MemoryEntry] = []
        self._captioned: dict[str, str] = {}

    def of(self, hits: Sequence[Hit]) -> list[str]:
        return [
            self._of_entry(hit.record) if isinstance(hit.record, MemoryEntry) else self.of_message(hit.record)
            for hit in hits
        ]

    def of_message(self, message: Message) -> str:
        """Returns the message; if a memory above rests on it and it is long, only the sentences that say the memory."""
        revisions = self._source.revisions.get(message.message_id, ())
        resting = [entry for entry in self._entries if entry.rests_on_message(message.message_id)]
        text = _sentences_saying(resting, message.text) if resting else message.text
        return message_line(replace(message, text=text), revisions, self._photos_of(message))

    def _of_entry(self, entry: MemoryEntry) -> str:
        self._entries.append(entry)
        captioned = {self._captioned.get(photo_id) for photo_id in entry.photo_ids}
        for photo_id in entry.photo_ids if entry.caption else ():
            self._captioned.setdefault(photo_id, f"memory {entry.memory_id}")
        above = captioned.pop() if len(captioned) == 1 else None
        corrections = self._corrections.get(entry.memory_id, ())
        return entry_line(entry, self._numbers, corrections, photos_as=above or "")

    def _photos_of(self, message: Message) -> str:
        captions = self._source.captions
        above = {self._captioned.get(photo_id) for photo_id in message.photos}
        photos = photos_text(message.photos, self._numbers)
        if message.photos and None not in above:
            return f"{photos} (of {', '.join(sorted(filter(None, above)))})"
        shown = [photo_id for photo_id in message.photos if captions.get(photo_id)]
        for photo_id in shown:
            self._captioned.setdefault(photo_id, f"message {message.message_id}")
        quoted = [f"“{one_line(captions[photo_id])}”" for photo_id in shown]
        return f"{photos} ({', '.join(quoted)})" if quoted else photos


def _corrections_in(source: Searched | Opened | MemoryContext) -> Mapping[int, Sequence[MemoryEntry]]:
    """Returns, by memory id, the found entries that correct a part of that memory."""
    hits = () if isinstance(source, Opened) else source.hits
    nearest = source.nearest if isinstance(source, MemoryContext) else ()
    entries = [hit.record for hit in (*hits, *nearest) if isinstance(hit.record, MemoryEntry)]
    return grouped((entry.corrects, entry) for entry in entries if entry.corrects is not None)


def _sentences_saying(entries: Sequence[MemoryEntry], text: str) -> str:
    """Returns the sentences of a long text that say what the entries say, or its beginning if none does."""
    if len(text) <= EVIDENCE_CHARACTERS:
        return text
    spans = sorted({span for entry in entries for span in matching_sentences(entry.text, text)})
    saying = " … ".join(text[first:last] for first, last in spans)
    return f"{saying} … (shortened)" if 0 < len(saying) < len(text) else shorten(text, EVIDENCE_CHARACTERS)
