"""What is wrong with the sessions and questions of one group, in sentences that their writer can act on."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

from data_synthesis.accepted import too_little_fault
from data_synthesis.dates import answers_the_same, contradicts, resolve, stands_in, temporal_answer
from data_synthesis.group import (
    QUESTION_RATIO,
    SESSIONS_PER_GROUP,
    TURNS_PER_SESSION,
    VISUAL_RETRIEVAL,
    DatedEvent,
    GeneratedGroup,
    GeneratedQuestion,
    GeneratedTurn,
    GroupRequest,
    PersonalConcept,
    TurnPlace,
)
from data_synthesis.wording import (
    answer_given_away,
    bracketed_names,
    holds,
    options_of,
    placeholders,
    sentences,
    words_of,
)

TEMPORAL = 7


def faults_of(group: GeneratedGroup, request: GroupRequest) -> list[str]:
    """Every fault of a group as one sentence; an empty list means that it may go into the benchmark."""
    return [*_session_faults(group, request), *_photo_faults(group, request), *_question_faults(group, request)]


def ratio_fault(categories: Counter[int]) -> str | None:
    """Why the categories 6 to 9 are not in the ratio 2:3:1:4, or None. Category 10 stands apart."""
    counts = {category: categories[category] for category in QUESTION_RATIO}
    multiple = max(counts[8], 1)
    if counts == {category: share * multiple for category, share in QUESTION_RATIO.items()}:
        return None
    told = ", ".join(f"{count} of category {category}" for category, count in counts.items())
    return f"The questions are {told}; the ratio of categories 6, 7, 8, 9 must be 2:3:1:4 (for 20: 4, 6, 2, 8)."


def wording_faults(text: str, names: set[str]) -> Iterator[str]:
    """Names in angle brackets that are no concept's, and placeholders that nobody filled in."""
    for name in bracketed_names(text):
        if name not in names:
            yield f"<{name}> is no concept of this group; its concepts are {', '.join(sorted(names))}."
    for placeholder in placeholders(text):
        yield f"{placeholder!r} is a placeholder that was not filled in."


def accepted_fault(accepted: Sequence[str], event: date, since: date | None) -> str | None:
    """The first accepted answer that says another day, or another number of days, than what is derived; or None."""
    wrong = (one for one in accepted if contradicts(one, event, since))
    return next((f"{one!r} is accepted, but says something else than its derivation." for one in wrong), None)


def temporal_fault(answer: str, event: date, since: date | None) -> str | None:
    """Why an answer is not what follows from the dates that it is derived from, or None."""
    try:
        right = temporal_answer(event, since)
    except ValueError as error:
        return str(error)
    if answers_the_same(answer, event, since):
        return None
    return f"the answer is {answer!r}, but by its derivation it must be {right!r}."


def untold_fault(answer: str, told: Sequence[str]) -> str | None:
    """Why the answer to a question with a photo may be had from the photo alone: the turns do not say it; or None."""
    if set(words_of(answer)) - {"a", "an", "the"} <= {word for text in told for word in words_of(text)}:
        return None
    return f"its evidence does not say {answer!r}, so that its photo alone might tell."


def _session_faults(group: GeneratedGroup, request: GroupRequest) -> Iterator[str]:
    wanted, made = len(request.placement.times), len(group.sessions)
    if made != wanted or made not in SESSIONS_PER_GROUP:
        yield f"There are {made} sessions; write exactly {wanted}, one for each date."
    names = {concept.name for concept in request.group.concepts}
    said: dict[str, str] = {}
    for number, session in enumerate(group.sessions, start=1):
        if len(session) not in TURNS_PER_SESSION:
            least, most = min(TURNS_PER_SESSION), max(TURNS_PER_SESSION)
            yield f"Session {number} has {len(session)} turns; a session has {least} to {most}."
        for speaker in request.speakers:
            if session and not any(turn.speaker == speaker for turn in session):
                yield f"Session {number}: {speaker} says nothing; both speakers must talk in every session."
        for turn_number, turn in enumerate(session, start=1):
            place = f"Session {number}, turn {turn_number}"
            yield from (f"{place}: {fault}" for fault in _turn_faults(turn, request, names))
            for sentence in sentences(turn.text):
                if sentence in said:
                    yield f'{place}: the sentence "{sentence}" was said before ({said[sentence]}); say it otherwise.'
                said.setdefault(sentence, place.lower())
    first = group.sessions[0][0].text if group.sessions and group.sessions[0] else ""
    missing = [name for name in sorted(names) if name not in bracketed_names(first)]
    if missing:
        yield f"The first message must name every concept in angle brackets; missing: {_bracketed(missing)}."


def _turn_faults(turn: GeneratedTurn, request: GroupRequest, names: set[str]) -> Iterator[str]:
    if turn.speaker not in request.speakers:
        yield f"the speaker is {turn.speaker!r}; the speakers are {' and '.join(request.speakers)}."
    if not words_of(turn.text):
        yield "the text is empty."
    yield from wording_faults(turn.text, names)


def _photo_faults(group: GeneratedGroup, request: GroupRequest) -> Iterator[str]:
    chosen = {photo.path: concept for concept in request.group.concepts for photo in concept.photos}
    shown: set[Path] = set()
    for number, session in enumerate(group.sessions, start=1):
        for turn_number, turn in enumerate(session, start=1):
            place = f"Session {number}, turn {turn_number}"
            shown.update(turn.photos)
            if len(set(turn.photos)) < len(turn.photos):
                yield f"{place} shows the same photo twice."
            yield from (
                f"{place} shows {photo.name}, which was not chosen." for photo in turn.photos if photo not in chosen
            )
    for photo, concept in chosen.items():
        if photo not in shown:
            yield f"The photo {photo.name} of {concept.name} is shown in no turn; each chosen photo must be shown."


def _question_faults(group: GeneratedGroup, request: GroupRequest) -> Iterator[str]:
    fault = ratio_fault(Counter(question.category for question in group.questions))
    if fault:
        yield fault
    names = {concept.name for concept in request.group.concepts}
    asked: dict[tuple[object, ...], int] = {}
    for number, question in enumerate(group.questions, start=1):
        place = f"Question {number} ({question.text!r})"
        if question.category not in (*QUESTION_RATIO, VISUAL_RETRIEVAL):
            yield f"{place} has category {question.category}; the categories are 6, 7, 8, 9 and 10."
        if not words_of(question.text):
            yield f"{place} has no text."
        same = (*words_of(question.text), *question.photos)
        if same in asked:
            yield f"{place} was asked before, as question {asked[same]}."
        asked.setdefault(same, number)
        for text in (question.text, question.answer):
            yield from (f"{place}: {fault}" for fault in wording_faults(text, names))
        yield from (f"{place}: {fault}" for fault in _answer_faults(question))
        yield from (f"{place}: {fault}" for fault in _evidence_faults(question, group, request))
        if question.category == TEMPORAL or question.derivation is not None:
            yield from (f"{place}: {fault}" for fault in _derivation_faults(question, group, request))


def _answer_faults(question: GeneratedQuestion) -> Iterator[str]:
    if not words_of(question.answer):
        yield "the answer is empty."
    if not all(map(words_of, question.accepted)):
        yield "an accepted answer is empty."
    if fault := too_little_fault(question.accepted):
        yield fault
    given = answer_given_away(question.text, (question.answer, *question.accepted))
    if given:
        yield f"the answer {given!r} stands in the question."
    if question.category == VISUAL_RETRIEVAL:
        options = options_of(question.text)
        if options and not any(words_of(question.answer) == words_of(option) for option in options):
            yield f"the answer {question.answer!r} is neither of its two options."


def _evidence_faults(question: GeneratedQuestion, group: GeneratedGroup, request: GroupRequest) -> Iterator[str]:
    if not question.evidence:
        yield "it names no evidence."
    if len(set(question.evidence)) < len(question.evidence):
        yield "it names the same evidence twice."
    turns = []
    for place in question.evidence:
        turn = _turn_at(group, place)
        if turn is None:
            yield f"the evidence names session {place.session}, turn {place.turn}, which does not exist."
        else:
            turns.append(turn)
    if question.photos or question.category == VISUAL_RETRIEVAL:
        yield from _retrieval_faults(question, turns, group, request)
    if turns and not any(turn.photos for turn in turns):
        texts = (question.text, *(turn.text for turn in turns))
        if not any(_speaks_of(text, concept) for text in texts for concept in request.group.concepts):
            yield "neither it nor its evidence is about a concept that the photos show."


def _retrieval_faults(
    question: GeneratedQuestion, turns: Sequence[GeneratedTurn], group: GeneratedGroup, request: GroupRequest
) -> Iterator[str]:
    """With a photo it is asked of a concept that only the photo names, and without one of a photo that was shown."""
    names = [concept.name for concept in request.group.concepts if holds(question.text, concept.name)]
    seen = {photo for turn in turns for photo in turn.photos}
    if not question.photos:
        if not names:
            yield "a question of category 10 without a photo must name its concept."
        if turns and not seen:
            yield "no turn of its evidence shows a photo."
        return
    if names:
        yield f"it names {names[0]}; what a question with a photo is about, only its photo may tell."
    for photo in question.photos:
        if any(photo in turn.photos for session in group.sessions for turn in session):
            yield f"its photo {photo.name} is shown in the sessions; ask with one that is not."
            continue
        concept = next((one for one in request.group.concepts if photo in (own.path for own in one.unseen)), None)
        if concept is None:
            yield f"its photo {photo.name} is no unseen photo of a concept of the group."
            continue
        if not seen & {own.path for own in concept.photos}:
            yield f"no turn of its evidence shows {concept.name}, of whom its photo is."
        visible = (*(own.setting for own in concept.unseen if own.path == photo), *_looks(concept))
        if words_of(question.answer) in map(words_of, filter(None, visible)):
            yield f"the answer {question.answer!r} can be seen on its photo; ask what only the sessions tell."
    if question.derivation is None and (fault := untold_fault(question.answer, [turn.text for turn in turns])):
        yield fault


def _looks(concept: PersonalConcept) -> Iterator[str]:
    for attribute in concept.attributes:
        yield from (attribute.value, *attribute.accepted)


def _derivation_faults(question: GeneratedQuestion, group: GeneratedGroup, request: GroupRequest) -> Iterator[str]:
    derivation = question.derivation
    if derivation is None:
        yield "a temporal question needs its derivation: the turn and the words that give the date."
        return
    days: list[date] = []
    events = (derivation.event,) if derivation.since is None else (derivation.event, derivation.since)
    for event in events:
        try:
            days.append(_day_of(event, group, request))
        except ValueError as error:
            yield str(error)
            return
        if event.place not in question.evidence:
            yield f"its date follows from session {event.place.session}, turn {event.place.turn}, not in its evidence."
    since = days[1] if derivation.since is not None else None
    faults = (temporal_fault(question.answer, days[0], since), accepted_fault(question.accepted, days[0], since))
    yield from (fault for fault in faults if fault)


def _day_of(event: DatedEvent, group: GeneratedGroup, request: GroupRequest) -> date:
    place, times = event.place, request.placement.times
    turn = _turn_at(group, place)
    if turn is None or place.session > len(times):
        raise ValueError(f"its date follows from session {place.session}, turn {place.turn}, which does not exist.")
    if not stands_in(event.expression, turn.text):
        raise ValueError(f"session {place.session}, turn {place.turn} does not say {event.expression!r}.")
    return resolve(event.expression, times[place.session - 1].date())


def _turn_at(group: GeneratedGroup, place: TurnPlace) -> GeneratedTurn | None:
    if not 1 <= place.session <= len(group.sessions):
        return None
    session = group.sessions[place.session - 1]
    return session[place.turn - 1] if 1 <= place.turn <= len(session) else None


def _speaks_of(text: str, concept: PersonalConcept) -> bool:
    return holds(text, concept.name) or (bool(concept.class_name) and holds(text, concept.class_name))


def _bracketed(names: list[str]) -> str:
    return ", ".join(f"<{name}>" for name in names)
