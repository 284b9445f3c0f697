"""From a message to what is worth keeping of it: facts that stand on their own, with absolute dates and names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

from m2a.agents.offline import lexicon
from m2a.agents.offline.clauses import clauses, find_subject, is_past, is_verb
from m2a.agents.offline.cues import EXCUSE
from m2a.agents.offline.dates import WEEKDAYS, FoundDate, annotate, find_dates
from m2a.agents.offline.names import antecedent, find_names, find_namings, mentioned
from m2a.agents.offline.speech import Utterance, strip_opener, utterances
from m2a.agents.offline.text import tokens
from m2a.types import Concept, ConceptMention, DateInterval, Message

_PREFERENCE = re.compile(
    r"\b(?:i|we)(?:'m| am| are)? (?:\w+ )?(?:like|love|enjoy|prefer|adore|hate|dislike|detest|fond of|allergic|"
    r"vegetarian|vegan|(?:don't|do not|never|can't|"
    r"cannot|won't) (?:\w+ )?(?:eat|drink|like|stand|bear|take|use|want))\b|\bmy favou?rite\b|\bi'd rather\b",
    re.IGNORECASE,
)
_EVENT_VERBS = re.compile(r"\b(?:appointment|meeting|wedding|trip|party|concert|exam|flight|born)\b", re.IGNORECASE)
_PERSONAL = re.compile(r"^(?:he|she)(?:'s|'d|'ll)?\b|^(?:his|her)\b", re.IGNORECASE)
_LOOSE = re.compile(r"^(?:its|it|they|that|this|these|those|both|one|there)(?:'s|'re|'ve|'ll|'d)?\b", re.IGNORECASE)
_OBJECT = re.compile(
    r"\b(?:it|them|him|her(?= *$|[,.;]| and| at| in| on| to| for| with| from| every| last| next| up| back| off| "
    r"out))\b",
    re.IGNORECASE,
)
# Openings that say nothing of what is kept.
_FILLER = re.compile(
    r"^(?:(?:and|but|so|also|oh|well|btw|by the way|fyi|actually|anyway|plus|you know|for the record|just so "
    r"you know|in case you (?:wonder|need it)|"
    r"good news|bad news|big news|great news|guess what|funny thing|i (?:just )?(?:wanted|want|should|have|"
    r"need) to (?:tell|let) you(?: know)?(?: that)?|"
    r"(?:i )?(?:forgot to|did i) (?:tell you|mention)(?: that)?|you should know(?: that)?|let me tell you(?: "
    r"that)?|i must say|note to self|"
    r"(?:i(?:'ve| have)? )?(?:just )?(?:checked|looked (?:it up|at)|looked|read|saw|seen|heard|learned|learnt|found out|"
    r"been told|got told)(?: on| at)?(?: the| their| my)?(?: \w+)?,? (?:and|that)(?= (?:the|my|our|it|he|she|they)\b)|"
    r"i(?:'ll| will) tell you(?: that)?|did you know(?: that)?|hey|hi|hello|sorry|yes|yeah|ok|okay)\b[\s,.:!-]*)+",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Observation:
    """One thing to keep, or to put in the place of what is known (`corrects`)."""

    text: str
    kind: Literal["event", "fact", "preference", "procedure"] = "fact"
    happened: DateInterval | None = None
    concepts: tuple[ConceptMention, ...] = ()
    corrects: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """All that a message holds for the memory."""

    observations: tuple[Observation, ...] = ()
    forgets: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.observations or self.forgets)


def read(message: Message, recent: Sequence[Message], concepts: Sequence[Concept]) -> Reading:
    """What the user's message states, corrects and wants forgotten."""
    said = (
        [_about_photo(utterance) for utterance in utterances(message.text)]
        if message.photos
        else utterances(message.text)
    )
    forgets = tuple(utterance.text for utterance in said if utterance.act == "forget")
    kept = [utterance for utterance in said if utterance.act in ("statement", "correction", "remember", "preference")]
    before = [clause for earlier in recent[-6:] if earlier.role == "user" for clause in _all_clauses(earlier.text)]
    observations = _observations(kept, before, concepts, message.said_at.date())
    if any(utterance.act == "correction" for utterance in kept):
        observations = [replace(one, corrects=True) for one in observations]
    return Reading(tuple(_with_photo_names(observations, message, said)), forgets)


# Idle talk by itself, but under a photo it says what the photo shows: "this is my teapot", "our kitchen".
_OWN = re.compile(r"^(?:(?:this|that|here|these|those)(?:'s| is| are) )?(?:my|our)\b", re.IGNORECASE)


def _about_photo(utterance: Utterance) -> Utterance:
    return replace(utterance, act="statement") if utterance.act == "chat" and _OWN.match(utterance.text) else utterance


def _observations(
    kept: Sequence[Utterance], before: list[str], concepts: Sequence[Concept], today: date
) -> list[Observation]:
    texts: list[tuple[str, Utterance]] = []
    for utterance in kept:
        body = _FILLER.sub("", strip_opener(utterance.text)).strip() or utterance.text
        if utterance.act == "preference":
            texts.append((_sentence(body), utterance))
            continue
        parts = clauses(body)
        if utterance.act == "correction" and re.search(r"n't\b|\bnot\b|\bno longer\b", parts[0]):
            parts = [body]  # "she isn't at A, we chose B" says one thing
        if utterance.act == "correction" and any(find_subject(part) for part in parts):
            parts = [
                part for part in parts if find_subject(part) or find_names(part)
            ]  # "looked at him just now" corrects nothing
        if len(parts) > 1:
            parts = [part for part in parts if not EXCUSE.match(part.strip(" ,"))] or parts
        for clause in parts:
            _put(texts, clause.strip(" ,"), utterance, before, concepts)
    return [_observation(text, utterance, today) for text, utterance in texts if _worth(text)]


def _put(
    texts: list[tuple[str, Utterance]],
    clause: str,
    utterance: Utterance,
    before: Sequence[str],
    concepts: Sequence[Concept],
) -> None:
    """Add the clause as a text of its own, or to the one before it where it cannot stand alone."""
    earlier = [text for text, _ in texts]
    same_sentence = bool(texts) and texts[-1][1] is utterance
    if same_sentence and (
        (len(tokens(earlier[-1])) < 4 and not _is_of_another(clause, earlier[-1]))
        or (utterance.act == "correction" and _PERSONAL.match(clause))
    ):
        texts[-1] = (f"{earlier[-1]}, {clause}", utterance)
        return
    if _PERSONAL.match(clause):
        named = antecedent([*before, *earlier], concepts)
        if named and not (same_sentence and find_namings(clause) and not find_namings(texts[-1][0])):
            texts.append((_with_name(clause, named), utterance))
            return
        if texts and not same_sentence and find_namings(clause):  # "We adopted a greyhound. He's called Duke."
            texts[-1] = (f"{texts[-1][0].rstrip(' .!')}. {clause}", texts[-1][1])
            return
    if texts and (same_sentence or _LOOSE.match(clause) or _OBJECT.search(clause)) and _leans(clause):
        joint = ", " if same_sentence else ". "
        texts[-1] = (f"{texts[-1][0].rstrip(' .')}{joint}{clause}", texts[-1][1])
        return
    if not texts and _LOOSE.match(clause) and not _LOOSE.match(clause).group().lower().startswith("there"):  # type: ignore[union-attr]
        topic = topic_of(before)
        if topic:
            clause = re.sub(r"^its\b", f"{topic}'s", clause, count=1, flags=re.IGNORECASE)
            clause = re.sub(r"^it\b", topic, clause, count=1, flags=re.IGNORECASE)
    if find_subject(clause) is None and is_verb(_first_word(clause)) and utterance.act != "correction":
        clause = f"I {clause[0].lower()}{clause[1:]}"
    namings = find_namings(clause)
    if find_subject(clause) is None and len(namings) == 1 and clause.endswith(namings[0].name):
        clause = f"{namings[0].name} is {clause[: -len(namings[0].name)].strip(' ,')}"
    texts.append((clause, utterance))


def _is_of_another(clause: str, earlier: str) -> bool:
    """Two short clauses of two people: "Rosalind is vegetarian; Hugo eats meat"."""
    ours, theirs = find_subject(clause), find_subject(earlier)
    return bool(ours and theirs and find_names(ours.text) and ours.text != theirs.text)


_TOPIC = re.compile(
    r"\b((?:my|our|the|an?) (?:[a-z-]+ ){0,2}?[a-z-]+)(?= (?:is|was|has|are|costs?|in|at|on|for|from|with|"
    r"needs?|broke|last|this|yesterday|today|called)\b|[,.!]|$)",
    re.IGNORECASE,
)


def topic_of(before: Sequence[str]) -> str | None:
    """The thing that "it" most likely means: the first thing of its own that the newest clause speaks of."""
    for clause in reversed(before):
        for match in _TOPIC.finditer(clause):
            if match[1].split()[-1].lower() not in lexicon.RELATIONS:
                return re.sub(r"^(?:an?|the) ", "the ", match[1], flags=re.IGNORECASE)
    return None


def _leans(clause: str) -> bool:
    """Whether the clause needs the one before it to be understood."""
    return bool(_LOOSE.match(clause) or _PERSONAL.match(clause) or _OBJECT.search(clause))


def _with_name(clause: str, named: str) -> str:
    """The clause with the name for its first pronoun: "He's a plumber" → "Tim is a plumber"."""
    possessive = f"{named}'" if named.endswith("s") else f"{named}'s"
    if re.match(r"(?:his|her)\b", clause, re.IGNORECASE):
        return re.sub(r"^(?:his|her)\b", possessive, clause, flags=re.IGNORECASE)
    if not re.match(r"(?:he|she)'", clause, re.IGNORECASE):
        return re.sub(r"^(?:he|she)\b", named, clause, flags=re.IGNORECASE)
    subject = find_subject(clause)
    return clause if subject is None else f"{named} {subject.rest}"


def _dates(text: str, today: date) -> list[FoundDate]:
    """The dates of the text; on which side of today an open one lies is told by the clause that it stands in."""
    ahead, back = find_dates(text, today, past=False), find_dates(text, today, past=True)
    if len(ahead) != len(back):
        return back if is_past(text) else ahead
    return [late if is_past(_clause_of(text, soon.start)) else soon for soon, late in zip(ahead, back, strict=True)]


def _clause_of(text: str, position: int) -> str:
    start = 0
    for clause in clauses(text):
        at = text.find(clause, start)
        if at < 0:
            break
        if at <= position < at + len(clause):
            return clause
        start = at + len(clause)
    return text


def _observation(text: str, utterance: Utterance, today: date) -> Observation:
    dates = _dates(text, today)
    recurring = re.search(rf"\bevery\b|\b(?:{'|'.join(WEEKDAYS)})s\b|\bbirthday\b", text, re.IGNORECASE)
    happened = dates[0].interval if dates and not recurring else None
    kind: Literal["event", "fact", "preference", "procedure"] = "fact"
    if utterance.act == "preference" or _PREFERENCE.search(text):
        kind = "preference"
    elif happened is not None:
        kind = "event"
    shown = [found for found in dates if not (recurring and "birthday" in text.lower() and found.yearless)]
    concepts = tuple(naming.mention() for naming in find_namings(text))
    return Observation(_sentence(annotate(text, shown)), kind, happened, concepts, utterance.act == "correction")


def _with_photo_names(
    observations: list[Observation], message: Message, said: Sequence[Utterance]
) -> list[Observation]:
    """A name under a photo is kept even where no sentence was made of it ("Bobo!")."""
    if not message.photos or observations or any(one.act in ("question", "forget", "command") for one in said):
        return observations
    namings = find_namings(message.text)
    if not namings:
        return []
    return [Observation(_sentence(message.text.strip()), concepts=tuple(naming.mention() for naming in namings))]


def with_concepts(observation: Observation, concepts: Sequence[Concept]) -> tuple[ConceptMention, ...]:
    """The names that the observation gives, and the known ones that it speaks of."""
    given = {mention.name.casefold(): mention for mention in observation.concepts}
    for concept in mentioned(observation.text, concepts):
        if concept.name in observation.text or any(
            alias[0].isupper() and alias in observation.text for alias in concept.aliases
        ):
            given.setdefault(
                concept.name.casefold(), ConceptMention(name=concept.name, kind=concept.kind, aliases=concept.aliases)
            )
    return tuple(given.values())


def _worth(text: str) -> bool:
    return len(tokens(text)) >= 2


def _all_clauses(text: str) -> list[str]:
    return [clause for utterance in utterances(text) for clause in clauses(utterance.text)]


def _first_word(text: str) -> str:
    found = tokens(text)
    return found[0].text if found else ""


def _sentence(text: str) -> str:
    text = text.strip().strip(",;:- ")
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."
