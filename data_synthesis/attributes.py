"""Attributes from a `concepts.json`, without its writer's notes about single photos ("visible in 03").

A note is turned into the photos on which the attribute is visible. It must not stay in the words, because nobody in a
dialogue knows the names of files.
"""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from data_synthesis.accepted import with_noun
from data_synthesis.group import Attribute

# The question for the attribute of a key. {N} is the concept; [a|b] are a British and an American spelling.
ATTRIBUTE_QUESTIONS: dict[str, str] = json.loads(
    Path(__file__).with_name("attribute_questions.json").read_text(encoding="utf-8")
)

_EVERYWHERE = re.compile(r"\s*\b(?:in|on) (?:every|each|all) (?:the )?(?:photos?|pictures?|images?)\b", re.I)
_SEEN = re.compile(r"\b(?:is|are|only|just|well|best|clearly|seen|visible|shown|can|be|it)\b[\s,]*", re.I)
_HIDDEN = re.compile(r"\b(?:hidden|not|out of sight|covered|cut off)\b[\s,]*", re.I)
_MARKED = re.compile("\0([0-9,]+)\0")


def attribute_of(key: str, value: str, accepted: Iterable[str], photos: Sequence[Path]) -> Attribute:
    """Returns the attribute without notes; `photos` are those of its concept. A bare number or "no" gets the key's noun."""
    value, visible_on = _without_notes(_EVERYWHERE.sub("", value), photos)
    clean = dict.fromkeys(_without_notes(answer, photos)[0] for answer in accepted)
    answers = with_noun((answer for answer in clean if answer and answer != value), re.split(r"[_\W]+", key)[-1])
    return Attribute(key, value, answers, visible_on)


def _without_notes(text: str, photos: Sequence[Path]) -> tuple[str, tuple[Path, ...]]:
    """Returns the text without the clauses that name files, and the photos that these clauses allow; none if all are allowed."""
    stems = {photo.stem: photo for photo in photos}
    names = "|".join(sorted(map(re.escape, stems), key=len, reverse=True))
    several = rf"(?:{names})\b(?:(?:,|\s+and|\s+or|,\s+and)\s+(?:photos?\s+)?(?:{names})\b)*"
    note = re.compile(rf"\b(?:in|on)\s+(?:the\s+)?(?:photos?\s+|pictures?\s+|images?\s+)?({several})(?!\s+[a-z])", re.I)
    order = list(stems)

    def marked(match: re.Match[str]) -> str:
        named = re.findall(names, match[1])
        return f"\0{','.join(str(order.index(name)) for name in named)}\0"

    text = note.sub(marked, text) if stems else text
    if "\0" not in text:
        return text.strip(), ()
    allowed, kept = set(photos), []
    for number, clause in enumerate(re.split(r"\s*[(;]\s*|\s*\)\s*|,\s+", text)):
        match = _MARKED.search(clause)
        if match is None:
            kept.append(clause)
            continue
        named = {photos[int(index)] for index in match[1].split(",") if index}
        rest = _SEEN.sub("", _MARKED.sub("", clause)).strip(" ,.")
        if not rest or number == 0:
            allowed &= named
            kept += [rest] if rest else []
        elif not _HIDDEN.sub("", rest).strip(" ,."):
            allowed -= named
    words = ", ".join(clause.strip() for clause in kept if clause.strip())
    return words, () if allowed == set(photos) else tuple(photo for photo in photos if photo in allowed)
