"""What the turns of a group claim that their speakers, dates and photos contradict.

Each check is a function of a turn's place and the sight of its group, and gives sentences. What cannot be told for sure
from what is stated is no fault. The word lists stand in claim_words.json.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from data_synthesis.classes import PETS, class_words, known_class
from data_synthesis.dates import MONTHS, NUMBERS, ORDINALS, WEEKDAYS, expressions_in, resolve, said_at_odds, written
from data_synthesis.group import TurnPlace
from data_synthesis.seen import CORRECTS, Sight
from data_synthesis.wording import QUOTED, content_of, holds, names_of, sentences_of

_WORDS: dict[str, Any] = json.loads(Path(__file__).with_name("claim_words.json").read_text(encoding="utf-8"))
_NOT_THERE, _SEEN_OFTEN = content_of(_WORDS["where no photo is taken"]), content_of(_WORDS["seen often"])
_COLOUR_WORDS = content_of(f"{_WORDS['colours']} {_WORDS['materials']}")
_COLOURS, _KIN = "|".join(f"{_WORDS['colours']} {_WORDS['materials']}".split()), "|".join(_WORDS["kin"].split())
# What who does not own a thing does with it: they see, feel and speak.
_OUTSIDE = re.compile(rf"(?:{'|'.join(_WORDS['done by outsiders'].split())})\w*", re.I)
_SEASONS = [(re.compile(rf"\b(?:{one['words']})", re.I), one["months"]) for one in _WORDS["seasons"]]
_WHO = r"\b(?:I|we|you|he|she|they|it)"
_HAPPENED = rf"(?:{'|'.join(_WORDS['happened'].split())})"
_WILL = r"(?:'ll|will|shall|(?:'m|am|'re|are|'s|is) going to)"
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
_RELATED = re.compile(rf"\b(?i:(my|your) ((?:[a-z-]+ ){{0,3}}(?:{_KIN})) (?:from \w+ )?)([A-Z][a-z]+)\b")
_ENDEARING = re.compile(
    r"(?:old|dear|sweet|good|poor|own|new|little|big|great|friend|\w+(?:y|ful|ous|ed|ing|est|ish|less|able))$"
)
_GENDERS = ("he", r"\b(?:he|him|his|himself)\b"), ("she", r"\b(?:she|hers?|herself)\b")
_DAY_MONTH = rf"(?:\d{{1,2}}(?:st|nd|rd|th)? (?:{'|'.join(MONTHS)})|(?:{'|'.join(MONTHS)}) \d{{1,2}}(?:st|nd|rd|th)?)"
_DATED = rf"\b(?:is|was|are|were|'s) (?:taken |made |shot )?(?:from|on) ({_DAY_MONTH})"
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
_REGARDS = re.compile(r"\b[Ss]ay (?:hi|hello|thanks) to ([A-Z][a-z]{2,})\b")
_DENIED = re.compile(r"\b(?:not|wasn't|told you it was|said it was) (?:(?:my|your) (?:[a-z-]+ )+)?([A-Z][a-z]+)\b")


def claim_faults(sight: Sight) -> Iterator[tuple[TurnPlace, str]]:
    """Every claim of a turn that is not so, or not what a turn before it says."""
    before: dict[tuple[object, ...], tuple[TurnPlace, str]] = {}
    for place in sight.turns:
        for check in _CHECKS:
            yield from ((place, sentence) for sentence in check(place, sight))
        for key, called in _callings(place, sight):
            earlier, as_before = before.setdefault(key, (place, called))
            if not content_of(as_before) & content_of(called):
                yield place, f"{key[-1]} is {called!r} here, and {as_before!r} in {sight.turn_name(earlier)}."


def _callings(place: TurnPlace, sight: Sight) -> Iterator[tuple[tuple[object, ...], str]]:
    """Whom or what a turn calls what, which no later turn may call otherwise: kin and friends, nicknames, he and she."""
    turn = sight.turns[place]
    for match in _RELATED.finditer(turn.text):
        if match[3] not in sight.names:
            yield ((turn.speaker == sight.request.speakers[0]) == (match[1].lower() == "my"), match[3]), match[2]
    named = " and ".join(one.name for one in sight.named_in(turn.text))
    for nickname in QUOTED.findall(turn.text) if named else ():
        if nickname[0].isupper():
            yield ("nickname", nickname), named
    shown = sight.shown_at(place)
    genders = [gender for gender, words in _GENDERS if re.search(words, turn.text, re.I)]
    people = names_of(turn.text) - sight.names or re.search(rf"\b(?:{_KIN})s?\b", turn.text, re.I)
    if len(shown) == len(genders) == 1 and not people:
        yield ("gender", shown[0].name), genders[0]


# Who speaks, and of whom


def _people(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """Nobody speaks to themselves or to strangers, greets another than was spoken of, or shows one and names another."""
    turn, others = sight.turns[place], {name for name in sight.request.speakers if name != sight.turns[place].speaker}
    if re.search(rf"(?:(?:^|[.!?] ){_GREETED} |, ){re.escape(turn.speaker)}(?=[!?.]|$)", turn.text, re.I):
        yield f"{turn.speaker} speaks to {turn.speaker}."
    for name in _GREETS.findall(turn.text):
        if name not in sight.names | {"There"} and not any(other[:3] == name[:3] for other in others):
            yield f"it speaks to {name}, who is not there."
    before = sight.turns.get(TurnPlace(place.session, place.turn - 1))
    met = names_of(before.text) - sight.names if before else set()
    for name in sorted({*_REGARDS.findall(turn.text)} - sight.names - met) if met else ():
        yield f"it sends greetings to {name}, and the turn before speaks of {min(met)}."
    named = sight.named_in(turn.text)
    for one in sight.shown_at(place):
        if named and one not in named:
            yield f"it shows a photo of {one.name}, but names {named[0].name}."


def _owned(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """Nobody calls their own what the other alone shows, nor the other's what they show alone."""
    turn = sight.turns[place]
    for one in sight.named_in(turn.text):
        showing, name = {sight.turns[at].speaker for at in sight.showing(one)}, re.escape(one.name)
        if len(showing) != 1:
            continue
        match = re.search(rf"\b(my|your) (?:{re.escape(one.class_name)} )?<?{name}\b", turn.text, re.I)
        if match and (match[1].lower() == "my") != (turn.speaker in showing):
            yield f"it says {match[0]!r}, but {min(showing)} alone shows it."
        acts = re.search(
            rf"\bI(?:'ve| have|'ll|'d|'m| am| \w+ly| always| still| just| also)* (\w+) {name}\b(?!')", turn.text
        )
        stays = re.search(
            rf"\b{name} (?:\w+ )?(?:lives|sleeps|stays|sits|stands|hangs) [^.!?]*\b(?:me|my)\b", turn.text
        )
        if turn.speaker not in showing and (stays or (acts and not _OUTSIDE.fullmatch(acts[1]))):
            yield f"{turn.speaker} calls {one.name} their own, but {min(showing)} shows it."


def _kinds(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """A concept is called what it is."""
    text, shown = sight.turns[place].text, sight.shown_at(place)
    for one in sight.named_in(text) if not any(concept.name.startswith("the ") for concept in sight.concepts) else ():
        known = content_of(" ".join((one.class_name, one.short_description, *class_words(one))))
        for match in re.finditer(rf"\b(?:my|your|our) (?:[a-z-]+ )?([a-z-]+) <?{re.escape(one.name)}\b", text):
            fits = " of " in match[0] or content_of(match[1]) & known or _ENDEARING.match(match[1])
            if one.class_name and not fits:
                yield f"it says {match[0]!r}, but {one.name} is a {one.class_name}."
    for one in shown if len(shown) == 1 else ():
        for match in re.finditer(rf"\b(?:this|that|such a|my|your) ({'|'.join(PETS)})\b", text, re.I):
            if one.class_name and PETS[match[1].lower()] != known_class(one):
                yield f"it says {match[0]!r} of {one.name}, which is a {one.class_name}."


# When


def _calendar(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """The time of year and day, the weekday and the tenses of a turn are those of its session."""
    turn, day = sight.turns[place], sight.day(place)
    if day is None:
        return
    hour = sight.request.placement.times[place.session - 1].hour
    for season, months in _SEASONS:
        if (match := season.search(turn.text)) and day.month not in months:
            yield f"it says {match[0]!r} on {written(day)}."
    if said := said_at_odds(turn.text, hour, certain=True):
        yield f"it says {said!r} at {hour} o'clock."
    now = WEEKDAYS[day.weekday()], MONTHS[day.month - 1]
    if (match := _TODAY.search(turn.text)) and (match[1] or match[2]).title() not in now:
        yield f"it says {match[0]!r} on a {now[0]} in {now[1]}."
    for weekday, date_told, weekday_after in _WEEKDAY_DATE.findall(turn.text):
        try:
            right = WEEKDAYS[resolve(f"on {date_told}", day).weekday()]
        except ValueError:
            yield f"there is no {date_told}."
            continue
        if (said := weekday or weekday_after) and said.title() != right:
            yield f"{date_told} is no {said}."
    for expression, then in sight.dates_told(place):
        words = rf"\b{re.escape(expression)}\b"
        past = rf"{words},? (?:{_WHO} {_HAPPENED}|was|were)\b|{_WHO} {_HAPPENED} [^.,;!?]{{0,60}}?{words}"
        to_come = rf"{_WHO}{_WILL}\b [^.,;!?]{{0,40}}?{words}"
        if then > day and re.search(past, turn.text, re.I):
            yield f"it tells of {written(then)} as past, on {written(day)}."
        if then < day - timedelta(days=1) and re.search(to_come, turn.text, re.I):
            yield f"it tells of {written(then)} as to come, on {written(day)}."


def _taken_back(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """What is taken back was said by the same speaker; the day that is told instead is another, past when the first was told."""
    turn = sight.turns[place]
    if not CORRECTS.search(turn.text):
        return
    before = [at for at, one in sight.turns.items() if at < place and one.speaker == turn.speaker]
    about = {at for one in sight.named_in(turn.text) for at in sight.about[one.name]}
    for name in sorted({*_DENIED.findall(turn.text)} & names_of(turn.text) - sight.names):
        if about and not any(holds(sight.turns[at].text, name) for at in before if at in about):
            yield f"it takes back {name!r}, which {turn.speaker} has not said of this."
    for sentence, new in sight.dated_sentences(place):
        alike = (
            (at, old)
            for at in reversed(before)
            for earlier, old in sight.dated_sentences(at)
            if len([word for word in content_of(earlier) & content_of(sentence) if len(word) > 3]) >= 2
        )
        at, old = next(alike, (place, None))
        if old == new:
            yield f"it takes back the day that {sight.turn_name(at)} tells, and tells the same day."
        elif old and (then := sight.day(at)) and old <= then < new:
            yield f"{sight.turn_name(at)} tells as past what was on {written(new)} by this."


# What photos show


def _looks(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """What a turn sees on its photo or on that of the turn before, and what it says of a concept that it names, is stated."""
    turn = sight.turns[place]
    at = place if turn.photos else TurnPlace(place.session, place.turn - 1)
    at_hand = {one.name: sight.stated(one, sight.turns[at].photos) for one in sight.shown_at(at)}
    seen = frozenset[str]().union(*(words | content_of(name) for name, words in at_hand.items()))
    alone = r"|\b(?:that|this) (?:is|was)(?: taken)?|\btaken|\b(?:took|shot) (?:it|this|that)" * (len(at_hand) == 1)
    for sentence in sentences_of(turn.text):
        if _OF_OTHERS.search(sentence):
            continue
        photo = "the photo" if at == place else "the photo before"
        claims = [(photo, phrase, words, seen) for phrase, words in (_seen_in(sentence, seen, sight) if seen else ())]
        for one in sight.concepts:
            name, stated = re.escape(one.name), sight.stated(one)
            has = re.search(rf"\b{name}(?:'s| has| wears| had| is| was) ((?:[a-z-]+ ){{0,3}}[a-z-]+)", sentence)
            if has and stated:
                claims.append((one.name, has[1], content_of(has[1]) & (_SEEN_OFTEN | _COLOUR_WORDS), stated))
            own = bool(turn.photos) and one.name in at_hand
            where = rf"\b{name},?{alone}" if own else rf"{_PICTURE} of {name}"
            for match in re.finditer(rf"(?:{where}) {_PLACE}", sentence, re.I):
                words, there = content_of(match[1]), _NOT_THERE | (at_hand[one.name] if own else stated)
                if all(view.setting for view in one.photos) and not words & there:
                    claims.append((one.name, match[0], words, there))
        for about, phrase, words, stated in claims:
            if words - stated:
                yield f"nothing that is stated of {about} says {phrase!r}."


def _seen_in(sentence: str, seen: frozenset[str], sight: Sight) -> Iterator[tuple[str, frozenset[str]]]:
    """What a sentence sees on the photo at hand, of which `seen` is stated, with the words that must be stated of it."""
    related = bool(content_of(sentence) & seen)
    for match in (*_COLOURED.finditer(sentence), *(_IS_COLOURED.finditer(sentence) if related else ())):
        yield match[0], content_of(match[1])
    for match in _BESIDE.finditer(sentence):
        nouns = map(content_of, (match[1] or match[2]).split())
        yield match[0], frozenset().union(*(noun for noun in nouns if noun <= _SEEN_OFTEN | sight.visible))


# What was shown


def _recalled(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """A picture that somebody is said to have sent was shown by them before, then, and so often; or never, if it says so."""
    turn, day = sight.turns[place], sight.day(place)
    for sentence in sentences_of(turn.text):
        sent, thanks = re.search(_SENT, sentence, re.I), re.search(r"\bthank", sentence, re.I)
        reacts = not turn.photos and re.search(rf"\b(?:that|this) {_PICTURE} of\b", sentence, re.I)
        mine = bool(sent and sent[1] == "I")
        to_you = not mine or re.search(r"\byou\b", sentence)
        if not re.search(_PICTURE, sentence, re.I) or not (sent or thanks or reacts) or not to_you:
            continue
        for one in sight.named_in(sentence):
            shown = [at for at in sight.showing(one) if at <= place]
            if sent or thanks:
                shown = [at for at in shown if (sight.turns[at].speaker == turn.speaker) == mine]
            shown = [at for at in shown if at.session == place.session or not re.search(r"\bjust\b", sentence)]
            if sent and sent[2]:
                if shown and shown != [place]:
                    yield f"{sight.turn_name(shown[0])} shows a picture of {one.name}."
            elif not shown:
                yield f"no picture of {one.name} was shown {'by' if mine else 'to'} {turn.speaker} before."
            elif day and not any(_within(sentence, day, then) for at in shown if (then := sight.day(at))):
                yield f"no picture of {one.name} was shown then."


def _within(sentence: str, day: date, then: date) -> bool:
    """Whether a day is of the time that a sentence names, as it is said on `day`; any is where it names none."""
    spans = {"last week": 14, "last month": 62, "last year": 730}
    if span := next((spans[words] for words in spans if holds(sentence, words)), 0):
        return 0 < (day - then).days <= span and (span < 60 or day.month != then.month)
    if month := re.search(rf"\bin ({'|'.join(MONTHS)})\b", sentence):
        return MONTHS[then.month - 1] == month[1]
    days = [resolve(words, day) for words in expressions_in(sentence)]
    return not days or then in days


def _pictures(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """A turn shows whom it was asked to show, counts as many pictures as were shown, and gives a picture one of their days."""
    turn, shown = sight.turns[place], sight.shown_at(place)
    before = sight.turns.get(TurnPlace(place.session, place.turn - 1))
    request = re.search(rf"{_PICTURE} of [^.!?]*\?", before.text) if before and shown else None
    wanted = sight.named_in(request[0]) if request else []
    if wanted and not any(one in shown for one in wanted):
        yield f"it shows {shown[0].name}, and was asked for {wanted[0].name}."
    for one in sight.named_in(turn.text):
        places, name = [at for at in sight.showing(one) if at <= place], re.escape(one.name)
        words = rf"({'|'.join((*NUMBERS, *ORDINALS))}) (?:of )?{_PICTURE} of {name}\b[^.!?]*"
        match = re.search(rf"[^.!?]*\b{words}", turn.text, re.I)
        if match and re.search(rf"\b(?:that's|that is|that makes|already|this is)\b|{_SENT}", match[0], re.I):
            word = match[1].lower()
            said = 1 + (NUMBERS if word in NUMBERS else ORDINALS).index(word)
            if said > len(places) or (one in shown and word in ORDINALS and said < len(places)):
                yield f"it speaks of {word!r} of the pictures of {one.name}, of which {len(places)} were shown."
        dated = re.search(rf"{_PICTURE}[^.!?]*\b{name}\b[^.!?]*?{_DATED}", turn.text, re.I) if not shown else None
        days = {told for at in sight.showing(one) for _, told in sight.dates_told(at)}
        with suppress(ValueError):
            taken = resolve(f"on {dated[1]}", day) if dated and (day := sight.day(place)) else None
            if taken and days and taken not in days:
                yield f"no photo of {one.name} is of {written(taken)}."


_CHECKS: tuple[Callable[[TurnPlace, Sight], Iterator[str]], ...] = (
    *(_people, _owned, _kinds, _calendar, _taken_back, _looks, _recalled, _pictures),
)
