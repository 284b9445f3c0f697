"""From a message to what is worth keeping of it: its sentences, with absolute dates, and names for their pronouns.

A sentence that cannot stand alone stays with the one before it, so that a memory is understood by itself.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

from m2a.agents.offline import lexicon
from m2a.agents.offline.acts import SHOWS, Utterance, utterances
from m2a.agents.offline.change_words import IS_WRONG, TAKES_BACK, refuted
from m2a.agents.offline.clauses import find_subject, has_verb, is_past, segments, sentences
from m2a.agents.offline.dates import WEEKDAYS, FoundDate, annotate, find_dates
from m2a.agents.offline.foreign import tells
from m2a.agents.offline.languages import is_english
from m2a.agents.offline.names import antecedent, find_namings, is_named, mentioned
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.showing import PhotoSaying, photo_sayings, without_denial
from m2a.agents.offline.text import plain, tokens
from m2a.agents.offline.values import find_values, has_day
from m2a.agents.offline.wishes import forget_probability, goes_on_forgetting
from m2a.types import Concept, DateInterval, Message, NamedConcept

_PREFERENCE = re.compile(
    r"\b(?:i|we)(?:'m| am| are)? (?:\w+ )?(?:like|love|enjoy|prefer|adore|hate|dislike|detest|fond of|allergic|"
    r"vegetarian|vegan|(?:don't|do not|never|can't|cannot|won't) (?:\w+ )?(?:eat|drink|like|stand|bear|take|want))\b|"
    r"\bmy favou?rite\b|\bi'd rather\b",
    re.IGNORECASE,
)
_PERSONAL = re.compile(r"^(?P<pronoun>he|she|his|her)\b", re.IGNORECASE)
_LOOSE = re.compile(
    r"^(?:its|it|they|their|that|this|these|those|both|one|same|there|then)(?:'s|'re|'ve|'ll|'d)?\b", re.IGNORECASE
)
_OBJECT = re.compile(
    r"\b(?:it|them|him|her(?= *$|[,.;]| and| at| in| on| to| for| with| from| every| last| next| up| back| off|"
    r" out))\b",
    re.IGNORECASE,
)
_OWN = re.compile(r"^(?:(?:this|that|here|these|those)(?:'s| is| are) )?(?:my|our)\b", re.IGNORECASE)
# Openings that say nothing of what is kept.
_FILLER = re.compile(
    r"^(?:(?:oh|ah|hey|hi|hello|hiya|so|and|but|also|plus|ok|okay|well|right|btw|by the way|fyi|anyway|hm+|um+|yes|"
    r"yeah|yep|"
    r"haha|lol|omg|phew|wow|ugh|guess what|(?:it )?turns out(?: that)?|it (?:seems|looks like|appears)(?: that)?|"
    r"listen|ps|thanks|thank you|for the record|just so you know|no|nope|sorry|actually|"
    r"(?:good|great|big|bad) news|you should know(?: that)?|did you know(?: that)?|you know|note to self|"
    r"scratch that|strike that|"
    r"(?:(?:small|quick|slight|minor) )?correction|"
    r"i(?: just)? (?:wanted|want|should|have|need|would like|'d like) to (?:tell|let|"
    r"inform) you(?: know)?(?: that)?)\b"
    r"(?:[\s,.:!-]+|$))+",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Observation:
    """One thing to keep. `said` are the sentences that it is from, with the words that `text` has no use for ("No, …").

    `photo_ids` are the photos that it says the names of, where it says which.
    """

    text: str
    kind: Literal["event", "fact", "preference", "procedure"] = "fact"
    happened: DateInterval | None = None
    concepts: tuple[NamedConcept, ...] = ()
    said: str = ""
    photo_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """All that a message holds for the memory.

    `otherwise` is kept where nothing of what is to be forgotten is found. `restores` where the user says that a replaced
    statement holds as well. `unread` are the sentences that these rules cannot read, and `left_out` is how many more a long
    message has than are read: both are in the conversation only.
    """

    observations: tuple[Observation, ...] = ()
    forgets: tuple[str, ...] = ()
    otherwise: tuple[Observation, ...] = ()
    restores: bool = False
    unread: tuple[str, ...] = ()
    left_out: int = 0

    def __bool__(self) -> bool:
        """Whether anything is to be done to the memory."""
        return bool(self.observations or self.forgets or self.restores)


_MORE_TO_FORGET = 0.1  # from which probability a message that follows a request to forget is another
SENTENCES = 60  # of one message that are read; more would keep the user waiting
_FEW_WORDS_WRONG = 12  # of a sentence that only says that something was wrong
_FEW = 7  # words of a message that may be no more than another value
OBSERVATIONS = 10  # of one message that are kept
_LONG = 600  # characters of a sentence that is no memory any more: nobody would know it again


def read(message: Message, recent: Sequence[Message], concepts: Sequence[Concept], sense: Sense) -> Reading:
    """What the user's message states, wants forgotten, and wants back."""
    whole = utterances(message.text, sense)
    typed = plain(message.text)
    if _goes_on_forgetting(typed, recent, sense):
        whole = [Utterance("forget", typed)]
    if all(one.act in ("chat", "unread") for one in whole) and _is_another_value(typed, recent):
        whole = [Utterance("tell", one.text) for one in whole]
    said = [one for one in whole[:SENTENCES] if len(one.text) <= _LONG]
    told = [one.text for one in said if one.act == "unread" and tells(one.text)]
    unread = tuple(
        one.text for one in whole[:SENTENCES] if (one.act == "unread" and one.text not in told) or len(one.text) > _LONG
    )
    reading = _reading(message, said, recent, concepts) if said else Reading()
    as_typed = [Observation(text, said=text) for text in dict.fromkeys(told)]
    reading = replace(reading, observations=(*reading.observations, *as_typed))
    dropped = len(reading.observations) - OBSERVATIONS
    return replace(
        reading,
        observations=reading.observations[:OBSERVATIONS],
        otherwise=reading.otherwise[:OBSERVATIONS],
        unread=unread,
        left_out=max(0, len(whole) - SENTENCES) + max(0, dropped),
    )


def _is_another_value(typed: str, recent: Sequence[Message]) -> bool:
    """Whether a few words give another value of what the user told just before: "Put off again. June."."""
    before = next((earlier.text for earlier in reversed(recent) if earlier.role == "user"), "")
    few = len(tokens(typed)) <= _FEW and not typed.endswith("?") and not before.endswith("?")
    return few and bool(_kinds_of_values(typed) & _kinds_of_values(plain(before)))


def _kinds_of_values(text: str) -> set[str]:
    kinds = {value.kind.partition(":")[0] for value in find_values(text)}
    return kinds | {"day"} if has_day(text) else kinds


def _goes_on_forgetting(typed: str, recent: Sequence[Message], sense: Sense) -> bool:
    """Whether the message names one thing more after a request to forget: "And the price as well."."""
    if typed.endswith("?") or not is_english(typed):
        return False
    likely = goes_on_forgetting(typed) or forget_probability(typed, sense) >= _MORE_TO_FORGET
    return likely and _asked_to_forget(recent, sense)


def _asked_to_forget(recent: Sequence[Message], sense: Sense) -> bool:
    """Whether the user's message before did."""
    before = next((earlier.text for earlier in reversed(recent) if earlier.role == "user"), "")
    return bool(before) and any(one.act == "forget" for one in utterances(before, sense))


def _reading(
    message: Message, said: Sequence[Utterance], recent: Sequence[Message], concepts: Sequence[Concept]
) -> Reading:
    if message.photos:
        said = [_about_photo(utterance) for utterance in said]
    forgets = tuple(utterance.text for utterance in said if utterance.act == "forget")
    kept = _told(said)
    otherwise = _told([one for utterance in said for one in utterance.otherwise])
    before = [part for earlier in recent[-6:] if earlier.role == "user" for part in sentences(plain(earlier.text))]
    if kept and said[0].act == "forget" and (topic := topic_of([said[0].text])):
        # "Scratch what I said about the passport. I've put it in the drawer."
        kept[0] = replace(
            kept[0], text=re.sub(r"\b(?:it|them|they)\b(?!self)", topic, kept[0].text, count=1, flags=re.I)
        )
    observations = _observations(kept, before, concepts, message.said_at.date())
    if message.photos and not observations and not any(one.act in ("ask", "forget", "command") for one in said):
        namings = find_namings(message.text)  # a name under a photo is kept though no sentence was made of it: "Bobo!"
        if namings:
            mentions = tuple(naming.mention() for naming in namings)
            observations = [Observation(_sentence(message.text.strip()), concepts=mentions, said=message.text)]
    sayings = photo_sayings(message, recent, concepts)
    observations = [one for one in observations if not any(_is_of(one, saying) for saying in sayings)]
    observations = [replace(one, said=without_denial(one.said, message, recent)) for one in observations]
    if sayings:
        observations += [
            Observation(one.text, concepts=(one.mention,), said=one.said, photo_ids=one.photo_ids) for one in sayings
        ]
    restores = any(one.act == "restore" for one in said)
    instead = _observations(otherwise, before, concepts, message.said_at.date())
    return Reading(tuple(dict.fromkeys(observations)), forgets, tuple(dict.fromkeys(instead)), restores=restores)


def _told(said: Sequence[Utterance]) -> list[Utterance]:
    return [utterance for utterance in said if utterance.act in ("tell", "preference")]


def _is_of(observation: Observation, saying: PhotoSaying) -> bool:
    """Whether the observation says no more than the sentence about the photos."""
    return tokens(plain(observation.said)) == tokens(saying.said)


def _about_photo(utterance: Utterance) -> Utterance:
    """Idle talk by itself, but under a photo it says what that shows: "this is my teapot", "look what I bought"."""
    shows = utterance.act == "chat" and (_OWN.match(utterance.text) or SHOWS.match(utterance.text))
    return replace(utterance, act="tell") if shows else utterance


def _observations(
    kept: Sequence[Utterance], before: Sequence[str], concepts: Sequence[Concept], today: date
) -> list[Observation]:
    texts: list[tuple[str, Utterance]] = []  # with the utterances that each is from, as one
    opening = ""  # "Nope." before "Thursday."
    for utterance in kept:
        body = _FILLER.sub("", utterance.text).strip(" ,")
        if not body:
            opening = f"{opening}{utterance.text} "
            continue
        utterance, opening = replace(utterance, text=f"{opening}{utterance.text}"), ""
        if texts and len(texts[-1][0]) > _LONG:
            texts.append((body, utterance))
        elif texts and leans(body) and not _meant_by(body, [texts[-1][0]], concepts):
            texts[-1] = _joined(texts[-1], body, utterance)
        elif (named := _meant_by(body, [*before, *(text for text, _ in texts)], concepts)) and not (
            find_namings(body) and texts
        ):
            texts.append((_with_name(body, named), utterance))
        elif _PERSONAL.match(body) and texts:  # "We adopted a greyhound. He's called Duke."
            texts[-1] = _joined(texts[-1], body, utterance)
        else:
            texts.append(
                (body if texts or _PERSONAL.match(body) else standing_alone(body, before, concepts), utterance)
            )
    texts = _with_openings(texts)
    return [_observation(text, utterance, today) for text, utterance in texts if _is_something(text, utterance.text)]


def _with_openings(texts: Sequence[tuple[str, Utterance]]) -> list[tuple[str, Utterance]]:
    """The texts, where one that only opens the next is joined to it, or to the one before it if it is the last.

    "I had the city wrong. The residency is in Canberra." is one correction, "New letter for Mum. The clinic is on Friday." one
    statement.
    """
    joined: list[tuple[str, Utterance]] = []
    opening: tuple[str, Utterance] | None = None
    for text, utterance in texts:
        if opening is not None:
            text, utterance = _joined(opening, text, utterance)
            opening = None
        elif _only_takes_back(text) or (not joined and len(texts) > 1 and _is_headline(text)):
            opening = (text, utterance)
            continue
        joined.append((text, utterance))
    if opening is not None:
        joined = [*joined[:-1], _joined(joined[-1], *opening)] if joined else [opening]
    return joined


def _only_takes_back(text: str) -> bool:
    """Whether the sentence ends with saying that something was wrong, and does not say what is right."""
    first, last = segments(text)[-1]
    return bool(IS_WRONG.search(text[first:last])) and len(tokens(text)) <= _FEW_WORDS_WRONG and not refuted(text)


def _is_headline(text: str) -> bool:
    """Whether the words are no sentence, name nothing and tell no value: "New letter for Mum."."""
    if has_verb(text) or _OWN.match(text) or find_namings(text):
        return False
    return len(tokens(text)) <= _FEW and not find_values(text) and not has_day(text)


def _meant_by(sentence: str, before: Sequence[str], concepts: Sequence[Concept]) -> str | None:
    """Whom the pronoun means that the sentence begins with; None where it begins with none, or that is not known."""
    personal = _PERSONAL.match(sentence)
    return antecedent(before, concepts, personal["pronoun"]) if personal else None


def _joined(before: tuple[str, Utterance], body: str, utterance: Utterance) -> tuple[str, Utterance]:
    text, first = before
    return f"{text.rstrip(' .!?')}. {body}", replace(first, text=f"{first.text} {utterance.text}")


def _is_something(text: str, said: str) -> bool:
    """One word alone says something only where it corrects: "No, Coimbatore"."""
    return len(tokens(text)) >= 2 or bool(tokens(text) and TAKES_BACK.search(said))


def leans(body: str) -> bool:
    """Whether the sentence needs the one before it to be understood."""
    if _LOOSE.match(body) or _OBJECT.search(body) or len(tokens(body)) < 3:
        return True
    return find_subject(body) is None and not re.search(r"\b(?:i|my|we|our)\b", body, re.IGNORECASE)


_TOPIC = re.compile(
    r"\b((?:my|our|the|an?) (?:[a-z-]+ ){0,2}?[a-z-]+)(?= (?:is|was|has|are|costs?|in|at|on|for|from|with|"
    r"needs?|broke|last|this|yesterday|today|called)\b|[,.!]|$)",
    re.IGNORECASE,
)


def topic_of(before: Sequence[str]) -> str | None:
    """The thing that "it" most likely means: the first thing of its own that the newest sentence speaks of."""
    for clause in reversed(before):
        for match in _TOPIC.finditer(clause):
            if not any(word.lower() in lexicon.RELATIONS for word in match[1].split()):  # nobody is "it"
                return re.sub(r"^(?:an?|the) ", "the ", match[1], flags=re.IGNORECASE)
    return None


def standing_alone(part: str, before: Sequence[str], concepts: Sequence[Concept]) -> str:
    """The sentence with what its first pronoun means, after the sentences `before` it: "She's four" → "Olive is four"."""
    if named := _meant_by(part, before, concepts):
        return _with_name(part, named)
    if re.match(
        r"its?\b(?!(?:'s| is| was) (?:not )?(?:\w+ ){1,4}(?:that|who|i|we|he|she|they)\b)", part, re.IGNORECASE
    ) and (topic := topic_of(before)):
        part = re.sub(r"^its\b", f"{topic}'s", part, count=1, flags=re.IGNORECASE)
        return re.sub(r"^it\b", topic, part, count=1, flags=re.IGNORECASE)
    return part


def _with_name(clause: str, named: str) -> str:
    """The clause with the name for its first pronoun: "He's a plumber" → "Tim is a plumber"."""
    possessive = f"{named}'" if named.endswith("s") else f"{named}'s"
    if re.match(r"(?:his|her)\b", clause, re.IGNORECASE):
        return re.sub(r"^(?:his|her)\b", possessive, clause, flags=re.IGNORECASE)
    if not re.match(r"(?:he|she)'", clause, re.IGNORECASE):
        return re.sub(r"^(?:he|she)\b", named, clause, flags=re.IGNORECASE)
    subject = find_subject(clause)
    if subject is None:
        return clause
    if re.match(
        r"has (?!got\b|been\b|had\b)", subject.rest
    ):  # "he's terrified", "he's left": is or has, nobody can tell
        return re.sub(r"^(?:he|she)(?=')", named, clause, flags=re.IGNORECASE)
    return f"{named} {subject.rest}"


def dates_of(text: str, today: date) -> list[FoundDate]:
    """The dates of the text; on which side of today an open one lies is told by the clause that it stands in."""
    ahead, back = find_dates(text, today, past=False), find_dates(text, today, past=True)
    if len(ahead) != len(back):
        return back if is_past(text) else ahead
    return [late if _is_past_at(text, soon.start) else soon for soon, late in zip(ahead, back, strict=True)]


def _is_past_at(text: str, position: int) -> bool:
    for start, end in segments(text):
        if start <= position < end:
            clause = text[start:end]
            return is_past(clause if has_verb(clause) else text)
    return is_past(text)


def _observation(text: str, utterance: Utterance, today: date) -> Observation:
    dates = dates_of(text, today)
    recurs = _RECURS.search(text) is not None
    is_birthday = re.search(r"\bbirthday\b", text, re.IGNORECASE) is not None
    happened = dates[0].interval if dates and not (recurs or is_birthday) else None
    kind: Literal["event", "fact", "preference", "procedure"] = "fact"
    if utterance.act == "preference" or _PREFERENCE.search(text):
        kind = "preference"
    elif happened is not None:
        kind = "event"
    shown = [
        found
        for found in dates
        if not (is_birthday and found.yearless) and not (recurs and _ANY_DAY.fullmatch(found.words))
    ]
    concepts = tuple(naming.mention() for naming in find_namings(text))
    return Observation(_sentence(annotate(text, shown)), kind, happened, concepts, utterance.text)


_DAY = rf"(?:{'|'.join(WEEKDAYS)})"
_RECURS = re.compile(
    rf"\b(?:every|each|weekly|fortnightly|monthly|yearly)\b|\b{_DAY}s\b|\bof (?:the|a) month\b", re.IGNORECASE
)
_ANY_DAY = re.compile(rf"(?:(?:on|by|until|to|for|from) )?(?:the )?(?:{_DAY}|\d+(?:st|nd|rd|th))", re.IGNORECASE)
_DATED_DAY = re.compile(rf"\b({_DAY}) \(\d+ \w+ \d{{4}}\)", re.IGNORECASE)


def each_time(observation: Observation, before: str) -> Observation:
    """The observation of every week, where it corrects what recurs: "moved to Wednesday" after "on Tuesdays" is no date."""
    text = _DATED_DAY.sub(r"\1", observation.text)
    if not _RECURS.search(before) or text == observation.text or re.search(r"\d{4}\)", text):
        return observation
    return replace(observation, text=text, kind="fact", happened=None)


def with_concepts(
    observation: Observation, concepts: Sequence[Concept], beside: Sequence[NamedConcept] = ()
) -> tuple[NamedConcept, ...]:
    """The names that the observation gives, and those that it speaks of: known ones, and those given `beside` it.

    "My sister" is who goes by it, where that is one alone; a friend may be any.
    """
    given = {mention.name.casefold(): mention for mention in observation.concepts}
    text = observation.text
    for concept in mentioned(text, concepts):
        if concept.name in text or any(alias[0].isupper() and alias in text for alias in concept.aliases):
            given.setdefault(
                concept.name.casefold(), NamedConcept(name=concept.name, kind=concept.kind, aliases=concept.aliases)
            )
    spoken_of = [one for one in beside if not one.denied and is_named(one.name, text)]
    for alias in {alias for concept in concepts for alias in concept.aliases if alias in lexicon.KINDS["family"]}:
        if re.search(rf"\b[Mm]y {re.escape(alias)}\b(?!'s|,? [A-Z])", text):
            those = [concept for concept in concepts if alias in concept.aliases]
            spoken_of += [NamedConcept(name=one.name, kind=one.kind) for one in those if len(those) == 1]
    for one in spoken_of:
        given.setdefault(one.name.casefold(), one.model_copy(update={"photos": ()}))
    return tuple(given.values())


_EMOTICON = re.compile(r"^\s+|\s*[:;]['-]?[()DPp/|]*\s*$")


def _sentence(text: str) -> str:
    text = _EMOTICON.sub("", text).strip(",;:- ")
    text = text[:1].upper() + text[1:]
    return text if text.endswith("?") else text.rstrip(".!") + "."
