"""Checks of whether a question needs its photo: the words neither answer it nor tell which photo or concept is meant."""

from collections.abc import Iterator

from data_synthesis.classes import is_alive, kind_of
from data_synthesis.dates import date_text
from data_synthesis.group import OPEN_DOMAIN, VISUAL_RETRIEVAL, PersonalConcept
from data_synthesis.group_view import TurnView
from data_synthesis.guesses import guess_of, is_named_for_its_look, suggested_by
from data_synthesis.photo_facts import Fact, facts_of, look_texts
from data_synthesis.question_view import AnsweringFact, Need, QuestionView
from data_synthesis.wording import QUOTED, SAYING, contains_phrase, content_of

Faults = Iterator[tuple[str, str]]
TOO_COMMON = content_of(
    "who what which where when how did does do was has have one for about many day days ago that then this there just like "
    "photo picture"
)
# Parts that a question may ask about without revealing which concept is meant: whatever has a face, or any animal, has them
_OF_FACES = content_of(
    "eyes eye ears nose mouth face head hair chest teeth belly limbs legs feet paws pose forehead tongue"
)
_OF_ANIMALS = _OF_FACES | content_of("coat fur breed muzzle tail whiskers blaze marking collar")
_FITS_ONE = "the turns say this about {} only, so the photo is not needed."


def decisive_faults(question: QuestionView) -> Faults:
    """Yields faults after which no other check matters: a turn gives the answer away, or neither photos nor evidence have it.

    The whole look is an exception: turns may describe it, because the class alone suggests it.
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
            yield (
                "photo need",
                f"{guess!r} is guessed from its words alone; ask for what is less usual or less suggested.",
            )
        elif not called and not _may_be_of_others(question, (concept, photo, fact)):
            reason = (
                f"only {concept.name} has what it asks about, so the question itself reveals which concept is meant."
            )
            yield "photo need", reason
    for concept in question.named if question.category == OPEN_DOMAIN else ():
        if content_of(concept.class_name) & suggested_by(concept.name):
            reason = "so that it can be answered without a photo."
            yield "photo need", f"the name {concept.name} suggests a {concept.class_name}, {reason}"


def _may_be_of_others(question: QuestionView, answering: AnsweringFact) -> bool:
    """Returns whether another photo, on the days and by the speakers that the question names, could show what it asks for."""
    (concept, photo, fact), group = answering, question.group
    speakers = {turn.speaker for turn in group.shown[photo.path]}
    speakers = {speaker for speaker in speakers if contains_phrase(question.text, speaker)} or {*group.request.speakers}
    days = {turn.day for turn in group.turns.values()}
    days = {day for day in days if day and date_text(day) in question.text} or days
    return any(
        _could_have(fact, other, question.words)
        for other in group.concepts
        if other is not concept or fact.kind == "setting"
        for turn in group.turns_showing(other)
        if photo.path not in turn.photos and turn.speaker in speakers and turn.day in days
    )


def _could_have(fact: Fact, concept: PersonalConcept, words: frozenset[str]) -> bool:
    """Returns whether the concept may have the part that these words of a question ask about, as far as its kind is known."""
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
        if not any(need.role == "answer" or _fits_others(question, need) for need in seen):
            yield "photo need", _FITS_ONE.format(seen[0].concept.name)
        return
    statements = [(need.said_at, need.words, need.concept.name) for need in question.needs]
    if question.category == OPEN_DOMAIN:
        named = [concept for concept in question.named if concept.class_name]
        statements += [
            (question.group.turn_with_any(content_of(concept.class_name)), concept.class_name, concept.name)
            for concept in named
        ]
    for turn, words, name in statements:
        if turn is not None:
            yield "leakage", f"{turn.name} tells {words!r} of {name}, so that it can be answered without a photo."
            return
    yield (
        "photo need",
        "it can be answered without a photo, or it fits several; ask about something visible, or describe one by its look.",
    )


def _fits_others(question: QuestionView, need: Need) -> bool:
    """Returns whether its words alone leave open which photo of a concept, or which concept, is meant."""
    if need.role == "concept":
        return _could_mean_another(question, need.concept)
    days = {turn.day for turn in question.group.shown[need.photo.path]}
    return any(turn.day not in days for turn in question.group.turns_showing(need.concept))


def _has_a_similar_one(question: QuestionView, concept: PersonalConcept) -> bool:
    """Returns whether its owner also shows another concept of the same kind, so that words about its picture fit both.

    Not if a turn says the other one's class ("your cat"), or if the concept's name suggests the look that is described.
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


def _could_mean_another(question: QuestionView, concept: PersonalConcept) -> bool:
    """Returns whether the words could also mean another concept, because the turns say something comparable about it.

    For the day of a picture, the owner shows another concept of its kind. For a nickname or a name, another one is mentioned
    (a name by the same speaker). Otherwise, a turn about the other concept shares a word with the question or with the
    sentences that answer it.
    """
    answer, events, group = question.answer, question.events, question.group
    of_pictures = events and SAYING.search(question.text) and not any(event.expression for event in events)
    if of_pictures and question.category != VISUAL_RETRIEVAL:
        return _has_a_similar_one(question, concept)
    if of_pictures or question.category == OPEN_DOMAIN or answer == concept.name:
        return True
    date_turns = [turn for turn in question.date_turns if turn in question.evidence]
    answering = date_turns or [turn for turn in question.evidence if contains_phrase(turn.text, answer)]
    tellers = {turn.speaker for turn in answering}
    sentences = [text for turn in answering for text in turn.sentences if date_turns or contains_phrase(text, answer)]
    known_words = (*group.name_words, concept.class_name, *look_texts(concept), *(event.expression for event in events))
    words = content_of(" ".join((question.text, *sentences))) - content_of(" ".join(known_words)) - TOO_COMMON
    words = frozenset(word for word in words if len(word) > 3)
    is_nickname = any(answer in QUOTED.findall(text) for text in sentences)

    def is_alike(turn: TurnView) -> bool:
        if is_nickname:
            return bool({*turn.quoted} - {answer})
        if question.answer_is_name:
            return turn.speaker in tellers and bool(turn.new_names - {answer})
        return bool(words & turn.words)

    about_others = (turn for other in group.concepts if other is not concept for turn in group.turns_about[other.name])
    return any(is_alike(turn) for turn in about_others if turn not in question.evidence)


def own_photo_faults(question: QuestionView) -> Faults:
    """The photo that comes with the question may answer it, or the question says whom it shows or asks for another's name."""
    if not question.events and not question.is_told:
        yield "answer", f"its evidence does not say {question.answer!r}, so that its photo alone might tell."
    owners = ((concept, photo) for concept in question.group.concepts for photo in concept.unseen)
    for concept, photo in (owner for owner in owners if owner[1].path in question.photos):
        if any(question.answer_words <= fact.words for fact in facts_of(concept, photo)):
            yield "answer", f"the answer {question.answer!r} can be seen in its photo; ask what only the sessions tell."
        says_class = concept.class_name and content_of(concept.class_name) <= question.words
        if says_class or question.quoted_look(concept, photo):
            yield "photo need", f"it says in words what its photo shows of {concept.name}."
        if not _could_mean_another(question, concept):
            yield "photo need", _FITS_ONE.format(concept.name)
        other_names = {other.name for other in question.group.concepts} - {concept.name}
        if question.words & {"called", "name"} and question.answer in other_names:
            yield "truth", f"its photo shows {concept.name}, not {question.answer}."
        if question.answer == concept.name and is_named_for_its_look(concept):
            yield "photo need", f"the name {concept.name} suggests what its photo shows, so that it can be guessed."
