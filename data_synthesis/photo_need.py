"""Checks of whether a question needs its photo: the words neither answer it nor tell which photo or concept is meant."""

from collections.abc import Iterator
from itertools import chain

from data_synthesis.classes import is_alive
from data_synthesis.dates import written
from data_synthesis.group import OPEN_DOMAIN, VISUAL_RETRIEVAL, GeneratedQuestion, GeneratedTurn, PersonalConcept
from data_synthesis.group_view import AnsweringFact, GroupView, Need
from data_synthesis.guesses import guess_of, is_named_for_its_look, suggested_by
from data_synthesis.photo_facts import Fact, facts_of, look_texts
from data_synthesis.wording import QUOTED, SAYING, content_of, holds, names_of, sentences_of

Faults = Iterator[tuple[str, str]]
TOO_COMMON = content_of(
    "who what which where when how did does do was has have one for about many day days ago that then this there just like "
    "photo picture"
)
# Parts that a question may ask for without telling which thing is meant: of whoever has a face, and of animals
_OF_FACES = content_of(
    "eyes eye ears nose mouth face head hair chest teeth belly limbs legs feet paws pose forehead tongue"
)
_OF_ANIMALS = _OF_FACES | content_of("coat fur breed muzzle tail whiskers blaze marking collar")
_FITS_ONE = "its words fit only one thing that the turns tell, of {}, so that no photo is needed to answer it."


def decisive_fault(question: GeneratedQuestion, view: GroupView) -> tuple[str, str] | None:
    """The first fault that makes further checks of a question idle: its answer is told, or nothing says it."""
    return next(chain(_leaks(question, view), _unanswered(question, view)), None)


def guessed_faults(question: GeneratedQuestion, view: GroupView) -> Faults:
    """An answer that is the first guess of somebody who has seen no photo, and asked words that fit only one concept."""
    named, words = view.concepts_in(question.text), content_of(question.text)
    for concept, photo, fact in view.answering_facts(question):
        called = concept.name if concept in named else ""
        guess = guess_of(fact, called, words) if fact.kind == "attribute" else None
        if guess and question.category != VISUAL_RETRIEVAL:
            yield "photo", f"{guess!r} is guessed from its words alone; ask for what is less usual or less suggested."
            return
        if not called and not _may_be_of_others(question, view, (concept, photo, fact)):
            yield (
                "photo",
                f"of all that is shown, only {concept.name} fits what it asks for, so that it alone tells whom.",
            )
            return
    for concept in named if question.category == OPEN_DOMAIN else ():
        if content_of(concept.class_name) & suggested_by(concept.name):
            yield "photo", f"the name {concept.name} suggests a {concept.class_name}, so that no photo is needed."


def _may_be_of_others(question: GeneratedQuestion, view: GroupView, answering: AnsweringFact) -> bool:
    """Whether another photo, on the days and by the speakers that the question names, could show what it asks for."""
    concept, photo, fact = answering
    speakers = {view.turns[place].speaker for place in view.shown[photo.path]}
    speakers = {speaker for speaker in speakers if holds(question.text, speaker)} or {*view.request.speakers}
    dates = {view.date_of(place) for place in view.turns}
    dates = {day for day in dates if day and written(day) in question.text} or dates
    words = content_of(question.text)
    return any(
        _could_have(fact, other, words)
        for other in view.concepts
        if other is not concept or fact.kind == "setting"
        for place in view.turns_showing(other)
        if photo.path not in view.turns[place].photos
        and view.turns[place].speaker in speakers
        and view.date_of(place) in dates
    )


def _could_have(fact: Fact, concept: PersonalConcept, words: frozenset[str]) -> bool:
    """Whether what these words of a question ask for might be seen of the concept, too, for all that its kind tells."""
    asked = fact.parts_asked_by(words)
    if fact.kind != "attribute" or not asked or not all(asked):
        return True
    stated = [other for photo in concept.photos for other in facts_of(concept, photo)]
    parts = frozenset[str]().union(*(topic for other in stated for topic in other.topics))
    return any(
        (part <= _OF_FACES and bool(parts & _OF_FACES))
        or (part <= _OF_ANIMALS and is_alive(concept))
        or any(other.asked_by(part) for other in stated)
        for part in asked
    )


def _leaks(question: GeneratedQuestion, view: GroupView) -> Faults:
    """An answer that must be seen is said in a turn. The answer to a look may be said: the class alone gives it."""
    for concept, _, fact in view.answering_facts(question):
        for form in (question.answer, *question.accepted) if fact.kind != "look" else ():
            if where := view.where_said(content_of(form), concept):
                yield "leakage", f"{where} tells {form!r} of {concept.name}."
        words = content_of(question.answer)
        for place in view.turns_about[concept.name] if fact.kind == "attribute" else ():
            if fact.asked_by(view.words_at(place)) and 2 * len(words & view.words_at(place)) >= len(words):
                yield "leakage", f"{view.turn_name(place)} tells half of {question.answer!r} of {concept.name}."


def _unanswered(question: GeneratedQuestion, view: GroupView) -> Faults:
    answered = question.derivation or question.category == OPEN_DOMAIN or view.answering_facts(question)
    if not answered and not view.evidence_answers(question):
        yield "truth", f"neither what is stated of its photos nor its evidence says {question.answer!r}."


def needless_faults(question: GeneratedQuestion, view: GroupView) -> Faults:
    """No photo is needed: a turn says what it would show, or the question names no photo and no concept by its look alone."""
    needs = list(view.needs(question))
    if seen := [need for need in needs if need.said_at is None]:
        if not any(need.tells == "answer" or _fits_others(question, need, view) for need in seen):
            yield "photo", _FITS_ONE.format(seen[0].concept.name)
        return
    said = [(need.said_at, need.words, need.concept.name) for need in needs]
    if question.category == OPEN_DOMAIN:
        named = [concept for concept in view.concepts_in(question.text) if concept.class_name]
        said += [(view.turn_with_any(content_of(one.class_name)), one.class_name, one.name) for one in named]
    for place, words, name in said:
        if place is not None:
            reason = f"{view.turn_name(place)} tells {words!r} of {name}, so that no photo is needed to answer it."
            yield "leakage", reason
            return
    yield (
        "photo",
        "no photo is needed to answer it, or its words fit several; ask what one shows, or name one by what it shows.",
    )


def _fits_others(question: GeneratedQuestion, need: Need, view: GroupView) -> bool:
    """Whether its words alone leave open which photo of a concept, or which concept, is meant."""
    if need.tells == "concept":
        return _told_of_others(question, need.concept, view)
    own = {view.date_of(place) for place in view.shown[need.photo.path]}
    return any(view.date_of(place) not in own for place in view.turns_showing(need.concept))


def _told_of_others(question: GeneratedQuestion, concept: PersonalConcept, view: GroupView) -> bool:
    """Whether the words leave open which concept is meant: the like of the answer is told of another one, too.

    The like of a picture's day is the day of another picture, and that of a nickname another one. The like of a name is told
    by the same speaker, and that of anything else in a word of the question or of the sentence that answers it.
    """
    answer, events = question.answer, question.derivation.events if question.derivation else ()
    of_pictures = events and SAYING.search(question.text) and not any(event.expression for event in events)
    if question.category == OPEN_DOMAIN or answer == concept.name or of_pictures:
        return True
    evidence = {place: view.turns[place] for place in view.evidence_of(question)}
    dating = {place: turn for place, turn in evidence.items() if place in [event.place for event in events]}
    answering = dating or {place: turn for place, turn in evidence.items() if holds(turn.text, answer)}
    tellers = {turn.speaker for turn in answering.values()}
    sentences = [
        text for turn in answering.values() for text in sentences_of(turn.text) if dating or holds(text, answer)
    ]
    known = (*view.name_words, concept.class_name, *look_texts(concept), *(event.expression for event in events))
    asked = content_of(" ".join((question.text, *sentences))) - content_of(" ".join(known)) - TOO_COMMON
    asked = frozenset(word for word in asked if len(word) > 3)
    is_nickname = any(answer in QUOTED.findall(text) for text in sentences)
    is_name = bool(names_of(f"It was {answer}."))

    def is_alike(turn: GeneratedTurn) -> bool:
        if is_nickname:
            return bool({*QUOTED.findall(turn.text)} - {answer})
        if is_name:
            return turn.speaker in tellers and bool(names_of(turn.text) - view.name_words - {answer})
        return bool(asked & content_of(turn.text))

    about_others = {place for one in view.concepts if one is not concept for place in view.turns_about[one.name]}
    return any(is_alike(view.turns[place]) for place in about_others - evidence.keys())


def own_photo_faults(question: GeneratedQuestion, view: GroupView) -> Faults:
    """The photo that comes with the question may answer it, or the question says whom it shows or asks for another's name."""
    if question.derivation is None and not view.evidence_answers(question):
        yield "answer", f"its evidence does not say {question.answer!r}, so that its photo alone might tell."
    words = content_of(question.text)
    unseen = [(concept, photo) for concept in view.concepts for photo in concept.unseen]
    for concept, photo in (owner for owner in unseen if owner[1].path in question.photos):
        if any(content_of(question.answer) <= fact.words for fact in facts_of(concept, photo)):
            yield "answer", f"the answer {question.answer!r} can be seen on its photo; ask what only the sessions tell."
        class_words = content_of(concept.class_name)
        if view.quoted_look(words, concept, photo) or (concept.class_name and class_words <= words):
            yield "photo", f"it says in words what its photo shows of {concept.name}."
        if not _told_of_others(question, concept, view):
            yield "photo", _FITS_ONE.format(concept.name)
        if words & {"called", "name"} and question.answer in {one.name for one in view.concepts} - {concept.name}:
            yield "truth", f"its photo shows {concept.name}, not {question.answer}."
        if question.answer == concept.name and is_named_for_its_look(concept):
            yield "photo", f"the name {concept.name} suggests what its photo shows, so that it can be guessed."
