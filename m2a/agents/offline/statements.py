"""Turns a message into the statements worth keeping: its sentences, with absolute dates and with names for pronouns.

A sentence that cannot be understood alone stays with the sentence before it, so that every memory makes sense by itself.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import NamedTuple

from m2a.agents.offline.change_words import IS_WRONG, TAKES_BACK, refuted
from m2a.agents.offline.claims import people_in
from m2a.agents.offline.clauses import find_subject, has_verb, is_inflected_verb, segments, sentences
from m2a.agents.offline.event_dates import with_dates
from m2a.agents.offline.foreign import tells
from m2a.agents.offline.last_reply import quotations
from m2a.agents.offline.names import find_namings
from m2a.agents.offline.observations import Observation, Reading
from m2a.agents.offline.photo_statements import PhotoStatement, find_photo_statements, tells_more, without_denial
from m2a.agents.offline.pronouns import PERSONAL, person_meant_by, person_meant_in, topic_of, with_name, with_topic
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.text import content, plain, tokens
from m2a.agents.offline.utterances import SHOWS, Utterance, utterances
from m2a.agents.offline.values import find_values, has_day, is_measure
from m2a.types import FORGOTTEN, Concept, MemoryKind, Message

_PREFERENCE = re.compile(
    r"\b(?:i|we)(?:'m| am| are)? (?:\w+ )?(?:like|love|enjoy|prefer|adore|hate|dislike|detest|fond of|allergic|"
    r"vegetarian|vegan|(?:don't|do not|never|can't|cannot|won't) (?:\w+ )?(?:eat|drink|like|stand|bear|take|want))\b|"
    r"\bmy favou?rite\b|\bi'd rather\b",
    re.IGNORECASE,
)
_POINTING = re.compile(r"^(?:its|it|they|their|that|this|these|those|both|one|same|there|then)\b", re.IGNORECASE)
_POINTS = re.compile(
    r"(?:(?:no|wait)\W+)*(?:(?P<person>he|she|his|her)|it|they|that|this|its|their|i meant?)\b", re.IGNORECASE
)
_TAKES_BACK_FIRST = re.compile(
    r"\W*(?:no+|nope|oops|whoops|sorry|wait|hang on|hold on|actually|scratch that|correction|i meant?)\b", re.IGNORECASE
)
_OBJECT = re.compile(
    r"\b(?:it|them|him|her(?= *$|[,.;]| and| at| in| on| to| for| with| from| every| last| next| up| back| off|"
    r" out))\b",
    re.IGNORECASE,
)
_OWN = re.compile(r"^(?:(?:this|that|here|these|those)(?:'s| is| are) )?(?:my|our)\b", re.IGNORECASE)
# "No bread for a month", "Right knee is swollen" and "Thanks to my mum" begin with no filler.
_BEFORE_A_CLAUSE = (
    r"(?=\s*(?:[,.:;!]|-|$)|\s+(?:(?:i|you|he|she|it|we|they|that|this|there|these|those|what|who)(?:'\w+)?|the|my|our|his|her|"
    r"their|its|wait|sorry|actually|no|nope|oh|so|well|then|now|not|on|at|in|hang|hold|just)\b)"
)
# Words at the beginning without content.
_FILLER = re.compile(
    r"^(?:(?:oh|ah|hey|hi|hello|hiya|so|and|but|also|plus|ok|okay|btw|by the way|fyi|anyway|hm+|um+|yes|yeah|yep|"
    rf"(?:no|right|well|wait|hang on|hold on){_BEFORE_A_CLAUSE}|haha|lol|omg|phew|wow|ugh|guess what|(?:it )?turns out(?: that)?|"
    r"it (?:seems|looks like|appears)(?: that)?|listen|ps|thanks(?! to\b)|thank you|for the record|just so you know|nope|sorry|"
    r"actually|(?:good|great|big|bad) news|you should know(?: that)?|did you know(?: that)?|you know|note to self|scratch that|"
    r"strike that|(?:(?:small|quick|slight|minor) )?correction|i(?: just)? (?:wanted|want|should|have|need|would like|"
    r"'d like) to (?:tell|let|inform) you(?: know)?(?: that)?)\b(?:[\s,.:!-]+|$))+",
    re.IGNORECASE,
)


_MAX_SENTENCES = 60  # read per message; more would keep the user waiting
_RETRACTION_WORDS = 12  # at most, of a sentence that only says that something was wrong
_FEW_WORDS = 7  # at most, of a message that may only give another value, and of a headline
# "And the price as well": after a request to forget, this adds something to it.
_ADDS = re.compile(
    r"^\W*(?:same (?:for|with|goes for)\b|"
    r"(?:and |oh and |also )?(?:the|my|our|his|her|their|that|what|[\w-]+'s)\b.{0,60}\b(?:as well|too|also)\b)",
    re.IGNORECASE,
)
_MAX_OBSERVATIONS = 10  # kept per message
_LONGEST = 600  # characters of a sentence; a longer one makes no recognisable memory


def read(message: Message, recent: Sequence[Message], concepts: Sequence[Concept], sense: Sense) -> Reading:
    """Returns what the user's message states, wants forgotten and wants restored."""
    text, previous = plain(message.text), _previous_text(recent)
    items = utterances(message.text, sense)
    if _ADDS.match(text) and _asked_to_forget(previous, sense):
        items = [Utterance("forget", text)]
    gives_value = _is_another_value(text, plain(previous))
    if gives_value and all(item.act in ("chat", "unread") for item in items):
        items = [Utterance("tell", item.text) for item in items]
    considered = items[:_MAX_SENTENCES]
    readable = [item for item in considered if len(item.text) <= _LONGEST]
    foreign = [item.text for item in readable if item.act == "unread" and tells(item.text)]
    unread = [
        item.text for item in considered if len(item.text) > _LONGEST or (item.act == "unread" and not tells(item.text))
    ]
    reading = _reading_of(message, readable, recent, concepts, gives_value=gives_value) if readable else Reading()
    as_typed = [Observation(sentence, said=sentence) for sentence in dict.fromkeys(foreign)]
    observations = (*reading.observations, *as_typed)
    return replace(
        reading,
        observations=observations[:_MAX_OBSERVATIONS],
        otherwise=reading.otherwise[:_MAX_OBSERVATIONS],
        unread=tuple(unread),
        left_out=len(items) - len(considered) + max(0, len(observations) - _MAX_OBSERVATIONS),
    )


def _previous_text(recent: Sequence[Message]) -> str:
    """Returns the text of the user's previous message, "" if there is none."""
    return next((earlier.text for earlier in reversed(recent) if earlier.role == "user"), "")


def _asked_to_forget(text: str, sense: Sense) -> bool:
    """Returns whether an earlier message was a request to forget. What named all that it forgot was itself forgotten."""
    return text == FORGOTTEN or any(item.act == "forget" for item in utterances(text, sense))


def _is_another_value(text: str, previous: str) -> bool:
    """Returns whether a few words give another value for what the user has just said: "Put off again. June.", "2029!"."""
    if len(tokens(text)) > _FEW_WORDS or text.endswith("?") or previous.endswith("?"):
        return False
    return bool(_kinds_of_values(text) & _kinds_of_values(previous))


def _kinds_of_values(text: str) -> set[str]:
    kinds = {"amount" if is_measure(value.kind) else value.kind for value in find_values(text)}
    return kinds | {"day"} if has_day(text) else kinds


def _reading_of(
    message: Message,
    items: Sequence[Utterance],
    recent: Sequence[Message],
    concepts: Sequence[Concept],
    *,
    gives_value: bool,
) -> Reading:
    today = message.said_at.date()
    if message.photos:
        items = [_about_photo(utterance) for utterance in items]
    statements = _statements(items)
    otherwise = _statements([each for utterance in items for each in utterance.otherwise])
    before = [part for earlier in recent[-6:] if earlier.role == "user" for part in sentences(plain(earlier.text))]
    before += quotations(recent)[:1]  # after an answer, "it" is what that quoted
    if statements and items[0].act == "forget" and (topic := topic_of([items[0].text])):
        # "Scratch what I said about the passport. I've put it in the drawer."
        text = re.sub(r"\b(?:it|them|they)\b(?!self)", topic, statements[0].text, count=1, flags=re.IGNORECASE)
        statements[0] = replace(statements[0], text=text)
    observations = _observations(statements, before, concepts, today, gives_value=gives_value)
    if message.photos and not observations and not any(each.act in ("ask", "forget", "command") for each in items):
        observations = _names_under_photos(message.text)
    observations = _with_photo_statements(observations, find_photo_statements(message, recent, concepts))
    observations = [
        each if each.photo_ids else replace(each, said=without_denial(each.said, message, recent))
        for each in observations
    ]
    return Reading(
        observations=tuple(dict.fromkeys(observations)),
        forgets=tuple(utterance.text for utterance in items if utterance.act == "forget"),
        otherwise=tuple(dict.fromkeys(_observations(otherwise, before, concepts, today))),
        restores=any(utterance.act == "restore" for utterance in items),
    )


def _names_under_photos(text: str) -> list[Observation]:
    """Returns the text of photos as an observation if it gives a name, though it is no statement: "Bobo!"."""
    mentions = tuple(find_namings(text))
    return [Observation(_sentence(text), concepts=mentions, said=text)] if mentions else []


def _statements(items: Sequence[Utterance]) -> list[Utterance]:
    return [item for item in items if item.act in ("tell", "preference")]


def _with_photo_statements(
    observations: Sequence[Observation], photo_statements: Sequence[PhotoStatement]
) -> list[Observation]:
    """Returns the observations, with what is said about photos in place of those that only repeat it.

    A sentence that tells more is kept in its own words, with the photos.
    """
    result = list(observations)
    for photo_statement in photo_statements:
        same = next((each for each in result if _repeats(each, photo_statement)), None)
        mention, photo_ids = photo_statement.mention, photo_statement.photo_ids
        if mention is None:  # "The second one is from my friend Carla" does not show Carla
            if same is not None:
                unseen = tuple(each.model_copy(update={"photos": ()}) for each in same.concepts)
                result[result.index(same)] = replace(same, concepts=unseen, photo_ids=photo_ids)
            continue
        if same is not None and tells_more(photo_statement) and not mention.denied:
            others = tuple(each for each in same.concepts if each.name != mention.name)
            result[result.index(same)] = replace(same, concepts=(mention, *others), photo_ids=photo_ids)
            continue
        if same is not None and not tells_more(photo_statement):
            result.remove(same)
        result.append(
            Observation(
                photo_statement.text,
                concepts=(mention,),
                said=photo_statement.sentence,
                photo_ids=photo_ids,
            )
        )
    return result


def _repeats(observation: Observation, photo_statement: PhotoStatement) -> bool:
    """Returns whether the observation only repeats the sentence about the photos."""
    return tokens(plain(observation.said)) == tokens(photo_statement.sentence)


def _about_photo(utterance: Utterance) -> Utterance:
    """Returns the utterance, as a statement if it says what a photo shows: "this is my teapot", "look what I bought"."""
    shows = utterance.act == "chat" and (_OWN.match(utterance.text) or SHOWS.match(utterance.text))
    return replace(utterance, act="tell") if shows else utterance


class _Statement(NamedTuple):
    """The text of a statement to keep, and its utterances as typed, joined into one."""

    text: str
    utterance: Utterance

    def followed_by(self, other: "_Statement") -> "_Statement":
        as_typed = replace(self.utterance, text=f"{self.utterance.text} {other.utterance.text}")
        return _Statement(f"{self.text.rstrip(' .!?')}. {other.text}", as_typed)


def _observations(
    items: Sequence[Utterance],
    before: Sequence[str],
    concepts: Sequence[Concept],
    today: date,
    *,
    gives_value: bool = False,
) -> list[Observation]:
    statements: list[_Statement] = []
    dropped = ""  # "Nope." before "It's on Thursday."
    for utterance in items:
        body = _FILLER.sub("", utterance.text).strip(" ,")
        if not body:
            dropped += f"{utterance.text} "
            continue
        utterance, dropped = replace(utterance, text=dropped + utterance.text), ""
        statement, last = _Statement(body, utterance), statements[-1] if statements else None
        if last and len(last.text) > _LONGEST:
            statements.append(statement)
        elif last and _takes_back(body, utterance.text, last.text):
            statements[-1] = last.followed_by(_Statement(utterance.text, utterance))
        elif last and _needs_sentence_before(body) and not person_meant_by(body, [last.text], concepts):
            statements[-1] = last.followed_by(statement)
        elif (name := person_meant_in(body, [each.text for each in statements], before, concepts)) and not (
            last and find_namings(body)
        ):
            statements.append(_Statement(with_name(body, name), utterance))
        elif last and PERSONAL.match(body):  # "We adopted a greyhound. He's called Duke."
            statements[-1] = last.followed_by(statement)
        else:
            statements.append(_Statement(with_topic(body, before), utterance))
    return [
        _observation(statement, today)
        for statement in _with_fragments_joined(statements)
        if gives_value or _says_enough(statement)
    ]


def _says_enough(statement: _Statement) -> bool:
    """Returns whether the statement says enough to keep: a single word only as a code or a correction, "No, Coimbatore"."""
    is_code = re.search(r"\d", statement.text)
    return bool(len(tokens(statement.text)) > 1 or is_code or TAKES_BACK.search(statement.utterance.text))


def _with_fragments_joined(statements: Sequence[_Statement]) -> list[_Statement]:
    """Returns the statements, each retraction, change or headline alone joined to the next, or the last to the one before.

    "I had the city wrong. The residency is in Canberra." is one correction; "New letter for Mum. The clinic is on
    Friday." is one statement.
    """
    joined: list[_Statement] = []
    fragment: _Statement | None = None
    for statement in statements:
        if fragment is not None:
            joined.append(fragment.followed_by(statement))
            fragment = None
        elif _says_too_little(statement.text) or (not joined and len(statements) > 1 and _is_headline(statement.text)):
            fragment = statement
        else:
            joined.append(statement)
    if fragment is not None:
        joined = [*joined[:-1], joined[-1].followed_by(fragment)] if joined else [fragment]
    return joined


# "They moved it. The practical is on 4 March now."
_ONLY_CHANGES = re.compile(
    r"\W*(?:they(?:'ve| have)?|it(?:'s| has| was| is)?|that(?:'s| has)?)(?: been)? (?:just )?"
    r"(?:moved|changed|postponed|rescheduled|updated|put back|different)(?: it| that| again| now)?\W*",
    re.IGNORECASE,
)


def _says_too_little(text: str) -> bool:
    """Returns whether the sentence only says that something has changed or was wrong, without saying what is right."""
    if _ONLY_CHANGES.fullmatch(text):
        return True
    first, last = segments(text)[-1]
    return bool(IS_WRONG.search(text[first:last])) and len(tokens(text)) <= _RETRACTION_WORDS and not refuted(text)


def _is_headline(text: str) -> bool:
    """Returns whether the text has no verb, name or value: "New letter for Mum."."""
    if has_verb(text) or _OWN.match(text) or find_namings(text):
        return False
    return len(tokens(text)) <= _FEW_WORDS and not find_values(text) and not has_day(text)


def _takes_back(body: str, typed: str, last: str) -> bool:
    """Returns whether the sentence takes back something of the one before it: "Sorry, she lives in Braga, not Porto"."""
    if not _TAKES_BACK_FIRST.match(typed):
        return False
    if points := _POINTS.match(body):
        return bool(people_in(last)) or not points["person"]
    return any(content(word) & content(last) for word in refuted(typed))


def _needs_sentence_before(body: str) -> bool:
    """Returns whether the sentence cannot be understood without the one before it."""
    if _POINTING.match(body) or _OBJECT.search(body) or len(tokens(body)) < 3:
        return True
    first, last = segments(body)[0]
    opens_with_verb = body.split()[0].endswith("s") and is_inflected_verb(body.split()[0].lower())
    if opens_with_verb and find_subject(body[first:last]) is None:  # "Seems decent, he did Craig's house"
        return True
    return find_subject(body) is None and not re.search(r"\b(?:i|my|we|our)\b", body, re.IGNORECASE)


def _observation(statement: _Statement, today: date) -> Observation:
    text, utterance = statement
    written_out, happened = with_dates(text, today)
    kind: MemoryKind = "fact"
    if utterance.act == "preference" or _PREFERENCE.search(text):
        kind = "preference"
    elif happened is not None:
        kind = "event"
    return Observation(_sentence(written_out), kind, happened, tuple(find_namings(text)), utterance.text)


_EMOTICON = re.compile(r"\s*[:;]['-]?[()DPp/|]*\s*$")


def _sentence(text: str) -> str:
    text = _EMOTICON.sub("", text.strip()).strip(",;:- ")
    text = text[:1].upper() + text[1:]
    return text.rstrip(".!") + "."
