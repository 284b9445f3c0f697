"""What takes the place of a corrected memory: its text with one value exchanged, or the new words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from m2a.agents.offline.change_words import without_change
from m2a.agents.offline.clauses import find_subject, is_past, segments, sentences
from m2a.agents.offline.dates import number
from m2a.agents.offline.names import NAME, find_names, find_places
from m2a.agents.offline.text import content
from m2a.agents.offline.values import Value, find_values
from m2a.types import MemoryEntry

_NOT = (
    re.compile(r"\bnot (?P<old>[^,.;]+?),? but (?P<new>[^,.;]+)", re.IGNORECASE),
    re.compile(r"(?P<new>[^,;]+?),? (?:and )?not (?P<old>[^,.;-]+?)(?= -|[,.;!]|$)", re.IGNORECASE),
    re.compile(r"(?P<new>[^,;]+?),? (?:instead of|rather than) (?P<old>[^,.;-]+?)(?= -|[,.;!]|$)", re.IGNORECASE),
    re.compile(
        r"\b(?:isn't|wasn't|aren't|is not|was not) (?P<old>[^,.;]+), (?:it's|he's|she's|they're|it is|it was) "
        r"(?P<new>[^,.;]+)",
        re.IGNORECASE,
    ),
)
_NAMED = re.compile(rf"(?<![\w'])(?P<name>{NAME})(?P<behind> [a-z]+)?")
_MEANT = re.compile(
    r"\b(?:I meant|I'd meant|[Ss]hould (?:be|say|have been)|[Mm]ake (?:it|that)) (?:the |my |an? )?" + _NAMED.pattern
)
_FROM = re.compile(r"\bfrom (?:[^,.;]|\.\d)*? to (?!\d+ [A-Z]\w+ to)", re.IGNORECASE)

# Says when something is told, and seldom to which day it is put.
_OF_THE_TELLING = re.compile(r"(?:today|yesterday|tonight|this (?:morning|afternoon|evening))\b", re.IGNORECASE)
_WEEKLY = re.compile(r"(?:every )?\w+days\b|every\b", re.IGNORECASE)
_BOUND = re.compile(r"(before|until|till|by|after|from) ", re.IGNORECASE)
_CLOSE_BEHIND = 12  # characters


@dataclass(frozen=True, slots=True)
class Target:
    """The memory that gives way, and the text that takes its place."""

    entry: MemoryEntry
    text: str
    keeps_old: bool  # the old text with one value exchanged: it rests on the old evidence too


def replacement(new: str, entry: MemoryEntry, held: Sequence[str]) -> Target:
    """The old text with the new value in the place of its own; else the new text behind the sentences that are `held`."""
    for refuted, put in oppositions(new):
        if exchanged := _exchange_words(entry.text, refuted, put):
            return Target(entry, exchanged, True)
    if exchanged := _exchange_name(entry.text, new):
        return Target(entry, exchanged, True)
    if exchanged := _exchange_place(entry.text, new):
        return Target(entry, _with_the_rest(exchanged, new), True)
    ours = find_values(_FROM.sub("to ", _without_opposition(new)))
    exchanged = _exchange_values(entry.text, ours, find_names(new))
    if exchanged and content(without_values(entry.text)) - content(new):
        return Target(entry, _with_the_rest(exchanged, new), True)
    subject = find_subject(entry.text)
    if (
        find_subject(new) is None
        and subject
        and not content(subject.text) & content(new)
        and len(new.split()) <= 6
        and subject.rest.split()[0] in ("is", "are", "was")
    ):
        start = new[0] if find_names(new) else new[0].lower()
        return Target(entry, f"{subject.text} {subject.rest.split()[0]} {start}{new[1:]}", True)
    return Target(entry, " ".join([*held, new]), bool(held))


def _exchange_name(old: str, new: str) -> str | None:
    """The old text with the name that was meant in the place of its own: Bath for Bristol by "I meant the Bath half marathon",
    Brennan's for Hartley's by "I meant Brennan's". None where the old text has none in such a place, or several."""
    found = _MEANT.search(new)
    if found is None:
        return None
    meant, known = _bare(found["name"]), find_names(old)
    if meant in old:
        return None
    theirs = [one for one in _NAMED.finditer(old) if _bare(one["name"]) in known and _bare(one["name"]) not in new]
    alike = [one for one in theirs if one["name"].endswith("'s") == found["name"].endswith("'s")]
    if len(alike) > 1:  # a sentence begins with a capital, name or not
        alike = [one for one in alike if not re.search(r"(?:^|[.!?] )$", old[: one.start()])]
    if len(alike) > 1:
        alike = [one for one in alike if one["behind"] and one["behind"] == found["behind"]]
    if len(alike) != 1:
        return None
    start = alike[0].start("name")
    return old[:start] + meant + old[start + len(_bare(alike[0]["name"])) :]


def _exchange_place(old: str, new: str) -> str | None:
    """The old text with the place where somebody or something is now: "he's a paramedic in Limerick". None where it tells of
    the past, or of several places."""
    theirs, ours = set(find_places(old)) - set(find_places(new)), set(find_places(new)) - set(find_places(old))
    if len(theirs) != 1 or len(ours) != 1 or len(sentences(old)) > 1 or find_values(new):
        return None
    put = re.search(rf"\b(?:in|at) ({re.escape(ours.pop())})", new)
    at = re.search(rf"\b(?:in|at) ({re.escape(theirs.pop())})", old)
    if (
        put is None
        or at is None
        or any(start <= at.start() < end and is_past(old[start:end]) for start, end in segments(old))
    ):
        return None
    if not content(old) - content(new) - content(at[0]):
        return None  # it tells nothing else
    return old[: at.start(1)] + put[1] + old[at.end(1) :]


def _bare(name: str) -> str:
    return name.removesuffix("'s")


def _with_the_rest(exchanged: str, new: str) -> str:
    """The old text as mended, and what the correction tells besides."""
    rest = [part for part in sentences(new) if _more(part) - content(exchanged)]
    return " ".join([exchanged, *(_FROM.sub("to ", _without_opposition(part)) for part in rest)])


def _more(part: str) -> set[str]:
    """The words of a correction without those that only say that it is one."""
    return content(without_change(without_values(part)))


def _exchange_values(old: str, ours: Sequence[Value], names: Sequence[str]) -> str | None:
    """The old text with the new days, times, ages and amounts in the place of its own; None where that is unsure.

    Where it has several of a kind, the one behind one of the `names` is meant.
    """
    theirs = find_values(old)
    exchanged = old
    done = False
    for value in reversed(theirs):
        fitting = [one for one in ours if same_kind(one.kind, value.kind) and not _OF_THE_TELLING.match(one.text)]
        rivals = [one for one in theirs if same_kind(one.kind, value.kind)]
        if len(rivals) > 1 and fitting:  # "Tuesdays" gives way to "Thursdays", and "today" stays
            rivals = [one for one in rivals if bool(_WEEKLY.match(one.text)) == bool(_WEEKLY.match(fitting[0].text))]
        if len(fitting) != 1 or value != (rivals[0] if len(rivals) == 1 else _value_of(names, old, rivals)):
            continue
        if fitting[0].text.casefold() == value.text.casefold():
            continue
        if value.kind == "time" and _opposed(value.text, fitting[0].text):
            return None
        before = exchanged[: value.start]
        if value.kind in ("job", "colour"):
            before = re.sub(r"\ban? $", "an " if fitting[0].text[0].lower() in "aeiou" else "a ", before)
        exchanged = before + _fitted(exchanged, value, fitting[0]) + exchanged[value.end :]
        done = True
    return exchanged if done else None


def _opposed(left: str, right: str) -> bool:
    """ "No calls before 9" and "calls from 8": the hour alone would say the contrary."""
    ends = [match[1].lower() for match in (_BOUND.match(left), _BOUND.match(right)) if match]
    return len(ends) == 2 and ends[0] != ends[1]


def _value_of(names: Sequence[str], old: str, rivals: Sequence[Value]) -> Value | None:
    """The one that stands close behind a name: Wren's age in "Kofi who's 11 and Wren who's 6"."""
    for name in names:
        at = old.find(name)
        behind = [one for one in rivals if at >= 0 and 0 <= one.start - at - len(name) <= _CLOSE_BEHIND]
        if behind:
            return behind[0]
    return None


def _fitted(old: str, value: Value, new: Value) -> str:
    """The new value with the preposition that its place needs: "in three weeks" → "on 11 June"."""
    text = new.text
    weekday = re.match(r"(?:every )?([A-Z]\w+?day)s?\b", text)
    if weekday and (recurring := re.fullmatch(r"(every )?\w+day(s)?", value.text)) and (recurring[1] or recurring[2]):
        return f"{recurring[1] or ''}{weekday[1]}{recurring[2] or ''}"
    if value.kind == "amount:" or (
        value.kind.startswith("amount:") and len(text.split()) == 1 and len(value.text.split()) > 1
    ):
        return text if value.kind == "amount:" else f"{text} {' '.join(value.text.split()[1:])}"
    if value.kind == "age" and value.text.endswith("old") and not text.endswith("old"):
        return f"{text}-year-old" if "-" in value.text else f"{text} years old"
    bare = re.match(r"(?:\d|the |[A-Z])", text) is not None
    if value.kind == "day" and bare and not re.match(r"(?:\d|the |[A-Z])", value.text):
        return f"on {text}"
    if value.kind == "time" and value.text.startswith("at ") and not text.startswith(("at ", "between ", "from ")):
        return f"at {text}"
    if value.kind == "time" and re.match(r"\d|half ", value.text):
        return re.sub(r"^(?:at|by|around|about) ", "", text)
    return text


def same_kind(left: str, right: str) -> bool:
    if left == right or {left, right} == {"age", "amount:"}:  # "she's six" and "only four"
        return True
    return left.startswith("amount:") and right.startswith("amount:") and (left == "amount:" or right == "amount:")


def oppositions(text: str) -> list[tuple[str, str]]:
    found = []
    for pattern in _NOT:
        if match := pattern.search(text):
            old = re.sub(r"^(?:the|a|an|on|in|at|to|for|with) ", "", match["old"].strip(), flags=re.IGNORECASE)
            found.append((old, match["new"].strip()))
    return found


def _without_opposition(text: str) -> str:
    for old, _ in oppositions(text):
        text = re.sub(rf",? (?:and )?(?:not|instead of|rather than)(?: \w+)? {re.escape(old)}", "", text)
    return text


def _exchange_words(old: str, refuted: str, put: str) -> str | None:
    """The old text with the refuted words (or their number) replaced by the last words of what they were opposed to."""
    values = find_values(put)
    theirs = [value for value in find_values(old) if same_words(value.text.split()[0], refuted.split()[0])]
    if values and len(theirs) == 1 and len(refuted.split()) <= 2:
        fitting = [value for value in values if same_kind(value.kind, theirs[0].kind)]
        if len(fitting) == 1:
            return old[: theirs[0].start] + fitting[0].text + old[theirs[0].end :]
    match = re.search(rf"(?<!\w){re.escape(refuted)}(?!\w)", old, re.IGNORECASE)
    if match is None:
        return None
    names = find_names(put)
    if refuted[0].isupper() and names:
        words = names[-1]
    else:
        words = re.sub(
            r"^.*\b(?:is|are|was|were|it's|he's|she's|they're|meant)\b ?(?:actually |really |called )?",
            "",
            put,
            flags=re.IGNORECASE,
        )
        if len(words.split()) > len(refuted.split()) + 2:
            words = " ".join(words.split()[-len(refuted.split()) :])
        if re.search(r"\b(?:a|an|the|on|in|at|my) $", old[: match.start()]):
            words = re.sub(r"^(?:a|an|the|on|in|at|my) ", "", words)
    return old[: match.start()] + words.strip(" .") + old[match.end() :]


def same_words(left: str, right: str) -> bool:
    return left.casefold() == right.casefold() or (number(left) is not None and number(left) == number(right))


def without_values(text: str) -> str:
    for value in reversed(find_values(text)):
        unit = value.text.split()[-1] if value.kind.startswith("amount:") and len(value.text.split()) > 1 else ""
        text = text[: value.start] + unit + text[value.end :]
    return text
