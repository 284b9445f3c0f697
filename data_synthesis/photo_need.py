"""Checks of whether a question needs its photo: the words neither answer it nor tell which photo or concept is meant."""

from collections.abc import Iterator

from data_synthesis.classes import is_alive, kind_of
from data_synthesis.dates import written
from data_synthesis.group import OPEN_DOMAIN, VISUAL_RETRIEVAL, PersonalConcept
from data_synthesis.group_view import TurnView
from data_synthesis.guesses import guess_of, is_named_for_its_look, suggested_by
from data_synthesis.photo_facts import Fact, facts_of, look_texts
from data_synthesis.question_view import AnsweringFact, Need, QuestionView
from data_synthesis.wording import QUOTED, SAYING, content_of, holds

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


def decisive_faults(question: QuestionView) -> Faults:
    """The faults that make further checks of a question idle: its answer is told, or nothing says it.

    An answer that must be seen is said in no turn. The answer to a look may be said: the class alone gives it.
    """
    group = question.group
    for concept, _, fact in question.facts:
        for form in question.answers if fact.kind != "look" else ():
            if where := group.where_said(content_of(form), concept):
                yield "leakage", f"{where} tells {form!r} of {concept.name}."
        for turn in group.turns_about[concept.name] if fact.kind == "attribute" else ():
            shared_words = question.answer_words & turn.words
            if fact.asked_by(turn.words) and 2 * len(shared_words) >= len(question.answer_words):
                yield "leakage", f"{turn.name} tells half of {question.answer!r} of {concept.name}."
    if not (question.events or question.category == OPEN_DOMAIN or question.facts or question.is_told):
        yield "truth", f"neither what is stated of its photos nor its evidence says {question.answer!r}."


def guessed_faults(question: QuestionView) -> Faults:
    """An answer that is the first guess of somebody who has seen no photo, and asked words that fit only one concept."""
    for concept, photo, fact in question.facts:
        called = concept.name if concept in question.named else ""
        guess = guess_of(fact, concept.name, question.words) if fact.kind == "attribute" else None
        if guess and question.category != VISUAL_RETRIEVAL:
            yield "photo", f"{guess!r} is guessed from its words alone; ask for what is less usual or less suggested."
        elif not called and not _may_be_of_others(question, (concept, photo, fact)):
            reason = f"of all that is shown, only {concept.name} fits what it asks for, so that it alone tells whom."
            yield "photo", reason
    for concept in question.named if question.category == OPEN_DOMAIN else ():
        if content_of(concept.class_name) & suggested_by(concept.name):
            yield "photo", f"the name {concept.name} suggests a {concept.class_name}, so that no photo is needed."


def _may_be_of_others(question: QuestionView, answering: AnsweringFact) -> bool:
    """Whether another photo, on the days and by the speakers that the question names, could show what it asks for."""
    (concept, photo, fact), group = answering, question.group
    speakers = {turn.speaker for turn in group.shown[photo.path]}
    speakers = {speaker for speaker in speakers if holds(question.text, speaker)} or {*group.request.speakers}
    days = {turn.day for turn in group.turns.values()}
    days = {day for day in days if day and written(day) in question.text} or days
    return any(
        _could_have(fact, other, question.words)
        for other in group.concepts
        if other is not concept or fact.kind == "setting"
        for turn in group.turns_showing(other)
        if photo.path not in turn.photos and turn.speaker in speakers and turn.day in days
    )


def _could_have(fact: Fact, concept: PersonalConcept, words: frozenset[str]) -> bool:
    """Whether what these words of a question ask for might be seen of the concept, too, for all that its kind tells."""
    parts = fact.parts_asked_by(words)
    if fact.kind != "attribute" or not parts or not all(parts):
        return True
    stated = [other for photo in concept.photos for other in facts_of(concept, photo)]
    has_face = any(topic & _OF_FACES for other in stated for topic in other.topics)
    return any(
        (has_face and part <= _OF_FACES)
        or (part <= _OF_ANIMALS and is_alive(concept))
        or any(other.asked_by(part) for other in stated)
        for part in parts
    )


def needless_faults(question: QuestionView) -> Faults:
    """No photo is needed: a turn says what it would show, or the question names no photo and no concept by its look alone."""
    if seen := [need for need in question.needs if need.said_at is None]:
        if not any(need.tells == "answer" or _fits_others(question, need) for need in seen):
            yield "photo", _FITS_ONE.format(seen[0].concept.name)
        return
    said = [(need.said_at, need.words, need.concept.name) for need in question.needs]
    if question.category == OPEN_DOMAIN:
        named = [concept for concept in question.named if concept.class_name]
        said += [(question.group.turn_with_any(content_of(one.class_name)), one.class_name, one.name) for one in named]
    for turn, words, name in said:
        if turn is not None:
            yield "leakage", f"{turn.name} tells {words!r} of {name}, so that no photo is needed to answer it."
            return
    yield (
        "photo",
        "no photo is needed to answer it, or its words fit several; ask what one shows, or name one by what it shows.",
    )


def _fits_others(question: QuestionView, need: Need) -> bool:
    """Whether its words alone leave open which photo of a concept, or which concept, is meant."""
    if need.tells == "concept":
        return _told_of_others(question, need.concept)
    own = {turn.day for turn in question.group.shown[need.photo.path]}
    return any(turn.day not in own for turn in question.group.turns_showing(need.concept))


def _has_its_like(question: QuestionView, concept: PersonalConcept) -> bool:
    """Whether who shows the concept shows another one, too, that talk of it does not tell apart at once.

    Talk of a pet ("he wants a treat") is not like that of a thing, nor that of a toy like that of a boot; a turn may tell the
    class ("your cat"), and a name suggest the look that is described.
    """
    group = question.group
    if content_of(" ".join((concept.class_name, *look_texts(concept)))) & suggested_by(concept.name) & question.words:
        return False
    speakers = {turn.speaker for turn in group.turns_showing(concept)}
    return any(
        kind_of(other) == kind_of(concept)
        and not any(content_of(other.class_name) & turn.words for turn in group.turns_about[other.name])
        for other in group.concepts
        if other is not concept and speakers & {turn.speaker for turn in group.turns_showing(other)}
    )


def _told_of_others(question: QuestionView, concept: PersonalConcept) -> bool:
    """Whether the words leave open which concept is meant: the like of the answer is told of another one, too.

    The like of a picture's day is that of a picture of something of its kind, and that of a nickname another one. The like of
    a name is told by the same speaker, and that of anything else in a word of the question or of the sentence that answers
    it.
    """
    answer, events, group = question.answer, question.events, question.group
    of_pictures = events and SAYING.search(question.text) and not any(event.expression for event in events)
    if of_pictures and question.category != VISUAL_RETRIEVAL:
        return _has_its_like(question, concept)
    if of_pictures or question.category == OPEN_DOMAIN or answer == concept.name:
        return True
    dating = [turn for turn in question.dating if turn in question.evidence]
    answering = dating or [turn for turn in question.evidence if holds(turn.text, answer)]
    tellers = {turn.speaker for turn in answering}
    sentences = [text for turn in answering for text in turn.sentences if dating or holds(text, answer)]
    known = (*group.name_words, concept.class_name, *look_texts(concept), *(event.expression for event in events))
    words = content_of(" ".join((question.text, *sentences))) - content_of(" ".join(known)) - TOO_COMMON
    words = frozenset(word for word in words if len(word) > 3)
    is_nickname = any(answer in QUOTED.findall(text) for text in sentences)

    def is_alike(turn: TurnView) -> bool:
        if is_nickname:
            return bool({*turn.quoted} - {answer})
        if question.answer_is_name:
            return turn.speaker in tellers and bool(turn.new_names - {answer})
        return bool(words & turn.words)

    about_others = (turn for one in group.concepts if one is not concept for turn in group.turns_about[one.name])
    return any(is_alike(turn) for turn in about_others if turn not in question.evidence)


def own_photo_faults(question: QuestionView) -> Faults:
    """The photo that comes with the question may answer it, or the question says whom it shows or asks for another's name."""
    if not question.events and not question.is_told:
        yield "answer", f"its evidence does not say {question.answer!r}, so that its photo alone might tell."
    owners = ((concept, photo) for concept in question.group.concepts for photo in concept.unseen)
    for concept, photo in (owner for owner in owners if owner[1].path in question.photos):
        if any(question.answer_words <= fact.words for fact in facts_of(concept, photo)):
            yield "answer", f"the answer {question.answer!r} can be seen on its photo; ask what only the sessions tell."
        says_class = concept.class_name and content_of(concept.class_name) <= question.words
        if says_class or question.quoted_look(concept, photo):
            yield "photo", f"it says in words what its photo shows of {concept.name}."
        if not _told_of_others(question, concept):
            yield "photo", _FITS_ONE.format(concept.name)
        others = {one.name for one in question.group.concepts} - {concept.name}
        if question.words & {"called", "name"} and question.answer in others:
            yield "truth", f"its photo shows {concept.name}, not {question.answer}."
        if question.answer == concept.name and is_named_for_its_look(concept):
            yield "photo", f"the name {concept.name} suggests what its photo shows, so that it can be guessed."
