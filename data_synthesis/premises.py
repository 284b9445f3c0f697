"""What a question takes for granted and what it counts as right, held against what is stated of its photos and said.

Each check is a function of a question and the sight of its group, and gives what is wrong as rule and sentence. They hold
for any dataset: none knows who wrote it.
"""

import re
from collections.abc import Callable, Iterator

from data_synthesis.dates import MONTHS, written
from data_synthesis.group import (
    VISUAL_RETRIEVAL,
    ConceptPhoto,
    GeneratedQuestion,
    PersonalConcept,
    TurnPlace,
)
from data_synthesis.seen import OPEN_DOMAIN, POSES, Fact, Sight, facts_of, look_words
from data_synthesis.wording import content_of, holds, names_of, sentences_of

MULTI_HOP = 6
Found = Iterator[tuple[str, str]]
_DAY = re.compile(rf"\b\d{{1,2}} (?:{'|'.join(MONTHS)}) \d{{4}}\b")
_SHOWS = r"(?:share|shared|sent|send|showed|shown?)"
_BEFORE = re.compile(r"\b(before|after) the (?:one|picture|photo|pic)\b")
_WHICH = re.compile(rf"\b(first|last) {_SHOWS}\b")
_WISHED = r"\b(?:want|tri|try|hop|plan|almost|nearl|about|offer|mean|meant|wish)\w* (?:to )?(?:be )?{}\w{{0,3}}\b"
_WISHES = re.compile(
    r"\b(?:want|tr(?:y|ied)|hop(?:e|ing)|plan|almost|nearly|about to|going to|offer|meant?|wish)\w*", re.I
)
_CORRECTS = re.compile(
    r"\b(?:wrong|turns out|mix(?:ed|ing|-up)|take (?:something|it|that) back|my fault|correct(?:ion)?|mistake|told you it was)\b",
    re.I,
)
_ENOUGH_ALIKE = 4  # content words that two sentences share besides the concept: they tell the same thing


def premise_faults(question: GeneratedQuestion, sight: Sight) -> Found:
    """Why the question can be answered without its photo, or not at all, or in two ways, or takes for granted what is not so."""
    if not sight.request.group.described and question.category != VISUAL_RETRIEVAL:
        return  # nothing is stated that it could be held against
    for check in _DECISIVE:
        if found := next(check(question, sight), None):
            yield found
            return
    for check in _CHECKS:
        yield from check(question, sight)


# Whether it needs its photo, and has an answer


def _told(question: GeneratedQuestion, sight: Sight) -> Found:
    """What of its answers a turn tells, though it is to be seen; a look is told by the class alone."""
    if question.photos or question.derivation is not None:
        return
    for concept, _, fact in sight.answered(question):
        for form in (question.answer, *question.accepted) if fact.kind != "look" else ():
            words = content_of(form)
            if place := sight.telling(words, concept):
                yield "leakage", f"{sight.turn_name(place)} tells {form!r} of {concept.name}."
            elif sight.told_elsewhere(words, concept):
                yield "leakage", f"a turn outside of its group tells {form!r} of {concept.name}."
        words = content_of(question.answer)
        for place in sight.about[concept.name] if fact.kind == "attribute" else ():
            if fact.asked_by(sight.words(place)) and 2 * len(words & sight.words(place)) >= len(words):
                yield "leakage", f"{sight.turn_name(place)} tells half of {question.answer!r} of {concept.name}."


def _unanswered(question: GeneratedQuestion, sight: Sight) -> Found:
    if question.photos or question.derivation is not None or question.category == OPEN_DOMAIN:
        return
    if not sight.answered(question) and not sight.said(question):
        yield "truth", f"neither what is stated of its photos nor its evidence says {question.answer!r}."


def _needless(question: GeneratedQuestion, sight: Sight) -> Found:
    """Why no photo is needed: a turn tells what it would show, or its words do not say which one is meant."""
    if sight.seen_for(question):
        return
    so_that = "so that no photo is needed to answer it."
    for concept, _, _, words, forms in sight.wanted(question):
        if place := next(filter(None, (sight.telling(form, concept) for form in forms)), None):
            yield "leakage", f"{sight.turn_name(place)} tells {words!r} of {concept.name}, {so_that}"
            return
    for concept in sight.named(question) if question.category == OPEN_DOMAIN else ():
        if concept.class_name and (place := sight.told_anywhere(content_of(concept.class_name))):
            yield "leakage", f"{sight.turn_name(place)} tells {concept.class_name!r}, {so_that}"
            return
    if unclear := next(_fitting_several(question, sight), None):
        yield "ambiguous", unclear
        return
    yield "photo", "no photo is needed to answer it; ask what one shows, or name its photo or concept by that."


def _fitting_several(question: GeneratedQuestion, sight: Sight) -> Iterator[str]:
    """The words that would say which photo or concept is meant, and fit more than one."""
    asked, named = content_of(question.text), sight.named(question)
    if re.search(r"\b(?:picture|photo|pic|image)\b", question.text):
        fitting = [
            (concept, photo)
            for concept, photo in sight.owners.values()
            if (concept in named or not named) and content_of(photo.setting) - POSES and photo.path in sight.shown
            and (named or content_of(photo.setting) - POSES <= asked)
        ]  # fmt: skip
        if len(fitting) > 1:
            names = " and ".join(dict.fromkeys(concept.name for concept, _ in fitting))
            yield f"it does not say which of {len(fitting)} photos of {names} is meant."
    everyone = (*sight.concepts, *sight.request.elsewhere)
    for concept in dict.fromkeys(concept for concept, _, _ in sight.shown_by(question) if not named):
        own = content_of(concept.class_name)
        texts = [concept.short_description, *(one.value for one in concept.attributes)]
        for words in (content_of(text) - own - POSES for text in texts if text):
            others = [one.name for one in everyone if one is not concept and words <= look_words(one)]
            if words and words <= asked and others:
                yield f"its words {' '.join(sorted(words))!r} fit {others[0]} as well as {concept.name}."
        others = [one.name for one in everyone if one is not concept and content_of(one.class_name) == own]
        if own and own <= asked and others:
            yield f"its words {concept.class_name!r} fit {others[0]} as well as {concept.name}."


def _own_photo(question: GeneratedQuestion, sight: Sight) -> Found:
    """Whether its own photo alone might answer it, or it tells whom that shows, or is answered by another one's name."""
    if not question.photos:
        return
    if question.derivation is None and not sight.said(question):
        yield "answer", f"its evidence does not say {question.answer!r}, so that its photo alone might tell."
    asked = content_of(question.text)
    unseen = ((concept, photo) for concept in sight.concepts for photo in concept.unseen)
    for one, photo in ((concept, photo) for concept, photo in unseen if photo.path in question.photos):
        if any(sight.says(fact, question.answer) for fact in facts_of(one, photo)):
            yield "answer", f"the answer {question.answer!r} can be seen on its photo; ask what only the sessions tell."
        if sight.look(asked, one, photo) or (one.class_name and content_of(one.class_name) <= asked):
            yield "photo", f"it says in words what its photo shows of {one.name}."
        others = [other.name for other in sight.concepts if other is not one]
        if asked & {"called", "name"} and question.answer in others:
            yield "truth", f"its photo shows {one.name}, not {question.answer}."


# What counts as right


def _false_forms(question: GeneratedQuestion, sight: Sight) -> Found:
    """Accepted answers that say something else than what the answer follows from, or too little of it."""
    facts = [fact for *_, fact in sight.answered(question)] if question.derivation is None else []
    answer = Fact("asked", question.answer, content_of(question.answer))
    right = answer.words.union(*(fact.words for fact in facts))
    heads = answer.heads.union(*(fact.heads for fact in facts))
    stated = {content_of(form) for fact in facts for form in fact.short}
    names = [one.name for one in (*sight.concepts, *sight.request.elsewhere)] + list(sight.request.speakers)
    for form in question.accepted:
        words = content_of(form)
        other = next((name for name in names if holds(form, name) and not holds(question.answer, name)), None)
        if other and not words <= right:
            yield "truth", f"{form!r} is accepted, but is the name of another."
        elif facts and not words & right:
            yield "truth", f"{form!r} is accepted, but nothing that is stated of its photos says so."
        elif facts and words not in stated and not words & heads and not answer.words <= words:
            yield "truth", f"{form!r} is accepted, but says too little of {question.answer!r}."


# Which photo is meant


def _ambiguous(question: GeneratedQuestion, sight: Sight) -> Found:
    if question.photos:
        return
    asked = content_of(question.text)
    for concept, photo, fact in sight.answered(question) if question.derivation is None else ():
        shown = [one for one in concept.photos if one.path in sight.shown]
        if fact.kind != "setting" or len(shown) < 2 or _points_to(question, sight, concept, photo):
            continue
        others = [one for one in shown if one is not photo]
        if any(not any(sight.says(fact, question.answer) for fact in facts_of(concept, one)) for one in others):
            yield "ambiguous", f"it does not say which of {len(shown)} photos of {concept.name} is meant."
            return
    for concept, photo, _ in sight.shown_by(question):
        quotes = asked & (content_of(photo.setting) - POSES) and f"{concept.name} {photo.setting}" in question.text
        if quotes and not sight.quoted(asked, concept, photo):
            yield "ambiguous", f"its words {photo.setting!r} fit another photo of {concept.name} as well."
            return


def _points_to(question: GeneratedQuestion, sight: Sight, concept: PersonalConcept, photo: ConceptPhoto) -> bool:
    """Whether the question says which photo of the concept is meant: by its day, by its story, by another photo."""
    asked, own = content_of(question.text), sight.shown.get(photo.path, [])
    others = [at for one in concept.photos if one is not photo for at in sight.shown.get(one.path, ())]
    days = {day for at in own if (day := sight.day(at))}
    if any(written(day) in question.text for day in days):
        return not any(sight.day(at) in days for at in others)
    if any(sight.quoted(asked, one, seen) for one, seen in sight.owners.values()):
        return True
    distinct = frozenset().union(*map(sight.words, own)) - frozenset().union(*map(sight.words, others))
    return len(asked & (distinct - content_of(concept.name))) >= 2


def _settings(question: GeneratedQuestion, sight: Sight) -> Found:
    """A setting that it gives to a concept is one of that concept's own."""
    for one in sight.named(question):
        own = content_of(" ".join(f"{photo.setting} {photo.description}" for photo in (*one.photos, *one.unseen)))
        for other, photo in sight.owners.values():
            words = content_of(photo.setting)
            if other is not one and not words <= own and holds(question.text, f"{one.name} {photo.setting}"):
                yield "truth", f"it speaks of {one.name} {photo.setting!r}, where {other.name} is."


def _order(question: GeneratedQuestion, sight: Sight) -> Found:
    """What it says of the order in which photos were shown is so."""
    asked, order = content_of(question.text), _BEFORE.search(question.text)
    if order and question.derivation is None:
        named = sight.named(question) or sight.concepts
        photos = [(one, photo) for one, photo in sight.owners.values() if one in named]
        given = [(one, photo) for one, photo in photos if sight.quoted(asked, one, photo)]
        answered = [(one, photo) for one, photo, fact in sight.answered(question) if fact.kind == "setting"]
        for (_, known), (one, photo) in ((a, b) for a in given for b in answered if a[1] is not b[1]):
            places = [min(map(_at, sight.shown[path])) for path in (known.path, photo.path) if path in sight.shown]
            if len(places) == 2 and (places[1] > places[0]) != (order[1] == "after"):
                yield "truth", f"the photo of {one.name} {photo.setting!r} was not shown {order[1]} that one."
    which = _WHICH.search(question.text)
    if which and question.derivation is not None and question.derivation.since is None:
        event = question.derivation.event.place
        for one in dict.fromkeys(one for one, _, at in sight.shown_by(question) if at == event):
            days = sorted(day for at in sight.showing(one) if (day := sight.day(at)))
            if days and sight.day(event) != days[0 if which[1] == "first" else -1]:
                yield "truth", f"{sight.turn_name(event)} is not where {one.name} was {which[1]} shown."


def _at(place: TurnPlace) -> tuple[int, int]:
    return place.session, place.turn


# Dates, people and what is told


def _foreign_dates(question: GeneratedQuestion, sight: Sight) -> Found:
    """A date that the question asks of a photo follows from the turn that shows it, or one that names its concept."""
    if question.derivation is None or question.photos:
        return
    seen = sight.seen_for(question)
    quoted = {one.place for one in seen if one.words in [photo.setting for _, photo in sight.owners.values()]}
    concepts = {sight.owners[one.photo][0].name for one in seen}
    events = [one for one in (question.derivation.event, question.derivation.since) if one is not None]
    if seen and not any(event.place in sight.about[name] for event in events for name in concepts):
        told = f"which is not about {' or '.join(sorted(concepts))}."
        yield "truth", f"its date follows from {sight.turn_name(events[0].place)}, {told}"
    for event in events:
        shows = event.place in sight.turns and sight.turns[event.place].photos
        if quoted and shows and event.place not in quoted:
            yield "truth", f"its date follows from {sight.turn_name(event.place)}, which shows another photo."


def _misplaced(question: GeneratedQuestion, sight: Sight) -> Found:
    """Days and people in the question that its evidence does not have."""
    places = sight.places(question)
    days = {written(day) for place in places for day in sight.days_told(place)}
    for day in _DAY.findall(question.text):
        if day not in days:
            yield "truth", f"nothing in its evidence is of {day}."
    showing = {sight.turns[place].speaker for place in places if sight.turns[place].photos}
    parts = {word for one in sight.concepts for word in one.name.split()}
    for name in re.findall(rf"\b([A-Z]\w+) {_SHOWS}\b", question.text):
        if name not in {*sight.request.speakers, *parts}:
            yield "truth", f"nobody called {name} talks."
        elif showing and name not in {*showing, *parts}:
            yield "truth", f"{name} shows no photo in its evidence."


def _only_wished(question: GeneratedQuestion, sight: Sight) -> Found:
    """What it asks of as done is not only wanted, tried or planned in the turn that its date follows from."""
    if question.derivation is None or _WISHES.search(question.text):
        return
    event = sight.turns.get(question.derivation.event.place)
    verbs = re.findall(r"\bdid (?:\w+ ){1,3}?(\w{3,})\b", question.text) if event else ()
    for verb in verbs:
        wished = re.search(_WISHED.format(re.escape(verb)), event.text, re.I) if event else None
        if wished and event and not re.search(rf"\b{re.escape(verb)}", event.text.replace(wished[0], " "), re.I):
            yield "truth", f"nobody did {verb}: {sight.turn_name(question.derivation.event.place)} says {wished[0]!r}."


def _taken_back(question: GeneratedQuestion, sight: Sight) -> Found:
    """Its answer is not what a later turn of its evidence corrects, by another name."""
    if question.derivation is not None or sight.answered(question):
        return
    ours = {*sight.request.speakers, *(word for one in sight.concepts for word in one.name.split())}
    known = set[str]()
    told: TurnPlace | None = None
    for place in sorted(sight.places(question), key=_at):
        text = sight.turns[place].text
        names = names_of(text) - ours
        if told and _CORRECTS.search(text) and names - known and question.answer not in names - known:
            yield "truth", f"{question.answer!r} is taken back in {sight.turn_name(place)}."
        if holds(text, question.answer):
            told = place
        known |= names


def _told_otherwise(question: GeneratedQuestion, sight: Sight) -> Found:
    """No other turn tells the same with another name in its place."""
    if question.derivation is not None or sight.answered(question) or not names_of(f"It was {question.answer}."):
        return
    evidence = sight.places(question)
    telling = [one for at in evidence for one in sentences_of(sight.turns[at].text) if holds(one, question.answer)]
    concepts = dict.fromkeys(one for one, _, _ in sight.shown_by(question))
    names = {*sight.request.speakers, *(word for one in sight.concepts for word in one.name.split())}
    for concept in concepts:
        for place in sight.about[concept.name]:
            for one in sentences_of(sight.turns[place].text) if place not in evidence else ():
                alike = max(
                    (len(content_of(one) & content_of(own) - content_of(concept.name)) for own in telling), default=0
                )
                others = names_of(one) - names
                if alike >= _ENOUGH_ALIKE and others and not holds(one, question.answer) and holds(one, concept.name):
                    yield "truth", f"{sight.turn_name(place)} says so of {min(others)}, not of {question.answer}."


# Evidence


def _idle(question: GeneratedQuestion, sight: Sight) -> Found:
    """Every turn of its evidence shows a photo, dates it, says the answer, or speaks of what is asked."""
    derived = question.derivation
    events = {event.place for event in (derived.event, derived.since) if event} if derived else set()
    asked = content_of(question.text) | content_of(question.answer)
    asked -= content_of(" ".join((*sight.request.speakers, *_ASKING)))
    for place in sight.places(question):
        turn = sight.turns[place]
        if turn.photos or place in events or sight.words(place) & asked:
            continue
        before = sight.turns.get(TurnPlace(place.session, place.turn - 1))
        texts = (turn.text, before.text if before else "")
        if not any(holds(text, one.name) for text in texts for one in sight.concepts) and not _answers(
            question, turn.text
        ):
            yield "evidence", f"{sight.turn_name(place)} tells nothing of what is asked."


_ASKING = "who what which where when how did does do was has have one for about many day days ago that then".split()


def _answers(question: GeneratedQuestion, text: str) -> bool:
    return any(holds(text, form) for form in (question.answer, *question.accepted))


def _steps(question: GeneratedQuestion, sight: Sight) -> Found:
    """Of several steps the answer in words is told apart from the photo that says who is meant, by a turn about the same."""
    if question.category != MULTI_HOP or sight.answered(question):
        return
    seen, places = sight.seen_for(question), sight.places(question)
    says = [place for place in places if _answers(question, sight.turns[place].text)]
    apart = [place for place in says if place not in {one.place for one in seen}]
    if says and not apart:
        yield (
            "evidence",
            f"{question.answer!r} stands only beside its photos; the turn that tells it of them is missing.",
        )
    concepts = list(dict.fromkeys(one for one, _, _ in sight.shown_by(question)))
    for place in apart:
        text = sight.turns[place].text
        others = [one.name for one in sight.concepts if one not in concepts and holds(text, one.name)]
        if concepts and others and not any(holds(text, one.name) for one in concepts):
            yield "truth", f"{sight.turn_name(place)} says so of {others[0]}, not of {concepts[0].name}."


_DECISIVE: tuple[Callable[[GeneratedQuestion, Sight], Found], ...] = (_told, _unanswered)
_CHECKS: tuple[Callable[[GeneratedQuestion, Sight], Found], ...] = (
    *(_needless, _own_photo, _false_forms, _ambiguous, _settings, _order, _foreign_dates, _misplaced),
    *(_only_wished, _taken_back, _told_otherwise, _idle, _steps),
)
