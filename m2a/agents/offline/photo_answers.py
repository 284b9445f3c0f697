"""What the rules say about photos: whom those of the message show, and which ones the user showed before."""

import re
from collections.abc import Sequence
from datetime import date

from m2a.agents.offline.photo_statements import ORDINALS, said_to_user
from m2a.agents.offline.questions import Question, content_words
from m2a.agents.offline.quoting import mark, quote, written_day
from m2a.agents.offline.relevance import entries_of
from m2a.agents.offline.text import stem
from m2a.agents.state import MemoryContext, PhotoView
from m2a.types import Concept, Hit, MemoryEntry, Message

_UNKNOWN = "I don't recognise what {this} shows; tell me a name and I'll keep it with the photo."
_UNKNOWN_HERE = "I don't recognise what {this} shows."  # in a temporary chat, of which nothing is kept
_SHOWED = re.compile(
    r"\b(?:i|we)(?:'ve)?(?: \w+)? (?:show|showed|shown|send|sent|share|shared|upload|uploaded)\b|"
    r"\b(?:photos?|pictures?|pics?) (?:of|with|from|did|do|have)\b|\b(?:any|my) (?:photos?|pictures?|pics?)\b",
    re.IGNORECASE,
)
_SHOWING = frozenset(
    map(stem, "photo picture pic image show shown send sent share upload see look lately recently far".split())
)


def memories_of(photos: Sequence[PhotoView], hits: Sequence[Hit]) -> list[MemoryEntry]:
    """Returns for each recognised concept the memory with its nearest photo, or else one with any of its photos."""
    entries = entries_of(hits)
    chosen: dict[int, MemoryEntry] = {}
    for view in photos:
        match = view.recognition.recognised
        if match is None:
            continue
        with_concept = [
            entry
            for entry in entries
            if match.concept.concept_id in entry.concept_ids and set(entry.photo_ids) & set(match.concept.photo_ids)
        ]
        with_concept.sort(key=lambda entry: match.photo_id not in entry.photo_ids)
        chosen |= {entry.memory_id: entry for entry in with_concept[:1]}
    return list(chosen.values())


def who_is_this(
    photos: Sequence[PhotoView],
    context: MemoryContext,
    recalled: Sequence[PhotoView],
    today: date,
    *,
    is_temporary: bool,
) -> tuple[str, bool]:
    """Returns the answer for each of the photos, with a quotation of the memory if the concept is surely recognised.

    The second value is whether anything is known. About a single photo, that is so if it is recognised or was shown before.
    """
    entries = entries_of(context.hits)
    parts = []
    for position, view in enumerate(photos):
        sentences = [_remark(view, position, len(photos), today)]
        match = view.recognition.recognised
        if match is None:
            this = "this photo" if len(photos) == 1 else f"the {_ordinal(position)} photo"
            sentences.append((_UNKNOWN_HERE if is_temporary else _UNKNOWN).format(this=this))
        elif memory := next((entry for entry in entries if match.concept.concept_id in entry.concept_ids), None):
            sentences.append(quote(memory, context.messages) if match.certainty == "sure" else mark(memory))
            sentences += photo_marks([memory], recalled)[:1]
        parts.append(" ".join(filter(None, sentences)))
    is_known = len(photos) > 1 or any(v.recognition.recognised or v.recognition.shown_at for v in photos)
    return "\n".join(parts), is_known


def photo_marks(entries: Sequence[MemoryEntry], recalled: Sequence[PhotoView]) -> list[str]:
    """Returns the marks that cite the recalled photos of the memories."""
    ids = {entry.memory_id for entry in entries}
    return [f"[photo {view.number}]" for view in recalled if view.memory is not None and view.memory.memory_id in ids]


def _remark(view: PhotoView, position: int, photos: int, today: date) -> str:
    """Returns what memory knows about the photo at the position among so many `photos`, "" if nothing."""
    parts = []
    match, shown_at = view.recognition.recognised, view.recognition.shown_at
    if shown_at is not None:
        day = shown_at.date()
        when = "earlier today" if day == today else f"on {written_day(day)}"
        parts.append(f"You showed me {'this' if photos == 1 else f'the {_ordinal(position)} photo'} {when}.")
    if match is not None:
        name = said_to_user(match.concept.name)
        if match.certainty == "sure":
            parts.append(f"That's {name}." if photos == 1 else f"The {_ordinal(position)} one is {name}.")
        else:
            parts.append(f"Is {'this' if photos == 1 else f'the {_ordinal(position)} one'} {name}?")
    return " ".join(parts)


def remarks(photos: Sequence[PhotoView], today: date) -> str:
    """Returns what memory knows about the photos, a line for each of which it knows anything."""
    lines = [_remark(view, position, len(photos), today) for position, view in enumerate(photos)]
    return "\n".join(filter(None, lines))


def _ordinal(position: int) -> str:
    return ORDINALS[position] if position < len(ORDINALS) else f"{position + 1}th"


def asks_for_photos(question: Question) -> bool:
    """Returns whether a question asks for photos of earlier messages: "what did I show you on Monday?"."""
    return question.kind.reply_form == "shown" or bool(_SHOWED.search(question.text))


def asks_for_newest_photos(question: Question) -> bool:
    """Returns whether it asks for photos and names neither a day nor what they show: "what did I show you?"."""
    is_open = not question.within and _SHOWING.issuperset(map(stem, content_words(question.text)))
    return is_open and asks_for_photos(question)


def with_photos(messages: Sequence[Message]) -> list[Message]:
    """Returns the user's messages with photos."""
    return [message for message in messages if message.role == "user" and message.photos]


def photos_shown(messages: Sequence[Message], recalled: Sequence[PhotoView], concepts: Sequence[Concept]) -> str:
    """Returns a line for each message: the day, the names or captions of its photos, its words, and the marks of the photos.

    A question beside the photos is left out.
    """
    names = {photo_id: said_to_user(concept.name) for concept in concepts for photo_id in concept.photo_ids}
    lines = []
    for message in messages:
        views = [view for view in recalled if view.message_id == message.message_id]
        if recalled and not views:
            continue  # the same photos as in another of the messages
        day = message.said_at.date()
        subjects = dict.fromkeys(names.get(view.photo_id) or view.caption for view in views)
        description = ", ".join(filter(None, subjects)) or ("a photo" if len(message.photos) == 1 else "photos")
        text = message.text.strip()
        words = f', with the words "{text}"' if text and not text.endswith("?") else ""
        marks = "".join(f" [photo {view.number}]" for view in views)
        lines.append(f"On {written_day(day)} you showed me {description}{words}.{marks}")
    return "\n".join(lines)
