"""What the turns of a group claim that their speakers, dates and photos contradict.

Each check is a function of a turn's place and the sight of its group, and gives sentences. What cannot be told for sure
from what is stated is no fault.
"""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta

from data_synthesis.dates import MONTHS, WEEKDAYS, resolve, written
from data_synthesis.group import PersonalConcept, TurnPlace
from data_synthesis.seen import Sight, facts_of
from data_synthesis.wording import content_of, holds, sentences_of

_WHO = r"\b(?:I|we|you|he|she|they|it)"
_HAPPENED = (
    r"(?:took|got|found|had|was|were|went|came|saw|made|bought|met|did|gave|told|shot|started|finished|snapped|visited|"
    r"lost|won|left|stayed|walked|played)"
)
_WILL = r"(?:'ll|will|shall|(?:'m|am|'re|are|'s|is) going to)"
_PICTURE = r"\b(?:pictures?|photos?|pics?|shots?|snapshots?)\b"
_SENT = r"(?:sent|showed|shared|posted)"
_GOT = r"(?:bought|adopted|own|owned|inherited|raised|picked out)"
_PLACE = r"(?:at|in|on|by|under|near|beside) (?:the|a|an|my|our|your|his|her) ([a-z][\w-]*(?: [a-z][\w-]*)?)"
# Places of which a photo says nothing: where it is kept, seen or told of, and when it was taken.
_NOT_THERE = content_of(
    "phone computer laptop camera wall fridge desk album folder frame mail email chat message screen internet website story "
    "morning afternoon evening night day week weekend month year way end meantime moment mood middle background first last "
    "same other past future time trip road birthday photo picture drive card cloud group news paper calendar"
)
_COLOURS = (
    "black white red green blue yellow orange pink purple brown grey gray golden silver beige teal turquoise maroon "
    "violet lavender khaki navy crimson scarlet magenta cream tan"
)
_COLOURED = re.compile(rf"\b(?:that|those|its|his|her) (?:\w+ )?((?:{'|'.join(_COLOURS.split())}) [a-z]+)", re.I)
_IS_COLOURED = re.compile(
    rf"(\w+)(?:'s| is| are| was| were| looks?)(?: so| very| really| all| quite)? ({'|'.join(_COLOURS.split())})\b", re.I
)
_OF_OTHERS = re.compile(
    r"\b(?:not|like|same|only|but|another|want\w*|other|wish|instead|if|should|could|would)\b", re.I
)
_KIN = (
    "brother sister cousin uncle aunt mother father mom dad mum grandma grandpa grandmother grandfather friend neighbor "
    "neighbour roommate coworker colleague boss landlord landlady hairdresser barber dentist doctor teacher husband wife son "
    "daughter nephew niece partner boyfriend girlfriend"
)
_RELATED = re.compile(
    rf"\b(my|your) ((?:[a-z-]+ ){{0,3}}(?:{'|'.join(_KIN.split())})) (?:from \w+ )?([A-Z][a-z]+)\b", re.I
)
_DAY_MONTH = rf"(?:\d{{1,2}}(?:st|nd|rd|th)? (?:{'|'.join(MONTHS)})|(?:{'|'.join(MONTHS)}) \d{{1,2}}(?:st|nd|rd|th)?)"
_DATED = re.compile(rf"\b(?:is|was|are|were|'s) (?:taken |made |shot )?(?:from|on) ({_DAY_MONTH})")
_TODAY = re.compile(
    rf"\b(?:it's|it is|today is|today's) (?:already |just |finally |only )?({'|'.join((*WEEKDAYS, *MONTHS))})\b"
    r"(?! (?:that|when|for|we|I|\d+)\b)",
    re.I,
)
# What people say at some time of the year or the day alone; north of the equator, where LoCoMo's people live.
_SOON = r"(?:next week|tomorrow|tonight|today|coming up|around the corner)"
_SEASONS = (
    (r"(?:it's|it is|it was) snowing|the snow outside|first snow\b", (11, 12, 1, 2, 3, 4)),
    (rf"christmas is {_SOON}|christmas eve is|merry christmas", (11, 12)),
    (r"happy new year", (12, 1)),
    (rf"happy halloween|halloween is {_SOON}", (10,)),
    (rf"happy valentine's|valentine's day is {_SOON}", (2,)),
    (rf"happy easter|easter is {_SOON}", (3, 4)),
    (rf"happy thanksgiving|thanksgiving is {_SOON}", (10, 11)),
)
_HOURS = (("good morning", range(3, 13)), ("good afternoon", range(11, 20)), ("good evening", range(15, 24)))
_GREETED = (
    r"(?:hey|hi|hello|thanks|thank you|sorry|okay|aw+|wow|haha|yeah|yep|yes|no|sure|oh)(?: there| wow| man| yeah)?,?"
)


def claim_faults(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """Every claim of a turn that is not so."""
    for check in _CHECKS:
        yield from check(place, sight)


# Who speaks, and of whom


def _people(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """Nobody speaks to themselves, calls their own the other's, shows one and names another, or renames a relation."""
    turn = sight.turns[place]
    if re.search(rf"(?:(?:^|[.!?] ){_GREETED} |, ){re.escape(turn.speaker)}(?=[!?.]|$)", turn.text, re.I):
        yield f"{turn.speaker} speaks to {turn.speaker}."
    named = [one for one in sight.concepts if holds(turn.text, one.name)]
    for one in sight.concepts:
        places = sight.showing(one)
        showing = {sight.turns[at].speaker for at in places}
        match = re.search(rf"\b(my|your) (?:{re.escape(one.class_name)} )?<?{re.escape(one.name)}\b", turn.text, re.I)
        if match and len(showing) == 1 and (match[1].lower() == "my") != (turn.speaker in showing):
            yield f"it says {match[0]!r}, but {showing.pop()} alone shows it."
        if named and one not in named and place in places:
            yield f"it shows a photo of {one.name}, but names {named[0].name}."
    for whose, name, kin in _relations(place, sight):
        earlier = (one for at in sight.turns if at < place for one in _relations(at, sight))
        before = next((words for *who, words in earlier if who == [whose, name]), kin)
        if not content_of(before) & content_of(kin):
            yield f"it calls {name} a {kin}, who is a {before} before."


def _relations(place: TurnPlace, sight: Sight) -> Iterator[tuple[bool, str, str]]:
    """Whose friend or kin a turn calls somebody: whether the first speaker's, the name, and the relation."""
    turn, names = sight.turns[place], {word for one in sight.concepts for word in one.name.split()}
    for match in _RELATED.finditer(turn.text):
        if match[3] not in names:
            yield (turn.speaker == sight.request.speakers[0]) == (match[1].lower() == "my"), match[3], match[2]


# When


def _calendar(place: TurnPlace, sight: Sight) -> Iterator[str]:
    turn, day = sight.turns[place], sight.day(place)
    if day is None:
        return
    hour = sight.request.placement.times[place.session - 1].hour
    for words, months in _SEASONS:
        if (match := re.search(rf"\b(?:{words})", turn.text, re.I)) and day.month not in months:
            yield f"it says {match[0]!r} on {written(day)}."
    for words, hours in _HOURS:
        if hour not in hours and re.search(rf"(?:^|[.!?] ){words}\b", turn.text, re.I):
            yield f"it says {words!r} at {hour} o'clock."
    now = WEEKDAYS[day.weekday()], MONTHS[day.month - 1]
    if (match := _TODAY.search(turn.text)) and match[1].title() not in now:
        yield f"it says {match[0]!r} on a {now[0]} in {now[1]}."
    for expression, then in sight.dates_told(place):
        words = rf"\b{re.escape(expression)}\b"
        past = rf"{words},? {_WHO} {_HAPPENED}\b|{_WHO} {_HAPPENED} [^.,;!?]{{0,60}}?{words}"
        to_come = rf"{_WHO}{_WILL}\b [^.,;!?]{{0,40}}?{words}"
        if then > day and re.search(past, turn.text, re.I):
            yield f"it tells of {written(then)} as past, on {written(day)}."
        if then < day - timedelta(days=1) and re.search(to_come, turn.text, re.I):
            yield f"it tells of {written(then)} as to come, on {written(day)}."
    for sentence in sentences_of(turn.text) if not turn.photos else ():  # a day that is given for a photo elsewhere
        match = _DATED.search(sentence) if re.search(_PICTURE, sentence, re.I) else None
        try:
            taken = resolve(f"on {match[1]}", day) if match else None
        except ValueError:
            continue
        for one in sight.concepts if taken else ():
            days = {told for at in sight.showing(one) for _, told in sight.dates_told(at)}
            if holds(sentence, one.name) and days and taken and taken not in days:
                yield f"no photo of {one.name} is of {written(taken)}."


# What photos show


def _stated(sight: Sight, place: TurnPlace, one: PersonalConcept) -> frozenset[str]:
    """All words that are stated of the photos of a concept that a turn shows."""
    shown = [photo for photo in one.photos if photo.path in sight.turns[place].photos]
    return frozenset().union(*(fact.words for photo in shown for fact in facts_of(one, photo)))


def _pictured(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """Where a turn says that its photo was taken, it was; and a colour that it or its reply sees there is stated of it."""
    turn, before = sight.turns[place], TurnPlace(place.session, place.turn - 1)
    at = place if turn.photos else before
    seen = [one for one in sight.concepts if at in sight.showing(one)]
    for one in seen if turn.photos else ():
        shown = [photo for photo in one.photos if photo.path in turn.photos]
        alone = r"|\b(?:that|this) (?:is|was)(?: taken)?|\btaken" * (len(seen) == 1)
        for said in re.finditer(rf"(?:\b{re.escape(one.name)},?{alone}) {_PLACE}", turn.text, re.I):
            words = content_of(said[1])
            if all(photo.setting for photo in shown) and not words & (_NOT_THERE | _stated(sight, place, one)):
                yield f"it says {said[0]!r}, but its photo is {shown[0].setting!r}."
    stated = frozenset().union(*(_stated(sight, at, one) | content_of(one.name) for one in seen))
    for sentence in sentences_of(turn.text) if stated else ():
        found = [(match[0], match[1]) for match in _COLOURED.finditer(sentence)]
        if content_of(sentence) & stated:
            found += [(match[0], match[2]) for match in _IS_COLOURED.finditer(sentence)]
        for phrase, colour in found if not _OF_OTHERS.search(sentence) else ():
            if not content_of(colour) <= stated:
                yield f"nothing that is stated of the photo {'before ' * (at != place)}says {phrase!r}."


def _recalled(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """A picture that a turn says the other has sent was shown by the other before; and nobody has bought the other's."""
    turn = sight.turns[place]
    for sentence in sentences_of(turn.text):
        for one in (concept for concept in sight.concepts if holds(sentence, concept.name)):
            places = sight.showing(one)
            given = [at for at in places if at < place and sight.turns[at].speaker != turn.speaker]
            given = [at for at in given if at.session == place.session or not re.search(r"\bjust\b", sentence)]
            sent = re.search(rf"\b(?:thank|you (?:just )?{_SENT})", sentence, re.I) and re.search(
                _PICTURE, sentence, re.I
            )
            if sent and not given:
                yield f"no picture of {one.name} was shown to {turn.speaker} before."
            others = all(sight.turns[at].speaker != turn.speaker for at in places)
            if places and others and re.search(rf"\bI (?:\w+ )?{_GOT} {re.escape(one.name)}\b", sentence):
                yield f"{turn.speaker} calls {one.name} their own, but {sight.turns[places[0]].speaker} shows it."


_CHECKS: tuple[Callable[[TurnPlace, Sight], Iterator[str]], ...] = (
    _people,
    _calendar,
    _pictured,
    _recalled,
)
