"""Checks of what turns claim, against their speakers, their dates and what is stated of the photos.

Each check takes a turn and its group, and yields sentences. A claim that the stated facts do not
decide is no fault. The word lists are in claim_words.json.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from data_synthesis.classes import PETS, class_words, known_class
from data_synthesis.dates import MONTHS, WEEKDAYS, date_text, resolve, words_at_odds
from data_synthesis.group_view import CORRECTS, GroupView, TurnView
from data_synthesis.wording import contains_phrase, content_of

_WORDS: dict[str, Any] = json.loads(Path(__file__).with_name("claim_words.json").read_text(encoding="utf-8"))
_NOT_THERE, _SEEN_OFTEN = content_of(_WORDS["where no photo is taken"]), content_of(_WORDS["seen often"])
_COLOUR_WORDS = content_of(_WORDS["colours and materials"])
_COLOURS, _KIN, _PAST_VERBS, _BY_OTHERS = (
    "|".join(_WORDS[name].split()) for name in ("colours and materials", "kin", "happened", "done by others")
)
# Verbs that people also use of things they do not own
_BY_OTHERS_ONLY = re.compile(rf"(?:{_BY_OTHERS})\w*", re.I)
_SEASONS = [(re.compile(rf"\b(?:{season['words']})", re.I), season["months"]) for season in _WORDS["seasons"]]
_WHO = r"\b(?:I|we|you|he|she|they|it)"
_HAPPENED = rf"(?:{_PAST_VERBS})"
_PICTURE = r"\b(?:pictures?|photos?|pics?|shots?|snapshots?|ones?)\b"
_SENT = (
    r"(?<!have )(?<!did )\b(I|you)(?:'ve| have|'d| had)?( never)?(?: just| already| once| only)? "
    r"(?:sent|send you|showed|shown|shared|posted)\b"
)
_PLACE = r"(?:at|in|on|by|under|near|beside) (?:the|a|an|my|our|your|his|her) ([a-z][\w-]*(?: [a-z][\w-]*)?)"
_COLOURED = re.compile(rf"\b(?:that|those|its|his|her|the) (?:\w+ )?((?:{_COLOURS}) [a-z]+)", re.I)
_IS_COLOURED = re.compile(
    rf"\w+(?:'s| is| are| was| were| looks?)(?: so| very| really| all| quite)? ({_COLOURS})\b", re.I
)
_BESIDE = re.compile(
    r"\b(?:(?:all )?(?:that|those)|its|his|her|the little|(?:in|on) (?:the|your)) ((?:[a-z-]+ )?[a-z-]+)\b"
    r"|\bthe ([a-z-]+) (?:behind|around|beside|next to|in front)\b",
    re.I,
)
_OF_OTHERS = re.compile(
    r"\b(?:not|like|same|only|but|another|want\w*|other|wish|instead|if|should|could|would)\b", re.I
)
_CALLED = re.compile(r"\b(?i:(my|your|our)) ((?:[a-z-]+ ){0,2})<?([A-Z]\w*(?: [A-Z]\w*)*)")
_RELATED = re.compile(rf"\b(?i:(my|your) ((?:[a-z-]+ ){{0,3}}(?:{_KIN})) (?:from \w+ )?)([A-Z][a-z]+)\b")
_ENDEARING = re.compile(
    r"(?:old|dear|sweet|good|poor|own|new|little|big|great|friend|\w+(?:y|ful|ous|ed|ing|est|ish|less|able))$"
)
_I_DO = r"\bI(?:'ve| have|'ll|'d|'m| am| \w+ly| always| still| just| also)*"
_STAYS = r"(?:lives|sleeps|stays|sits|stands|hangs)"
_ANIMAL = re.compile(rf"\b(?:this|that|such a|my|your) ({'|'.join(PETS)})\b", re.I)
_DAY_MONTH = rf"(?:\d{{1,2}}(?:st|nd|rd|th)? (?:{'|'.join(MONTHS)})|(?:{'|'.join(MONTHS)}) \d{{1,2}}(?:st|nd|rd|th)?)"
_WEEKDAY = rf"({'|'.join(WEEKDAYS)})"
_WEEKDAY_DATE = re.compile(
    rf"(?:\b{_WEEKDAY},? (?:the )?)?\b({_DAY_MONTH})\b(?:,? (?:which was |it was )?an? {_WEEKDAY})?", re.I
)
_NOW = rf"({'|'.join((*WEEKDAYS, *MONTHS))})\b"
_TODAY = re.compile(
    rf"\b(?:it's|it is|today is|today's) (?:already |just |finally |only |the \w+ \w+ of )?{_NOW}"
    rf"(?! (?:that|when|for|we|I|\d+)\b)|{_NOW} already\b",
    re.I,
)
_GREETED = (
    r"(?:hey|hi|hello|thanks|thank you|sorry|okay|aw+|wow|haha|yeah|yep|yes|no|sure|oh)(?: there| wow| man| yeah)?,?"
)
_GREETS = re.compile(r"(?:^|[.!?] )(?:Hey|Hi|Hello|Thanks|Sorry)(?: there)?,? ([A-Z][a-z]{2,})(?=[!?.])")
_DENIED = re.compile(r"\b(?:not|wasn't|told you it was|said it was) (?:(?:my|your) (?:[a-z-]+ )+)?([A-Z][a-z]+)\b")


def claim_faults(view: GroupView) -> Iterator[tuple[TurnView, tuple[str, str]]]:
    """Yields every false claim of a turn, and every one that contradicts an earlier turn."""
    first: dict[tuple[object, str], tuple[TurnView, str]] = {}
    for turn in view.turns.values():
        for check in (_people, _owned, _calendar, _taken_back, _looks, _pictures):
            yield from ((turn, ("truth", sentence)) for sentence in check(turn, view))
        for key, value in _attributions(turn, view):
            earlier, first_value = first.setdefault(key, (turn, value))
            if not content_of(first_value) & content_of(value):
                yield turn, ("truth", f"{key[1]} is {value!r} here, and {first_value!r} in {earlier.name}.")


def _attributions(turn: TurnView, view: GroupView) -> Iterator[tuple[tuple[object, str], str]]:
    """Yields what a turn says and later turns may not contradict: who is a relative or friend, and whose a nickname is."""
    for whose, kin, name in _RELATED.findall(turn.text):
        if name not in view.name_words:
            yield ((turn.speaker == view.request.speakers[0]) == (whose.lower() == "my"), name), kin
    for nickname in turn.quoted if turn.named else ():
        if nickname[0].isupper():
            yield ("nickname", nickname), " and ".join(concept.name for concept in turn.named)


# People


def _people(turn: TurnView, view: GroupView) -> Iterator[str]:
    """Nobody speaks to themselves or to strangers; what is shown was named or asked for."""
    if re.search(rf"(?:(?:^|[.!?] ){_GREETED} |, ){re.escape(turn.speaker)}(?=[!?.]|$)", turn.text, re.I):
        yield f"{turn.speaker} speaks to {turn.speaker}."
    others = {name[:3] for name in view.request.speakers if name != turn.speaker}
    for name in _GREETS.findall(turn.text):
        if name not in view.name_words | {"There"} and name[:3] not in others:
            yield f"it addresses {name}, who is not part of the conversation."
    for concept in turn.shown:
        if turn.named and concept not in turn.named:
            yield f"it shows a photo of {concept.name}, but names {turn.named[0].name}."
    request = re.search(rf"{_PICTURE} of [^.!?]*\?", turn.previous.text) if turn.previous and turn.shown else None
    wanted = view.concepts_in(request[0]) if request else []
    if wanted and not any(concept in turn.shown for concept in wanted):
        yield f"it shows {turn.shown[0].name}, and was asked for {wanted[0].name}."


def _owned(turn: TurnView, view: GroupView) -> Iterator[str]:
    """A concept belongs to the speaker who alone shows it, and is called by its own class."""
    showing = {concept: {other.speaker for other in view.turns_showing(concept)} for concept in turn.named}
    owners = {concept: min(speakers) for concept, speakers in showing.items() if len(speakers) == 1}
    for match in _CALLED.finditer(turn.text):
        concept = next((named for named in view.concepts_in(match[0]) if match[3].startswith(named.name)), None)
        if concept is None or re.search(r"\b(?:of|for|to|with)\b", match[2]):
            continue
        owner, noun = owners.get(concept), match[2].strip().rpartition(" ")[2]
        if owner and match[1] != "our" and (match[1].lower() == "my") != (turn.speaker == owner):
            yield f"it says {match[0]!r}, but {owner} alone shows it."
        words = content_of(" ".join((concept.class_name, concept.short_description, *class_words(concept))))
        if noun and concept.class_name and not content_of(noun) & words and not _ENDEARING.match(noun):
            yield f"it says {match[0]!r}, but {concept.name} is a {concept.class_name}."
    for concept, owner in owners.items():
        name = re.escape(concept.name)
        acts = re.search(rf"{_I_DO} (\w+) {name}\b(?!')", turn.text)
        stays = re.search(rf"\b{name} (?:\w+ )?{_STAYS} [^.!?]*\b(?:me|my)\b", turn.text)
        if turn.speaker != owner and (stays or (acts and not _BY_OTHERS_ONLY.fullmatch(acts[1]))):
            yield f"{turn.speaker} calls {concept.name} their own, but {owner} shows it."
    for match in _ANIMAL.finditer(turn.text) if len(turn.shown) == 1 else ():
        concept = turn.shown[0]
        if concept.class_name and PETS[match[1].lower()] != known_class(concept):
            yield f"it says {match[0]!r} of {concept.name}, which is a {concept.class_name}."


def _calendar(turn: TurnView, view: GroupView) -> Iterator[str]:
    """The season, the weekday, the time of day and the tenses of a turn fit the time of its session."""
    text, day = turn.text, turn.day
    if turn.time is None or day is None:
        return
    for season, months in _SEASONS:
        if (match := season.search(text)) and day.month not in months:
            yield f"it says {match[0]!r} on {date_text(day)}."
    if words := words_at_odds(text, turn.time.hour, certain=True):
        yield f"it says {words!r} at {turn.time.hour} o'clock."
    weekday, month = WEEKDAYS[day.weekday()], MONTHS[day.month - 1]
    if (match := _TODAY.search(text)) and (match[1] or match[2]).title() not in (weekday, month):
        yield f"it says {match[0]!r} on a {weekday} in {month}."
    for weekday_before, day_month, weekday_after in _WEEKDAY_DATE.findall(text):
        try:
            right = WEEKDAYS[resolve(f"on {day_month}", day).weekday()]
        except ValueError:
            yield f"there is no {day_month}."
            continue
        if (claimed := weekday_before or weekday_after) and claimed.title() != right:
            yield f"{day_month} is no {claimed}."
    for expression, then in turn.dates:
        words = rf"\b{re.escape(expression)}\b"
        past = rf"{words},? (?:{_WHO} {_HAPPENED}|was|were)\b|{_WHO} {_HAPPENED} [^.,;!?]{{0,60}}?{words}"
        if then > day and re.search(past, text, re.I):
            yield f"it tells of {date_text(then)} as past, on {date_text(day)}."


def _taken_back(turn: TurnView, view: GroupView) -> Iterator[str]:
    """A speaker can only correct a name that they gave for this concept before."""
    about = (other for concept in turn.named for other in view.turns_about[concept.name])
    earlier_texts = [other.text for other in about if other.place < turn.place and other.speaker == turn.speaker]
    denied = turn.new_names.intersection(_DENIED.findall(turn.text))
    for name in sorted(denied) if turn.named and CORRECTS.search(turn.text) else ():
        if not any(contains_phrase(text, name) for text in earlier_texts):
            yield f"it takes back {name!r}, which {turn.speaker} has not said of this."


# Photos


def _looks(turn: TurnView, view: GroupView) -> Iterator[str]:
    """What a turn says of the photo at hand (its own, else that of the turn before) or of a concept's look is stated."""
    at_hand = turn if turn.photos or not turn.previous else turn.previous
    shown = {concept.name: view.stated_words(concept, at_hand.photos) for concept in at_hand.shown}
    shown_words = frozenset[str]().union(*(words | content_of(name) for name, words in shown.items()))
    alone = r"|\b(?:that|this) (?:is|was)(?: taken)?|\btaken|\b(?:took|shot) (?:it|this|that)" * (len(shown) == 1)
    photo = "the photo" if at_hand is turn else "the photo before"
    for sentence in turn.sentences:
        if _OF_OTHERS.search(sentence):
            continue
        claims = [(photo, *seen, shown_words) for seen in _seen_in(sentence, shown_words, view) if shown]
        for concept in view.concepts:
            name, stated = re.escape(concept.name), view.stated_words(concept)
            has = re.search(rf"\b{name}(?:'s| has| wears| had| is| was) ((?:[a-z-]+ ){{0,3}}[a-z-]+)", sentence)
            if has and stated:
                claims.append((concept.name, has[1], content_of(has[1]) & (_SEEN_OFTEN | _COLOUR_WORDS), stated))
            is_shown = concept in turn.shown
            where = rf"\b{name},?{alone}" if is_shown else rf"{_PICTURE} of {name}"
            for match in re.finditer(rf"(?:{where}) {_PLACE}", sentence, re.I):
                words, places = content_of(match[1]), _NOT_THERE | (shown[concept.name] if is_shown else stated)
                if all(photo.setting for photo in concept.photos) and not words & places:
                    claims.append((concept.name, match[0], words, places))
        for about, phrase, words, stated in claims:
            if words - stated:
                yield f"nothing that is stated of {about} says {phrase!r}."


def _seen_in(sentence: str, shown_words: frozenset[str], view: GroupView) -> Iterator[tuple[str, frozenset[str]]]:
    """Yields what a sentence says about the photo at hand, each phrase with the words that must be stated of the photo."""
    related = bool(content_of(sentence) & shown_words)
    for match in (*_COLOURED.finditer(sentence), *(_IS_COLOURED.finditer(sentence) if related else ())):
        yield match[0], content_of(match[1])
    for match in _BESIDE.finditer(sentence):
        nouns = map(content_of, (match[1] or match[2]).split())
        yield match[0], frozenset().union(*(noun for noun in nouns if noun <= _SEEN_OFTEN | view.visible_words))


def _pictures(turn: TurnView, view: GroupView) -> Iterator[str]:
    """What a turn recalls of pictures fits those shown so far: whether there are any, and by whom."""
    for sentence in turn.sentences:
        sent, thanks = re.search(_SENT, sentence, re.I), re.search(r"\bthank", sentence, re.I)
        reacts = not turn.photos and re.search(rf"\b(?:that|this) {_PICTURE} of\b", sentence, re.I)
        mine = bool(sent and sent[1] == "I")
        recalls = (sent or thanks or reacts) and (not mine or re.search(r"\byou\b", sentence))
        for concept in view.concepts_in(sentence) if recalls and re.search(_PICTURE, sentence, re.I) else ():
            shown = [other for other in view.turns_showing(concept) if other.place <= turn.place]
            if sent or thanks:
                shown = [other for other in shown if (other.speaker == turn.speaker) == mine]
            if sent and sent[2]:
                if shown and shown != [turn]:
                    yield f"{shown[0].name} shows a picture of {concept.name}."
            elif not shown:
                yield f"no picture of {concept.name} was shown {'by' if mine else 'to'} {turn.speaker} before."
