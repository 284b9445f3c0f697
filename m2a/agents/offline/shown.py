"""Questions for photos of earlier messages, by day ("what did I show you on Monday?") or by content."""

import re
from collections.abc import Sequence

from m2a.agents.offline.dates import written
from m2a.agents.offline.questions import Question
from m2a.agents.offline.showing import said_to_user
from m2a.agents.state import PhotoView
from m2a.types import Concept, DateInterval, Message

_SHOWED = re.compile(
    r"\b(?:i|we)(?:'ve)?(?: \w+)? (?:show|showed|shown|send|sent|share|shared|upload|uploaded)\b|"
    r"\b(?:photos?|pictures?|pics?) (?:of|with|from|did|have)\b",
    re.IGNORECASE,
)


def asks_for_photos(question: Question) -> bool:
    return question.kind.answer == "shown" or (
        question.kind.answer != "recognised" and bool(_SHOWED.search(question.text))
    )


def showing(messages: Sequence[Message], before: int) -> list[Message]:
    """Returns the user's messages with photos before the message with the id `before`."""
    return [each for each in messages if each.role == "user" and each.photos and each.message_id < before]


def photos_shown(messages: Sequence[Message], recalled: Sequence[PhotoView], concepts: Sequence[Concept]) -> str:
    """Describes the photos of the messages, each with its day, its name or caption, and the words of its message."""
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
        lines.append(f"On {written(DateInterval(day, day))} you showed me {description}{words}.{marks}")
    return "\n".join(lines)
