"""What a `concepts.json` says of a concept, freed of its writer's notes about single photos ("visible in 03").

A note becomes the photos on which the attribute can be seen; it never stays in the words, for nobody who talks, asks or
answers knows the names of files.
"""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from data_synthesis.accepted import written_out
from data_synthesis.group import Attribute

# How the attribute of a key is asked; {N} is the concept, and [a|b] is spelled by whoever asks.
ATTRIBUTE_QUESTIONS: dict[str, str] = json.loads(
    Path(__file__).with_name("attribute_questions.json").read_text(encoding="utf-8")
)

_EVERYWHERE = re.compile(r"\s*\b(?:in|on) (?:every|each|all) (?:the )?(?:photos?|pictures?|images?)\b", re.I)
_SEEN = re.compile(r"\b(?:is|are|only|just|well|best|clearly|seen|visible|shown|can|be|it)\b[\s,]*", re.I)
_HIDDEN = re.compile(r"\b(?:hidden|not|out of sight|covered|cut off)\b[\s,]*", re.I)
_NOTED = re.compile("\0([0-9,]+)\0")


def attribute_of(key: str, value: str, accepted: Iterable[str], photos: Sequence[Path]) -> Attribute:
    """The attribute in clean words; `photos` are those of its concept. A bare number or "no" is given the key's noun."""
    value, seen = _without_notes(_EVERYWHERE.sub("", value), photos)
    clean = dict.fromkeys(_without_notes(one, photos)[0] for one in accepted)
    answers = written_out((one for one in clean if one and one != value), re.split(r"[_\W]+", key)[-1])
    return Attribute(key, value, answers, seen)


def _without_notes(text: str, photos: Sequence[Path]) -> tuple[str, tuple[Path, ...]]:
    """The text without the clauses that name files, and the photos that these allow; none where all are."""
    stems = {photo.stem: photo for photo in photos}
    names = "|".join(sorted(map(re.escape, stems), key=len, reverse=True))
    several = rf"(?:{names})\b(?:(?:,|\s+and|\s+or|,\s+and)\s+(?:photos?\s+)?(?:{names})\b)*"
    found = re.compile(
        rf"\b(?:in|on)\s+(?:the\s+)?(?:photos?\s+|pictures?\s+|images?\s+)?({several})(?!\s+[a-z])", re.I
    )
    places = list(stems)

    def marked(match: re.Match[str]) -> str:
        named = re.findall(names, match[1])
        return f"\0{','.join(str(places.index(name)) for name in named if name in stems)}\0"

    text = found.sub(marked, text) if stems else text
    if "\0" not in text:
        return text.strip(), ()
    allowed, kept = set(photos), []
    for number, clause in enumerate(re.split(r"\s*[(;]\s*|\s*\)\s*|,\s+", text)):
        match = _NOTED.search(clause)
        if match is None:
            kept.append(clause)
            continue
        named = {photos[int(one)] for one in match[1].split(",") if one}
        said = _SEEN.sub("", _NOTED.sub("", clause)).strip(" ,.")
        if not said or number == 0:
            allowed &= named
            kept += [said] if said else []
        elif not _HIDDEN.sub("", said).strip(" ,."):
            allowed -= named
    words = ", ".join(one.strip() for one in kept if one.strip())
    return words, () if allowed == set(photos) else tuple(photo for photo in photos if photo in allowed)
