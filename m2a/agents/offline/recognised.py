"""What the rules say of the photos that a message shows: whom they show, whom they may show, and when they were shown before."""

from collections.abc import Sequence
from datetime import date

from m2a.agents.offline.answers import DECLINED, quote
from m2a.agents.offline.dates import written
from m2a.agents.offline.showing import ORDINALS, said_to_user
from m2a.agents.state import MemoryContext, PhotoView
from m2a.types import DateInterval, Hit, MemoryEntry

UNKNOWN = "I don't recognise what {this} shows; tell me a name and I'll keep it with the photo."
UNKNOWN_HERE = "I don't recognise what {this} shows."  # where nothing is kept


def memories_of(photos: Sequence[PhotoView], hits: Sequence[Hit]) -> list[MemoryEntry]:
    """For each thing that is known again, the memory with the nearest photo of it, or else one with any photo of it."""
    entries = list({hit.record.memory_id: hit.record for hit in hits if isinstance(hit.record, MemoryEntry)}.values())
    chosen: dict[int, MemoryEntry] = {}
    for view in photos:
        found = view.recognition.recognised
        if found is None:
            continue
        of_it = [entry for entry in entries if found.concept.concept_id in entry.concept_ids]
        of_it = [entry for entry in of_it if set(entry.photo_ids) & set(found.concept.photo_ids)]
        of_it.sort(key=lambda entry: found.photo_id not in entry.photo_ids)
        chosen |= {entry.memory_id: entry for entry in of_it[:1]}
    return list(chosen.values())


def who_is_this(
    photos: Sequence[PhotoView],
    context: MemoryContext,
    recalled: Sequence[PhotoView],
    today: date,
    *,
    is_temporary: bool = False,
) -> str:
    """The answer for each of the photos; a thing that is surely known again with the memory of it."""
    if not photos:
        return DECLINED
    entries = [hit.record for hit in context.hits if isinstance(hit.record, MemoryEntry)]
    parts = []
    for position, view in enumerate(photos):
        said = remark(view, position, len(photos), today)
        found = view.recognition.recognised
        if found is None:
            which = "this photo" if len(photos) == 1 else f"the {_ordinal(position)} photo"
            unknown = UNKNOWN_HERE if is_temporary else UNKNOWN
            said = " ".join(filter(None, (said, unknown.format(this=which))))
            parts.append(said if said.startswith("You") else f"{DECLINED} {said}" if len(photos) == 1 else said)
            continue
        memory = next((entry for entry in entries if found.concept.concept_id in entry.concept_ids), None)
        if memory is not None:
            marks = [
                f" [photo {of.number}]" for of in recalled if of.memory and of.memory.memory_id == memory.memory_id
            ]
            quoted = (
                f" {quote(memory, context.messages)}" if found.certainty == "sure" else f" [memory {memory.memory_id}]"
            )
            said += quoted + "".join(marks[:1])
        parts.append(said)
    return "\n".join(parts)


def remark(view: PhotoView, position: int, photos: int, today: date) -> str:
    """What memory knows of one photo by itself, "" where nothing."""
    parts = []
    found, shown_at = view.recognition.recognised, view.recognition.shown_at
    if shown_at is not None:
        day = shown_at.date()
        when = "earlier today" if day == today else f"on {written(DateInterval(day, day))}"
        parts.append(f"You showed me {'this' if photos == 1 else f'the {_ordinal(position)} photo'} {when}.")
    if found is not None:
        name = said_to_user(found.concept.name)
        if found.certainty == "sure":
            parts.append(f"That's {name}." if photos == 1 else f"The {_ordinal(position)} one is {name}.")
        else:
            parts.append(f"Is {'this' if photos == 1 else f'the {_ordinal(position)} one'} {name}?")
    return " ".join(parts)


def remarks(photos: Sequence[PhotoView], today: date) -> str:
    return "\n".join(
        said for position, view in enumerate(photos) if (said := remark(view, position, len(photos), today))
    )


def _ordinal(position: int) -> str:
    return ORDINALS[position] if position < len(ORDINALS) else f"{position + 1}th"
