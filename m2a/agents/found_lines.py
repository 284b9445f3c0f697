"""What was found in the memory, as lines of a prompt: each thing once, and no longer than it is of use.

The caption of a photo stands where its first record does. Of a long message that a memory rests on, such as a pasted mail,
the sentences stand that say what the memory says; all of it can be fetched by its number.
"""

from collections.abc import Sequence
from dataclasses import replace

from m2a.agents.budget import fitted, tokens_of
from m2a.agents.material import WRITTEN_CHARACTERS, entry_line, message_line, one_line, shorten
from m2a.agents.state import MemoryContext, Opened, Searched
from m2a.memory.quotations import spans_saying
from m2a.plurals import plural
from m2a.types import Hit, MemoryEntry, Message

EVIDENCE_CHARACTERS = 400  # of a message beside a memory that rests on it
ORIGINALS_OF = (
    5  # the best memories, and those that are near: below others, the words that they rest on are not repeated
)
NOTHING_NEAR = "Nothing was found by the new message's own words. Nearest to them, though perhaps about something else:"
TOGETHER = "Found by its sentences alone, by names in it, or together with the message before:"
NOTHING_FOUND = "Nothing was found by these words."
NOTHING_ELSE = "Nothing was found besides what stands in the conversation."
OUT_OF_ROUNDS = "(The search ran out of rounds: there may be more.)"


def context_lines(context: MemoryContext, memories: int | None = None, fetched: int | None = None) -> list[str]:
    """What a query brought: its words, its memories and their original messages, within so many tokens of each."""
    lines = [shorten(context.text, WRITTEN_CHARACTERS)] if context.text else []
    records, originals = _records_and_originals(context)
    lines += records if memories is None else fitted(records, memories)
    if originals and fetched != 0:
        lines += ["Original messages:", *(originals if fetched is None else fitted(originals, fetched))]
    if not context.complete:
        lines.append(OUT_OF_ROUNDS)
    return lines or [NOTHING_FOUND]


def context_tokens(context: MemoryContext) -> tuple[int, int]:
    """Those of the memories that a query brought, and those of their original messages."""
    records, originals = _records_and_originals(context)
    return sum(map(tokens_of, records)), sum(map(tokens_of, originals))


def hit_lines(hits: Sequence[Hit], found: Searched) -> list[str]:
    """The records of the hits, best first."""
    return _Lines(found).of(hits)


def message_lines(messages: Sequence[Message], found: Opened) -> list[str]:
    """Messages that were fetched: all of their words, with the captions of their photos."""
    lines = _Lines(found)
    return [lines.of_message(message) for message in messages]


def beside(
    context: MemoryContext, conversation: Sequence[Message], entries: Sequence[MemoryEntry] = ()
) -> MemoryContext:
    """What was found less the messages and entries that the prompt holds elsewhere; a message is not repeated below its hit."""
    held = {message.message_id for message in conversation}
    known = {entry.memory_id for entry in entries}

    def left(hits: Sequence[Hit]) -> tuple[Hit, ...]:
        return tuple(hit for hit in hits if hit.key.record_id not in (known if hit.key.kind == "entry" else held))

    hits, nearest = left(context.hits), left(context.nearest)
    held |= {hit.record.message_id for hit in (*hits, *nearest) if isinstance(hit.record, Message)}
    messages = tuple(message for message in context.messages if message.message_id not in held)
    had_any = bool(context.hits or context.nearest or context.messages)
    text = context.text or (NOTHING_ELSE if had_any and not (hits or nearest or messages) else "")
    return replace(context, text=text, hits=hits, nearest=nearest, messages=messages)


def _records_and_originals(context: MemoryContext) -> tuple[list[str], list[str]]:
    lines = _Lines(context)
    records = [NOTHING_NEAR, *lines.of(context.nearest)] if context.nearest else []
    records += [TOGETHER] if context.nearest and context.hits else []
    records += lines.of(context.hits)
    return records, [lines.of_message(message) for message in context.messages if _is_worth_it(message, context)]


def _is_worth_it(message: Message, context: MemoryContext) -> bool:
    """Whether a memory that ranks high or is near rests on the original message, or none does at all."""
    entries = [hit for hit in context.hits if isinstance(hit.record, MemoryEntry)]
    others = [hit for hit in (*entries[ORIGINALS_OF:], *context.nearest) if isinstance(hit.record, MemoryEntry)]
    worth = [*entries[:ORIGINALS_OF], *(hit for hit in others if hit.is_near)]
    return any(_rests_on(hit, message) for hit in worth) or not any(_rests_on(hit, message) for hit in others)


def _rests_on(hit: Hit, message: Message) -> bool:
    return isinstance(hit.record, MemoryEntry) and hit.record.rests_on_message(message.message_id)


class _Lines:
    """Records as lines, one after the other, where a later one knows what stands above it."""

    def __init__(self, found: Searched | Opened | MemoryContext) -> None:
        self._found = found
        self._entries: list[MemoryEntry] = []
        self._captioned: dict[str, str] = {}

    def of(self, hits: Sequence[Hit]) -> list[str]:
        return [
            self._of_entry(hit.record) if isinstance(hit.record, MemoryEntry) else self.of_message(hit.record)
            for hit in hits
        ]

    def of_message(self, message: Message) -> str:
        """The message, or where a memory above it rests on it, what of a long one says that."""
        superseded = self._found.superseded.get(message.message_id, ())
        resting = [entry for entry in self._entries if entry.rests_on_message(message.message_id)]
        text = _what_says(resting, message.text) if resting else message.text
        return message_line(replace(message, text=text), superseded, self._photos_of(message))

    def _of_entry(self, entry: MemoryEntry) -> str:
        self._entries.append(entry)
        captioned = {self._captioned.get(photo_id) for photo_id in entry.photo_ids}
        for photo_id in entry.photo_ids if entry.caption else ():
            self._captioned.setdefault(photo_id, f"memory {entry.memory_id}")
        above = captioned.pop() if len(captioned) == 1 else None
        return entry_line(entry, photos_as=above or "")

    def _photos_of(self, message: Message) -> str:
        captions = self._found.captions
        above = {self._captioned.get(photo_id) for photo_id in message.photos}
        if message.photos and None not in above:
            return f"{plural(len(message.photos), 'photo')} (of {', '.join(sorted(filter(None, above)))})"
        shown = [photo_id for photo_id in message.photos if captions.get(photo_id)]
        for photo_id in shown:
            self._captioned.setdefault(photo_id, f"message {message.message_id}")
        known = [f"“{one_line(captions[photo_id])}”" for photo_id in shown]
        return f"{plural(len(message.photos), 'photo')} ({', '.join(known)})" if known else ""


def _what_says(entries: Sequence[MemoryEntry], text: str) -> str:
    """The sentences of a long text that say what the entries say, or its beginning where none does."""
    if len(text) <= EVIDENCE_CHARACTERS:
        return text
    spans = sorted({span for entry in entries for span in spans_saying(entry.text, text)})
    said = " … ".join(text[first:last] for first, last in spans)
    return f"{said} … (shortened)" if 0 < len(said) < len(text) else shorten(text, EVIDENCE_CHARACTERS)
