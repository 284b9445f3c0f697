"""What the rules say about the photos of a message: whom they show or may show, and when they were shown before."""

from collections.abc import Sequence
from datetime import date

from m2a.agents.offline.dates import written
from m2a.agents.offline.quoting import quote
from m2a.agents.offline.showing import ORDINALS, said_to_user
from m2a.agents.state import MemoryContext, PhotoView
from m2a.types import DateInterval, Hit, MemoryEntry

UNKNOWN = "I don't recognise what {this} shows; tell me a name and I'll keep it with the photo."
UNKNOWN_HERE = "I don't recognise what {this} shows."  # where nothing is kept


def memories_of(photos: Sequence[PhotoView], hits: Sequence[Hit]) -> list[MemoryEntry]:
    """Returns for each recognised concept the memory with its nearest photo, or else one with any of its photos."""
    entries = list({hit.record.memory_id: hit.record for hit in hits if isinstance(hit.record, MemoryEntry)}.values())
    chosen: dict[int, MemoryEntry] = {}
    for view in photos:
        match = view.recognition.recognised
        if match is None:
            continue
        with_concept = [entry for entry in entries if match.concept.concept_id in entry.concept_ids]
        with_concept = [entry for entry in with_concept if set(entry.photo_ids) & set(match.concept.photo_ids)]
        with_concept.sort(key=lambda entry: match.photo_id not in entry.photo_ids)
        chosen |= {entry.memory_id: entry for entry in with_concept[:1]}
    return list(chosen.values())


def who_is_this(
    photos: Sequence[PhotoView],
    context: MemoryContext,
    recalled: Sequence[PhotoView],
    today: date,
    *,
    is_temporary: bool = False,
) -> tuple[str, bool]:
    """Returns the answer for each of the photos, with a quotation of the memory if the concept is surely recognised.

    The second is whether anything is known: of no photo, and of a single one that was never shown before, nothing is.
    """
    entries = [hit.record for hit in context.hits if isinstance(hit.record, MemoryEntry)]
    parts = []
    for position, view in enumerate(photos):
        answer = remark(view, position, len(photos), today)
        match = view.recognition.recognised
        if match is None:
            which = "this photo" if len(photos) == 1 else f"the {_ordinal(position)} photo"
            unknown = UNKNOWN_HERE if is_temporary else UNKNOWN
            answer = " ".join(filter(None, (answer, unknown.format(this=which))))
            parts.append(answer)
            continue
        memory = next((entry for entry in entries if match.concept.concept_id in entry.concept_ids), None)
        if memory is not None:
            marks = [f" [photo {v.number}]" for v in recalled if v.memory and v.memory.memory_id == memory.memory_id]
            quoted = (
                f" {quote(memory, context.messages)}" if match.certainty == "sure" else f" [memory {memory.memory_id}]"
            )
            answer += quoted + "".join(marks[:1])
        parts.append(answer)
    is_known = len(photos) > 1 or any(v.recognition.recognised or v.recognition.shown_at for v in photos)
    return "\n".join(parts), is_known


def remark(view: PhotoView, position: int, photos: int, today: date) -> str:
    """Returns what memory knows about a single photo, or "" if nothing."""
    parts = []
    match, shown_at = view.recognition.recognised, view.recognition.shown_at
    if shown_at is not None:
        day = shown_at.date()
        when = "earlier today" if day == today else f"on {written(DateInterval(day, day))}"
        parts.append(f"You showed me {'this' if photos == 1 else f'the {_ordinal(position)} photo'} {when}.")
    if match is not None:
        name = said_to_user(match.concept.name)
        if match.certainty == "sure":
            parts.append(f"That's {name}." if photos == 1 else f"The {_ordinal(position)} one is {name}.")
        else:
            parts.append(f"Is {'this' if photos == 1 else f'the {_ordinal(position)} one'} {name}?")
    return " ".join(parts)


def remarks(photos: Sequence[PhotoView], today: date) -> str:
    return "\n".join(
        text for position, view in enumerate(photos) if (text := remark(view, position, len(photos), today))
    )


def _ordinal(position: int) -> str:
    return ORDINALS[position] if position < len(ORDINALS) else f"{position + 1}th"
