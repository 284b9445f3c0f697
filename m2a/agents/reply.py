"""The ChatAgent's reply, and the draft that becomes it."""

from collections.abc import Sequence
from dataclasses import dataclass

from m2a.agents.marks import MarkReader
from m2a.agents.state import MemoryContext, PhotoView
from m2a.agents.steps import UsageMeter
from m2a.types import Emit, MemoryEntry, MemorySearched, Message, RecordKey, Source, TextDelta, TurnEvent, Usage

_EMPTY = "The chat model gave an empty reply; send your message again."


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply with its searches and its sources.

    `partial` is whether it was broken off. `failure` tells the user why the model stopped early or wrote nothing. `usage` is
    None if no model was called.
    """

    text: str = ""
    photo_ids: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    searches: tuple[MemorySearched, ...] = ()
    usage: Usage | None = None
    partial: bool = False
    failure: str | None = None


class ReplyDraft:
    """A reply that is being written. Its text is emitted as it comes, without marks.

    `contexts` are the results of its queries, and `photos` those that the model may show by number.
    """

    def __init__(self, emit: Emit) -> None:
        self.meter = UsageMeter()
        self.contexts: list[MemoryContext] = []
        self.photos: tuple[PhotoView, ...] = ()
        self._emit = emit
        self._searches: list[MemorySearched] = []
        self._marks = MarkReader()
        self._text = ""

    def emit(self, event: TurnEvent) -> None:
        if isinstance(event, MemorySearched):
            self._searches.append(event)
        self._emit(event)

    def write(self, piece: str) -> None:
        self._show(self._marks.feed(piece))

    def end_paragraph(self) -> None:
        """Ends the paragraph, because what follows is not connected to what was written so far."""
        self._show(self._marks.finish().rstrip())
        if self._text.strip():
            self._show("\n\n")

    def finished(self, *, broken_off: bool = False, failure: str | None = None) -> Reply:
        """Returns the reply as it stands."""
        self._show(self._marks.finish())
        shown = {view.number: view.photo_id for view in self.photos}
        text = self._text.strip()
        if not (text or self._marks.photos or broken_off):
            failure = failure or _EMPTY
        return Reply(
            text,
            tuple(shown[number] for number in self._marks.photos if number in shown),
            _sources(self.contexts, self._marks.memories),
            tuple(self._searches),
            self.meter.usage,
            partial=broken_off or failure is not None,
            failure=failure,
        )

    def _show(self, text: str) -> None:
        if text:
            self._text += text
            self._emit(TextDelta(text))


def _sources(contexts: Sequence[MemoryContext], cited: Sequence[int]) -> tuple[Source, ...]:
    """Returns the records that a reply rests on: those that it cites, or if it cites none, all hits."""
    sources_by_key: dict[RecordKey, Source] = {}
    nearest: dict[RecordKey, Source] = {}
    for context in contexts:
        for sources, hits in ((sources_by_key, context.hits), (nearest, context.nearest)):
            for hit in hits:
                sources.setdefault(hit.key, Source(hit, _words_of(hit.record, context)))
    keys = [RecordKey("entry", memory_id) for memory_id in cited]
    citable = {**nearest, **sources_by_key}
    return tuple([citable[key] for key in keys if key in citable] or sources_by_key.values())


def _words_of(record: MemoryEntry | Message, context: MemoryContext) -> tuple[Message, ...]:
    if isinstance(record, Message):
        return (record,)
    return tuple(message for message in context.messages if record.rests_on_message(message.message_id))
