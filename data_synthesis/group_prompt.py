"""The prompt for a group: the instructions, the photos with their ids, the dates, and the schema of the answer.

The texts are in `prompts/`. `VERSION` is their hash, so that an answer to other texts is never used for these.
"""

import copy
import hashlib
import io
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from string import Template
from typing import Any

from data_synthesis.dates import EXPRESSIONS, WEEKDAYS, date_text
from data_synthesis.group import (
    MULTI_HOP,
    OPEN_DOMAIN,
    QUESTION_COUNTS,
    SINGLE_HOP,
    TEMPORAL,
    TURNS_PER_SESSION,
    GroupRequest,
    PersonalConcept,
    SynthesisError,
    with_photos_named,
)
from data_synthesis.voices import Voice
from models.chat_model import ChatMessage, PhotoPart, Tool

_ANSWER_TOKENS = 16_000  # six sessions of fifteen turns and twenty questions, with room to spare

_FOLDER = Path(__file__).parent / "prompts"
_FILES = {file.name: file.read_text(encoding="utf-8") for file in sorted(_FOLDER.iterdir()) if file.is_file()}
VERSION = hashlib.sha256(json.dumps([_FILES, EXPRESSIONS]).encode()).hexdigest()[:12]

QUESTIONS = sum(QUESTION_COUNTS.values())
_KINDS = {MULTI_HOP: "several steps", TEMPORAL: "time", OPEN_DOMAIN: "knowledge", SINGLE_HOP: "one step"}
_MOST_FAULTS = 40
LONGEST_ANSWER = 60_000  # characters; a longer answer is not shown to the model again
_LARGEST_PHOTO = 1_000_000  # bytes
_LONGEST_SIDE = 1024
_SHEET_SIDE, _SHEET_GAP = 512, 16
PHOTOS_AT_MOST = 8  # in a prompt, unless the server names another limit
_MEDIA_TYPES = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}


def photo_ids(request: GroupRequest) -> dict[str, Path]:
    """Returns the photos of a group by the ids that the model uses: P1, P2, …"""
    photos = [photo.path for concept in request.group.concepts for photo in concept.photos]
    return {f"P{number}": path for number, path in enumerate(photos, start=1)}


def with_ids(request: GroupRequest) -> GroupRequest:
    """Returns the request with the photos' ids instead of their paths, as the model knows them."""
    ids = {path: Path(photo_id) for photo_id, path in photo_ids(request).items()}
    concepts = (with_photos_named(concept, lambda path: ids.get(path, path)) for concept in request.group.concepts)
    return replace(request, group=replace(request.group, concepts=tuple(concepts)))


def first_messages(request: GroupRequest, photos_at_most: int | None) -> list[ChatMessage]:
    """Returns the prompt for a group. Raises SynthesisError for a photo that cannot be read.

    If the server takes fewer pictures than there are photos, there is one sheet for each concept, or one for all.
    """
    ids = list(photo_ids(request))
    sessions = zip(request.placement.times, _lengths(request), strict=True)
    listed = [
        f"- session {number}: {WEEKDAYS[time.weekday()]}, {date_text(time.date())}, {time:%H:%M}; about {length} messages"
        for number, (time, length) in enumerate(sessions, start=1)
    ]
    shares = [f"{count} of category {category} ({_KINDS[category]})" for category, count in QUESTION_COUNTS.items()]
    words = _fill(
        "group.md",
        speaker_a=request.speakers[0],
        speaker_b=request.speakers[1],
        manners="\n".join(_manner(name, voice) for name, voice in zip(request.speakers, request.voices, strict=True)),
        concepts="\n\n".join("\n".join(_about(concept)) for concept in with_ids(request).group.concepts),
        count=len(listed),
        sessions="\n".join(listed),
        questions=QUESTIONS,
        shares=", ".join(shares),
        photo_ids=f"{ids[0]} to {ids[-1]}",
    )
    expressions = "\n".join(f"- {line}" for line in EXPRESSIONS)
    return [
        ChatMessage("system", (_fill("system.md", expressions=expressions),)),
        ChatMessage("user", (words, *_photo_parts(request, photos_at_most or PHOTOS_AT_MOST))),
    ]


def repair_messages(answer: str, faults: Sequence[str], *, changes_only: bool) -> list[ChatMessage]:
    """Returns the messages that follow the prompt after an answer with faults. An empty or very long answer is not shown again.

    With `changes_only` they ask only for the changes, otherwise for the whole answer again.
    """
    listed = [f"- {fault}" for fault in faults[:_MOST_FAULTS]]
    if len(faults) > _MOST_FAULTS:
        listed.append(f"- and {len(faults) - _MOST_FAULTS} more of the kind.")
    request = ChatMessage("user", (_fill("mend.md" if changes_only else "repair.md", faults="\n".join(listed)),))
    return [ChatMessage("assistant", (answer,)), request] if 0 < len(answer) <= LONGEST_ANSWER else [request]


def answer_tool(request: GroupRequest) -> Tool:
    """Returns the tool for a whole group."""
    schema = _schema(request)
    sessions, questions = schema["properties"]["sessions"], schema["properties"]["questions"]
    sessions["minItems"] = sessions["maxItems"] = len(request.placement.times)
    questions["minItems"] = questions["maxItems"] = QUESTIONS
    return Tool(
        "write_group",
        "Hand in all sessions of the group and all questions about them.",
        schema,
        longest=_ANSWER_TOKENS,
        strict=True,
    )


def change_tool(request: GroupRequest) -> Tool:
    """Returns the tool for changes to a group: turns, sessions and questions."""
    schema = _schema(request)
    for name in ("sessions", "questions"):
        item = schema["properties"][name]["items"]
        item["required"] = ["number", *item["required"]]
        item["properties"] = {"number": {"type": "integer", "minimum": 1}, **item["properties"]}
    turn = schema["properties"]["sessions"]["items"]["properties"]["turns"]["items"]
    schema["properties"] = {"turns": {"type": "array", "items": turn}, **schema["properties"]}
    schema["required"] = list(schema["properties"])
    return Tool(
        "mend_group",
        "Hand in the turns, sessions and questions that change.",
        schema,
        longest=_ANSWER_TOKENS,
        strict=True,
    )


def _schema(request: GroupRequest) -> dict[str, Any]:
    schema: dict[str, Any] = copy.deepcopy(_SCHEMA)
    turn = schema["properties"]["sessions"]["items"]["properties"]["turns"]["items"]["properties"]
    turn["speaker"]["enum"] = list(request.speakers)
    turn["photos"]["items"]["enum"] = list(photo_ids(request))
    return schema


_SCHEMA: dict[str, Any] = json.loads(_FILES["answer.schema.json"])


def _fill(name: str, **values: object) -> str:
    return Template(_FILES[name]).substitute(values).strip()


def _lengths(request: GroupRequest) -> list[int]:
    """Returns the number of turns that each session should have, drawn by the group's seed, not close to the limits."""
    rng = random.Random(request.seed)
    lengths = range(min(TURNS_PER_SESSION) + 1, max(TURNS_PER_SESSION) - 1)
    return [rng.choice(lengths) for _ in request.placement.times]


def _about(concept: PersonalConcept) -> list[str]:
    head = f"<{concept.name}>"
    if concept.class_name:
        head += f", a {'living ' if concept.live else ''}{concept.class_name}"
    lines = [f"{head}: {concept.short_description}" if concept.short_description else head]
    lines += [f"- {attribute.key}: {attribute.value}" for attribute in concept.attributes]
    for photo in concept.photos:
        seen = "; ".join(text for text in (photo.setting, photo.description) if text)
        lines.append(f"- photo {photo.path.name}" + (f": {seen}" if seen else ""))
    return lines


def _manner(name: str, voice: Voice) -> str:
    """Returns how a speaker writes in the rest of the conversation, with examples."""
    words = voice.lengths[len(voice.lengths) // 2]
    manner = f"{name} writes about {words} words a message and names the other in {voice.naming:.0%} of them."
    return "\n".join([manner, *(f'  as in: "{" ".join(text.split())}"' for text in voice.examples)])


def _photo_parts(request: GroupRequest, at_most: int) -> list[PhotoPart]:
    ids = iter(photo_ids(request))
    labelled = [
        (concept.name, [(next(ids), photo.path) for photo in concept.photos]) for concept in request.group.concepts
    ]
    if sum(len(photos) for _, photos in labelled) <= at_most:
        return [_photo_part(path, f"Photo {key} of {name}:") for name, photos in labelled for key, path in photos]
    if len(labelled) <= at_most:
        return [_sheet(photos, f"Photos {_listed(photos)} of {name}, from left to right:") for name, photos in labelled]
    all_photos = [photo for _, photos in labelled for photo in photos]
    return [_sheet(all_photos, f"Photos {_listed(all_photos)}, from left to right:")]


def _listed(photos: Sequence[tuple[str, Path]]) -> str:
    return ", ".join(photo_id for photo_id, _ in photos)


def _sheet(photos: Sequence[tuple[str, Path]], label: str) -> PhotoPart:
    """Returns a picture of several photos side by side."""
    from PIL import Image

    opened = [Image.open(io.BytesIO(_photo_part(path, label).data)).convert("RGB") for _, path in photos]
    for picture in opened:
        picture.thumbnail((_SHEET_SIDE, _SHEET_SIDE))
    sheet = Image.new("RGB", ((_SHEET_SIDE + _SHEET_GAP) * len(opened) - _SHEET_GAP, _SHEET_SIDE), "white")
    for number, picture in enumerate(opened):
        sheet.paste(picture, (number * (_SHEET_SIDE + _SHEET_GAP), 0))
    encoded = io.BytesIO()
    sheet.save(encoded, "JPEG", quality=88)
    return PhotoPart(label, encoded.getvalue(), "image/jpeg")


def _photo_part(path: Path, label: str) -> PhotoPart:
    """Returns the photo's own bytes if a model can take them, otherwise a smaller JPEG."""
    from PIL import Image, ImageOps

    try:
        data = path.read_bytes()
        with Image.open(io.BytesIO(data)) as picture:
            media_type = _MEDIA_TYPES.get(picture.format or "")
            if media_type and len(data) <= _LARGEST_PHOTO:
                return PhotoPart(label, data, media_type)
            smaller = ImageOps.exif_transpose(picture).convert("RGB")
        smaller.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
        encoded = io.BytesIO()
        smaller.save(encoded, "JPEG", quality=88)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise SynthesisError(f"The photo {path} cannot be read: {error}.") from error
    return PhotoPart(label, encoded.getvalue(), "image/jpeg")
