"""Which memory a correction means, a learned decision, and what takes its place."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from m2a.agents.offline.clauses import find_subject, sentences
from m2a.agents.offline.dates import number
from m2a.agents.offline.names import find_names, mentioned, names_of
from m2a.agents.offline.questions import content_words
from m2a.agents.offline.relevance import covered, entries_of
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.statements import Observation
from m2a.agents.offline.text import meets, stem, stems
from m2a.agents.offline.values import Value, find_values
from m2a.types import Concept, Hit, MemoryEntry

LIGHT = frozenset(
    stem(word)
    for word in "be have do go get a an the my our your his her its their i we you he she it they me us him them "
    "this that these those "
    "and or but so if of in on at to for with from by as not no now then too also just really very all some "
    "any more most much "
    "many there here will can could should would about again still already than into out up down over off back "
    "only even one "
    "actually sorry mean instead longer anymore new same time day today change move switch call say tell think "
    "know want "
    "called said told what who which when where why how let make put take s t m re".split()
)
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
_FROM = re.compile(r"\bfrom (?:[^,.;]|\.\d)*? to (?!\d+ [A-Z]\w+ to)", re.IGNORECASE)

ENOUGH = 0.5
_CHANGE = re.compile(
    r"\b(?:now|moved|changed|switched|swapped|pushed|postponed|put (?:back|off)|brought forward|cancell?ed|sold|quit|"
    r"left|new|instead|these days|no longer|any ?more|used to|gone (?:up|down)|turned|rather than|not|n't|isn't|only)\b",
    re.IGNORECASE,
)
# What is said to come on top takes nothing's place.
_ADDS = re.compile(r"\b(?:also|too|another|as well|one more|besides|second)\b", re.IGNORECASE)
_TAKES_BACK = re.compile(
    r"\b(?:actually|scratch|correction|my (?:mistake|bad)|strike that|second thought|was wrong|got .{1,20} wrong|"
    r"mixed up|i meant|make that|turns out|change of plan|wait,? no|hang on|hold on|i (?:told|said|gave)|after all|fib|wrong)\b|"
    r"^\W*(?:no|nope|oops|sorry)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Target:
    """The memory that gives way, and the text that takes its place."""

    entry: MemoryEntry
    text: str
    keeps_old: bool  # the old text with one value exchanged: it rests on the old evidence too


def find_target(
    observation: Observation,
    said: str,
    hits: Sequence[Hit],
    newest: Sequence[int],
    concepts: Sequence[Concept],
    sense: Sense,
) -> Target | None:
    """The memory that the observation contradicts, or None. `said` is the message that it is from, `newest` the ids of
    the newest user messages, last first."""
    if _ADDS.search(observation.text) and not _TAKES_BACK.search(said):
        return None
    model = sense.models["contradicts"]
    entries = [entry for entry in entries_of(hits) if content(entry.text) != content(observation.text)]
    rated = [
        (model.probability(features), entry.memory_id, entry)
        for entry, features in zip(
            entries, features_of(observation, said, entries, newest, concepts, sense), strict=True
        )
    ]
    best = max(rated, default=None)
    return _replacement(observation, best[2], sense) if best is not None and best[0] >= ENOUGH else None


def features_of(
    observation: Observation,
    said: str,
    entries: Sequence[MemoryEntry],
    newest: Sequence[int],
    concepts: Sequence[Concept],
    sense: Sense,
) -> list[dict[str, float]]:
    """What the decision rests on, for each memory."""
    found = [_features(observation, said, entry, newest, concepts, sense) for entry in entries]
    ordered = sorted((one["cosine"] for one in found), reverse=True)
    for one in found:
        other = ordered[1:2] if one["cosine"] == ordered[0] else ordered[:1]
        one["cosine lead"] = one["cosine"] - other[0] if other else 0.0
    return found


def _features(
    observation: Observation,
    said: str,
    entry: MemoryEntry,
    newest: Sequence[int],
    concepts: Sequence[Concept],
    sense: Sense,
) -> dict[str, float]:
    new, old = observation.text, entry.text
    called = [name for concept in mentioned(new, concepts) for name in names_of(concept)]
    new_words, old_words = content_words(" ".join([_without_values(new), *called])), content_words(_without_values(old))
    forwards, backwards = covered(new_words, old_words, sense), covered(old_words, new_words, sense)
    ours, theirs = find_values(new), find_values(old)
    other_values = sum(
        any(_same_kind(one.kind, other.kind) for one in ours)
        and not any(_same_kind(one.kind, other.kind) and _same_words(one.text, other.text) for one in ours)
        for other in theirs
    )
    same_values = sum(any(one.text.casefold() == other.text.casefold() for one in ours) for other in theirs)
    names = {stem(name.split()[0]) for name in (*find_names(new), *called)}
    old_names = {stem(name.split()[0]) for name in find_names(old)}
    same_subject = _subject_stems(new, concepts) & _subject_stems(old, concepts)
    found = {
        "cosine": sense.cosine(new, old),
        "cosine of the message": sense.cosine(said, old),
        "new met": sum(forwards) / max(1, len(forwards)),
        "old met": sum(backwards) / max(1, len(backwards)),
        "names differ": float(bool(names and old_names and not names & old_names)),
        "same subject": float(bool(same_subject)),
        "another value": min(2, other_values),
        "the same value": min(2, same_values),
        "refuted": float(_refuted(new, old)),
        "takes back": float(bool(_TAKES_BACK.search(said))),
        "changes": float(bool(_CHANGE.search(new))),
        "fragment": float(find_subject(new) is None),
        "newest": float(bool(newest) and _rests_on(entry, newest[:1])),
        "length": min(30, len(old_words)) / 10,
    }
    taken = max(found["takes back"], found["changes"])
    return found | {
        "changes and near": found["changes"] * found["cosine"],
        "another value and taken": min(1, other_values) * taken,
        "same subject and taken": found["same subject"] * taken,
        "newest and taken back": found["newest"] * found["takes back"],
    }


def is_known(observation: Observation, hits: Sequence[Hit]) -> bool:
    """Whether a memory says the same already."""
    words = content(observation.text)
    for hit in hits:
        if isinstance(hit.record, MemoryEntry) and hit.record.kind != "update record":
            known = content(hit.record.text)
            if words == known or (
                words and words < known and hit.record.text.casefold().startswith(observation.text.casefold()[:-1])
            ):
                return True
    return False


def find_forgotten(what: str, hits: Sequence[Hit], previous: Sequence[int]) -> list[MemoryEntry]:
    """The memories that "forget …" means; with nothing named, those of the user's previous message."""
    wanted = content(re.sub(r"^.*?\b(?:about|that)\b", "", what, count=1)) or content(what)
    wanted -= {
        stem(word)
        for word in "everything anything memory note fact thing bit part message please forget delete mention ask".split()
    }
    entries = [hit.record for hit in hits if isinstance(hit.record, MemoryEntry) and hit.record.kind != "update record"]
    if not wanted:
        return [entry for entry in entries if previous and _rests_on(entry, previous[:1])]
    met = {
        entry.memory_id: sum(meets(word, frozenset(stems(entry.text))) for word in wanted) / len(wanted)
        for entry in entries
    }
    return [entry for entry in entries if met[entry.memory_id] >= 0.75]


def content(text: str) -> set[str]:
    return {word for word in stems(text) if word not in LIGHT and len(word) > 1}


def _replacement(observation: Observation, entry: MemoryEntry, sense: Sense) -> Target:
    """The old text with the new value in the place of its own; else the new text, and what of the old is untouched."""
    new = observation.text
    for refuted, put in _oppositions(new):
        if exchanged := _exchange_words(entry.text, refuted, put):
            return Target(entry, exchanged, True)
    ours = find_values(_FROM.sub("to ", _without_opposition(new)))
    exchanged = _exchange_values(entry.text, ours, find_values(entry.text))
    if exchanged and content(_without_values(entry.text)) - content(new):
        more = content(new) - content(exchanged)
        return Target(entry, exchanged if len(more) <= _LITTLE_MORE else f"{exchanged} {new}", True)
    subject = find_subject(entry.text)
    if (
        find_subject(new) is None
        and subject
        and len(new.split()) <= 6
        and subject.rest.split()[0] in ("is", "are", "was")
    ):
        start = new[0] if find_names(new) else new[0].lower()
        return Target(entry, f"{subject.text} {subject.rest.split()[0]} {start}{new[1:]}", True)
    rest = [part for part in sentences(entry.text) if sense.cosine(part, new) < _UNTOUCHED]
    return Target(entry, " ".join([*rest, new]) if len(rest) < len(sentences(entry.text)) else new, bool(rest))


_LITTLE_MORE = 3  # words of the correction that need not be kept beside the corrected value
_UNTOUCHED = 0.3  # a sentence less near to the correction than this still holds


def _exchange_values(old: str, ours: Sequence[Value], theirs: Sequence[Value]) -> str | None:
    """The old text with the new days, times and amounts in the place of its own; None where that is unsure."""
    exchanged = old
    done = False
    for value in reversed(theirs):
        fitting = [one for one in ours if _same_kind(one.kind, value.kind)]
        rivals = [one for one in theirs if _same_kind(one.kind, value.kind)]
        if (
            len(fitting) != 1
            or len(rivals) != 1
            or not value.kind.startswith(("day", "time", "amount", "job", "colour"))
        ):
            continue
        if fitting[0].text.casefold() == value.text.casefold():
            continue
        before = exchanged[: value.start]
        if value.kind in ("job", "colour"):
            before = re.sub(r"\ban? $", "an " if fitting[0].text[0].lower() in "aeiou" else "a ", before)
        exchanged = before + _fitted(exchanged, value, fitting[0]) + exchanged[value.end :]
        done = True
    return exchanged if done else None


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
    bare = re.match(r"(?:\d|the |[A-Z])", text) is not None
    if value.kind == "day" and bare and not re.match(r"(?:\d|the |[A-Z])", value.text):
        return f"on {text}"
    if value.kind == "time" and value.text.startswith("at ") and not text.startswith(("at ", "between ", "from ")):
        return f"at {text}"
    return text


def _same_kind(left: str, right: str) -> bool:
    if left == right:
        return True
    return left.startswith("amount:") and right.startswith("amount:") and (left == "amount:" or right == "amount:")


def _oppositions(text: str) -> list[tuple[str, str]]:
    found = []
    for pattern in _NOT:
        if match := pattern.search(text):
            old = re.sub(r"^(?:the|a|an|on|in|at|to|for|with) ", "", match["old"].strip(), flags=re.IGNORECASE)
            found.append((old, match["new"].strip()))
    return found


def _without_opposition(text: str) -> str:
    for old, _ in _oppositions(text):
        text = re.sub(rf",? (?:and )?(?:not|instead of|rather than)(?: \w+)? {re.escape(old)}", "", text)
    return text


def _refuted(new: str, old: str) -> bool:
    """Whether the new text names a part of the old one after "not"."""
    for words, _ in _oppositions(new):
        wanted = {word for word in stems(words) if len(word) > 1}
        said = set(stems(old)) | {stem(value.text.split()[0]) for value in find_values(old)}
        if wanted and wanted - LIGHT and all(_same_number(word, said) for word in wanted - LIGHT):
            return True
    return False


def _same_number(word: str, said: set[str]) -> bool:
    count = number(word)
    return word in said or (
        count is not None and any(number(other) == count for other in said if other not in ("a", "an"))
    )


def _exchange_words(old: str, refuted: str, put: str) -> str | None:
    """The old text with the refuted words (or their number) replaced by the last words of what they were opposed to."""
    values = find_values(put)
    theirs = [value for value in find_values(old) if _same_words(value.text.split()[0], refuted.split()[0])]
    if values and len(theirs) == 1 and len(refuted.split()) <= 2:
        fitting = [value for value in values if _same_kind(value.kind, theirs[0].kind)]
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


def _same_words(left: str, right: str) -> bool:
    return left.casefold() == right.casefold() or (number(left) is not None and number(left) == number(right))


def _without_values(text: str) -> str:
    for value in reversed(find_values(text)):
        unit = value.text.split()[-1] if value.kind.startswith("amount:") and len(value.text.split()) > 1 else ""
        text = text[: value.start] + unit + text[value.end :]
    return text


def _subject_stems(text: str, concepts: Sequence[Concept]) -> set[str]:
    """The words of the subject, and what the one that it names is called besides: Priya is the flatmate."""
    subject = find_subject(text)
    if subject is None:
        return set()
    called = [name for concept in mentioned(subject.text, concepts) for name in names_of(concept)]
    return content(" ".join([subject.text, *called]))


def _rests_on(entry: MemoryEntry, message_ids: Sequence[int]) -> bool:
    return any(first <= message_id <= last for first, last in entry.evidence_ids for message_id in message_ids)
