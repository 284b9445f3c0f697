"""Which memory a correction means, and what takes its place."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from m2a.agents.offline.clauses import Subject, find_subject, is_past
from m2a.agents.offline.dates import WEEKDAYS, number
from m2a.agents.offline.names import NAME, find_names, find_places, mentioned, names_of
from m2a.agents.offline.relevance import said_stems
from m2a.agents.offline.statements import Observation
from m2a.agents.offline.text import meets, stem, stems
from m2a.agents.offline.values import Value, find_values, topics
from m2a.types import Concept, Hit, MemoryEntry

# Words that do not tell one subject from another.
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


# What these speak of no longer holds as it was said.
_ENDS = re.compile(
    r"\b(?:cancell?ed|quit|sold|stopped|gave up|given up|no longer|called off|dropped|resigned|lost|returned|"
    r"(?:gave|given|brought|sent|handed) .{1,30} back)\b",
    re.IGNORECASE,
)
# "moved from Monday to Tuesday": the first is what no longer holds.
_FROM = re.compile(r"\bfrom (?:[^,.;]|\.\d)*? to (?!\d+ [A-Z]\w+ to)", re.IGNORECASE)


_WEEKLY = re.compile(rf"\b((?:{'|'.join(WEEKDAYS)})(?=s\b)|(?<=every )(?:{'|'.join(WEEKDAYS)}))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Target:
    """The memory that gives way, and the text that takes its place."""

    entry: MemoryEntry
    text: str
    keeps_old: bool  # the old text with one value exchanged: it rests on the old evidence too


def find_target(
    observation: Observation, hits: Sequence[Hit], newest: Sequence[int], today: date, concepts: Sequence[Concept] = ()
) -> Target | None:
    """The memory that the observation contradicts, or None. `newest` are the ids of the newest user messages, last first."""
    best: tuple[float, MemoryEntry] | None = None
    for hit in hits:
        entry = hit.record
        if not isinstance(entry, MemoryEntry) or entry.kind == "update record":
            continue
        score = _contradiction(observation, entry, hit, newest, today, concepts)
        if score is not None and (best is None or score > best[0]):
            best = (score, entry)
    if best is None:
        return None
    return _replacement(observation, best[1])


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
        entry.memory_id: sum(meets(word, said_stems(entry, ())) for word in wanted) / len(wanted) for entry in entries
    }
    return [entry for entry in entries if met[entry.memory_id] >= 0.75]


def content(text: str) -> set[str]:
    return {word for word in stems(text) if word not in LIGHT and len(word) > 1}


def _contradiction(
    observation: Observation,
    entry: MemoryEntry,
    hit: Hit,
    newest: Sequence[int],
    today: date,
    concepts: Sequence[Concept],
) -> float | None:
    """How surely the two contradict each other; None where they speak of different things."""
    new, old = content(_without_values(observation.text)), content(entry.text)
    if content(observation.text) == old:
        return None
    shared = {word for word in new if meets(word, old)}
    names = {stem(name.split()[0]) for name in find_names(observation.text)}
    old_names = {stem(name.split()[0]) for name in find_names(entry.text)}
    if (
        names
        and old_names
        and not names & old_names
        and not (shared - names)
        and not _refuted(observation.text, entry.text)
    ):
        return None
    same_kinds = {value.kind for value in find_values(observation.text)} & {
        value.kind for value in find_values(entry.text)
    }
    same_topics = topics(observation.text) & topics(entry.text)
    refuted = _refuted(observation.text, entry.text)
    if not observation.corrects:
        if _is_moved(observation, entry, today):
            return 3.0 + hit.similarity.get("dense", 0.0)
        if _other_venue(observation.text, entry.text) or _is_rescheduled(observation.text, entry.text):
            return 2.5 + hit.similarity.get("dense", 0.0)
        return _same_attribute(observation.text, entry.text, same_kinds | same_topics)
    fresh = next((1.5 - rank for rank, message_id in enumerate(newest[:2]) if _rests_on(entry, [message_id])), 0.0)
    fragment = find_subject(observation.text) is None or bool(
        re.match(r"(?:it|that|this|he|she|they)\b", observation.text, re.IGNORECASE)
    )
    if not shared and not refuted and not (fragment and fresh):
        return None
    evidence = (
        2.0 * bool(same_kinds)
        + 1.5 * bool(same_topics)
        + 3.0 * refuted
        + len(shared - names)
        + 0.5 * len(shared & names)
    )
    same_subject = _subject_stems(observation.text, concepts) & _subject_stems(entry.text, concepts)
    score = evidence + fresh + 1.0 * bool(same_subject) + hit.similarity.get("dense", 0.0)
    enough = bool(
        same_kinds
        or same_topics
        or refuted
        or len(shared - names) >= 2
        or (fragment and fresh)
        or ((same_subject or _ENDS.search(observation.text)) and len(shared - names) >= 1)
    )
    return score if enough and score >= 2.0 else None


def _is_moved(observation: Observation, entry: MemoryEntry, today: date) -> bool:
    """A thing of ours that lies ahead is given another day: "the chapter is due on 26 October"."""
    subject = find_subject(observation.text)
    if subject is None or observation.happened is None or entry.happened is None or entry.happened.last < today:
        return False
    ours, old = content(subject.text), content(entry.text)
    ours = ours - _HEADS or ours
    definite = (
        re.match(rf"(?:the|my|our|his|her|their)\b|{NAME}'s? \w", subject.text) is not None or subject.text.islower()
    )
    definite = definite or re.match(r"(?:The|My|Our|His|Her|Their)\b", subject.text) is not None
    lies_ahead = not is_past(observation.text)
    return (
        definite
        and lies_ahead
        and bool(ours)
        and _speaks_of(ours, old)
        and not _is_of_other(subject.text, entry.text)
        and entry.happened != observation.happened
    )


_AT = rf"\b(?:at|in) ((?:the )?{NAME})"
# What the head of a subject adds to the thing it is of: "the due date" is when what is due.
_HEADS = frozenset(stem(word) for word in "date day time place appointment lesson class session course".split())


def _other_venue(new: str, old: str) -> tuple[str, str] | None:
    """The place in the old text and the one that takes its turn: "the party's at the Red Lion"."""
    subject = find_subject(new)
    if subject is None or not content(subject.text) or find_names(subject.text):
        return None
    there = re.match(rf"(?:is|are|takes? place|will be)(?: now)? {_AT.removeprefix(chr(92) + 'b')}", subject.rest)
    places = re.findall(_AT, old)
    if there is None or len(places) != 1 or places[0] == there[1] or is_past(old):
        return None
    known = content(old)
    return (places[0], there[1]) if _speaks_of(content(subject.text), known) else None


def _is_rescheduled(new: str, old: str) -> bool:
    """What comes every week is given another weekday, in a text of one such thing: "swimming's on Wednesdays"."""
    subject = find_subject(new)
    if subject is None or not re.match(r"(?:is|are|starts?|begins?|takes? place|will be)\b", subject.rest):
        return False
    ours = content(subject.text) - _HEADS
    known = content(old)
    days, times = _WEEKLY.findall(new), _WEEKLY.findall(old)
    return (
        bool(ours)
        and len(days) == len(times) == 1
        and days[0].lower() != times[0].lower()
        and _speaks_of(ours, known)
        and not _is_of_other(subject.text, old)
    )


def _speaks_of(subject: set[str], said: set[str]) -> bool:
    """Every word of the subject is met, one of them literally: a meeting is not the dentist's appointment."""
    return bool(subject & said) and all(meets(word, said) for word in subject)


def _is_of_other(subject: str, old: str) -> bool:
    """ "My appointment" is not "Tom's appointment"."""
    theirs = find_subject(old)
    owner = re.match(rf"({NAME})'s? \w", theirs.text) if theirs else None
    return bool(owner and re.match(r"(?:my|our)\b", subject, re.IGNORECASE) and owner[1] not in subject)


def _same_attribute(new: str, old: str, alike: set[str]) -> float | None:
    """Two plain statements contradict each other where both give the one value that a thing of ours has."""
    ours, theirs = find_subject(new), find_subject(old)
    if ours is None or theirs is None:
        return None
    if _gives_another(new, old, ours, theirs):
        return 3.0
    if not re.match(r"(?:is|are|was|were)\b", ours.rest) or not re.match(r"(?:is|are|was|were)\b", theirs.rest):
        return None
    if content(ours.text) != content(theirs.text) or not content(ours.text):
        return None
    single = re.search(
        r"\b(?:favou?rite|number|address|password|pin|code|name|birthday|size|dose|age|job|height|weight|email)\b",
        ours.text,
        re.IGNORECASE,
    )
    placed = re.match(r"(?:is|are) (?:now )?(?:in|on|at|under|behind|with)\b", ours.rest) and re.match(
        r"(?:is|are) (?:in|on|at|under|behind|with)\b", theirs.rest
    )
    return (
        3.0
        if single or placed or (alike & {"schedule"} and re.match(r"(?:my|our)\b", ours.text, re.IGNORECASE))
        else None
    )


# What one does in one place, for one firm, with one car at a time.
_SINGLE = {
    stem(verb)
    for verb in "live work weigh cost drive study own have owe earn pay start begin end finish open close".split()
}
_OF_PLACE = {stem(verb) for verb in "live work study".split()}
_LASTING = ("amount:", "time", "colour", "job")


def _gives_another(new: str, old: str, ours: Subject, theirs: Subject) -> bool:
    """One subject, one verb, and another value of one kind: "rent is 900" and "the rent is 950", "lives in Graz"."""
    if is_past(new) or is_past(old) or re.search(r"\b(?:also|too|another|as well|second|other)\b", new, re.IGNORECASE):
        return False
    who, whose = _who(ours.text), _who(theirs.text)
    if who != whose or not who:
        return False
    verb, their_verb = _verb(ours.rest), _verb(theirs.rest)
    if not verb or not (verb == their_verb or meets(verb, {their_verb})) or verb not in _SINGLE | {stem("is")}:
        return False
    if verb in _OF_PLACE:
        here, there = set(find_places(new)), set(find_places(old))
        return bool(here and there) and not here & there
    said = find_values(new)
    known = find_values(old)
    pairs = [
        (one, other) for one in said for other in known if one.kind == other.kind and one.kind.startswith(_LASTING)
    ]
    if len(pairs) != 1 or pairs[0][0].text.casefold() == pairs[0][1].text.casefold():
        return False
    if verb == stem("is") and ours.text.lower() in ("it", "that", "this", "there"):
        return False
    return pairs[0][0].kind != "time" or {v.text for v in said if v.kind == "day"} == {
        v.text for v in known if v.kind == "day"
    }


def _who(text: str) -> frozenset[str]:
    words = {word for word in stems(text) if word not in (stem("the"), stem("my"), stem("our"), stem("a"))}
    return frozenset(words)


def _verb(rest: str) -> str:
    """The stem of the predicate's verb, past auxiliaries: "is now driving" is to drive."""
    skipped = {"now", "only", "just", "still", "actually", "really", "currently", "also", "already"}
    words = [word for word in re.findall(r"[\w']+", rest.lower()) if word not in skipped]
    if len(words) > 1 and words[0] in ("is", "are", "am", "has", "have", "will") and words[1].endswith("ing"):
        return stem(words[1])
    return stem("is") if words and words[0] in ("is", "are", "am") else stem(words[0]) if words else ""


def _replacement(observation: Observation, entry: MemoryEntry) -> Target:
    for refuted, put in _oppositions(observation.text):
        exchanged = _exchange_words(entry.text, refuted, put)
        if exchanged:
            return Target(entry, exchanged, True)
    if venue := _other_venue(observation.text, entry.text):
        return Target(entry, entry.text.replace(*venue), True)
    successor = re.search(rf"\b(?:it's|it is) (?:now )?({NAME})", observation.text)
    role = re.fullmatch(rf"((?:My|Our|The) [\w ]+?(?: is| are)) ((?:an? )?{NAME})\.?", entry.text)
    if successor and role and successor[1] not in entry.text:
        return Target(entry, f"{role[1]} {successor[1]}.", True)
    # What stands on its own and says all that the old one said needs nothing of it.
    ours = find_values(_FROM.sub("to ", _without_opposition(observation.text)))
    theirs = find_values(entry.text)
    rest_of_old = content(_without_values(entry.text)) - content(observation.text)
    if rest_of_old and (exchanged := _exchange_values(entry.text, ours, theirs)):
        return Target(entry, exchanged, True)
    if find_subject(observation.text) is None and (subject := find_subject(entry.text)):
        verb = subject.rest.split()[0]
        if verb in ("is", "are", "was", "were") and len(observation.text.split()) <= 6:
            fragment = observation.text
            first = fragment[0] if find_names(fragment) else fragment[0].lower()
            return Target(entry, f"{subject.text} {verb} {first}{fragment[1:]}", True)
    return Target(entry, observation.text, False)


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
