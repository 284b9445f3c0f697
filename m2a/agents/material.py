"""The pieces of a prompt. Recalled text is enclosed in a boundary that it cannot break out of."""

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import cache
from importlib.resources import files
from string import Template

from m2a.agents.state import PhotoNumbers, SearchScope
from m2a.plurals import plural
from m2a.types import MemoryChanged, MemoryEntry, Message
from models.chat_model import ChatMessage, PhotoPart

# The agents' own text is repeated only up to this length, so that a rambling model does not crowd out the rest.
WRITTEN_CHARACTERS = 4000
_SECRET = secrets.token_bytes(16)


class Boundary:
    """Fences data with a word that its author cannot know, and defuses imitations of a fence.

    A conversation keeps its word as long as the process runs, so that a server can cache the common beginning of its prompts.
    """

    def __init__(self, conversation: object = "") -> None:
        self.fence = hmac.new(_SECRET, repr(conversation).encode(), hashlib.sha256).hexdigest()[:8]

    def enclose(self, title: str, lines: Sequence[str]) -> str:
        body = "\n".join(lines)
        for imitation, harmless in (("<data-", "&lt;data-"), ("</data-", "&lt;/data-"), *_HARMLESS_MARKS):
            body = body.replace(imitation, harmless)
        return f"{title}:\n<data-{self.fence}>\n{body}\n</data-{self.fence}>"


# Marks belong to the reply; a mark in a memory must not look like a citation.
_HARMLESS_MARKS = (("[memory ", "(memory "), ("[photo ", "(photo "))


def render(name: str, scope: SearchScope | None = None, **values: object) -> str:
    """Returns the agents' prompt file of that name with its values filled in; see `prompt_text`."""
    return prompt_text("m2a.agents", name, values, scope)


def prompt_text(package: str, name: str, values: Mapping[str, object], scope: SearchScope | None = None) -> str:
    """Returns the package's prompt file of that name with its values filled in. Raises `KeyError` for a missing value.

    A passage `{raw_messages? …}` is included if the scope allows raw messages, and `{no raw_messages? …}` if it does not.
    """
    allowed = asdict(scope or SearchScope())
    text = _PASSAGE.sub(
        lambda match: match["text"] if allowed[match["setting"]] != bool(match["no"]) else "", _file(package, name)
    )
    return Template(text).substitute(values).strip()


def message_line(message: Message, revisions: Sequence[MemoryEntry] = (), photos: str = "") -> str:
    """Returns a message as an agent reads it, with what was replaced or corrected later. `photos` describes its photos."""
    photos = f", with {photos}" if photos else ""
    said_at = message.said_at.strftime("%A %Y-%m-%d %H:%M")
    later = "".join(
        f" [corrected later in part, by {named(entry)}]" if entry.superseded_by is None else f" [{history_of(entry)}]"
        for entry in revisions
    )
    return f"message {message.message_id}, {said_at}, {message.role} ({message.speaker}){photos}: {message.text}{later}"


def history_of(entry: MemoryEntry) -> str:
    """Returns the words that mark what a superseded entry says as history, and not all of the message that it rests on."""
    return f"history, of this alone: “{one_line(entry.text)}” no longer holds"


def photos_text(photo_ids: Sequence[str], numbers: PhotoNumbers) -> str:
    """Returns "photos 2, 3 and 1 other photo": those with a number, and the count of the others; "" without photos."""
    numbered = [str(numbers[photo_id]) for photo_id in photo_ids if photo_id in numbers]
    others = len(photo_ids) - len(numbered)
    by_number = f"photo{'s' if len(numbered) > 1 else ''} {', '.join(numbered)}" if numbered else ""
    return " and ".join(
        filter(None, (by_number, plural(others, "other photo" if numbered else "photo") if others else ""))
    )


def one_line(text: str) -> str:
    """Puts an agent's own text on one line: it is outside the fence and may repeat data, so it must not imitate other lines."""
    return " ".join(text.split())


def shorten(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[:characters]} … (shortened)"


def entry_line(
    entry: MemoryEntry, numbers: PhotoNumbers, corrections: Sequence[MemoryEntry] = (), photos_as: str = ""
) -> str:
    """Returns a memory as an agent reads it, with everything that an action can refer to.

    `corrections` are the memories that correct a part of it. `photos_as` names the record above that has the caption of its
    photos, if another line has it.
    """
    fields = {
        "memory_id": entry.memory_id,
        "kind": entry.kind,
        "text": entry.text,
        "corrected_in_part_by": "; ".join(map(named, corrections)),
        "caption": entry.caption if not photos_as else None,
        "photos": [numbers[photo_id] for photo_id in entry.photo_ids if photo_id in numbers],
        "photo_count": sum(photo_id not in numbers for photo_id in entry.photo_ids),
        "photos_as": photos_as,
        "happened": [day.isoformat() for day in entry.happened] if entry.happened else None,
        "recorded": entry.recorded_at.date().isoformat(),
        "rests_on": entry.rests_on if entry.rests_on != "stated" else None,
        "corrects": entry.corrects,
        "evidence_ids": [list(evidence) for evidence in entry.evidence_ids],
    }
    return fields_line(fields)


def fields_line(fields: Mapping[str, object]) -> str:
    """Returns the non-empty fields as JSON."""
    return json.dumps({name: value for name, value in fields.items() if value}, ensure_ascii=False)


def change_lines(change: MemoryChanged) -> list[str]:
    """Returns a change to a memory, with the memory's number and text; its details are among the search results if needed.

    A forgotten memory is reported without its number and text, since no record of a turn contains either.
    """
    lines = [f"{change.change}: {named(change.entry)}"] if change.entry is not None else []
    if change.change == "forgotten":
        lines.insert(0, "forgotten: what the user asked to forget")
    elif change.previous is not None and change.change == "replaced":
        lines.append(f"in the place of: {named(change.previous)}")
    return lines


def named(entry: MemoryEntry) -> str:
    return f"memory {entry.memory_id}, “{one_line(entry.text)}”"


def system_message(agent: str, boundary: Boundary, scope: SearchScope | None = None) -> ChatMessage:
    """Returns the prompt of an agent, which announces the fence. It is the same in each turn of a conversation."""
    return ChatMessage("system", (render(agent, scope, boundary=render("boundary", fence=boundary.fence)),))


def people_text(names: Sequence[str]) -> str:
    """Returns the sentence that several people speak, each for themselves."""
    return render("people", names=one_line(f"{', '.join(names[:-1])} and {names[-1]}"))


def day_line(now: datetime) -> str:
    return f"Today is {now:%A %-d %B %Y, %H:%M}."


def spaced(parts: Sequence[str | PhotoPart]) -> list[str | PhotoPart]:
    """Returns the parts with an empty line between them."""
    return [
        part + "\n\n" if isinstance(part, str) and index < len(parts) - 1 else part for index, part in enumerate(parts)
    ]


_PASSAGE = re.compile(r"\{(?P<no>no )?(?P<setting>\w+)\? (?P<text>[^{}]*)\}")


@cache
def _file(package: str, name: str) -> str:
    return files(package).joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")
