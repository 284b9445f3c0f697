"""What is wrong with the sessions and questions of one group, in sentences that their writer can act on."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date

from data_synthesis.accepted import too_little_fault
from data_synthesis.claims import claim_faults
from data_synthesis.dates import resolve, right_answers, same_answer, stands_in
from data_synthesis.group import (
    LEAST_DELIVERED,
    QUESTION_RATIO,
    SESSIONS_PER_GROUP,
    TURNS_PER_SESSION,
    VISUAL_RETRIEVAL,
    GeneratedGroup,
    GeneratedQuestion,
    GeneratedTurn,
    GroupRequest,
    TurnPlace,
)
from data_synthesis.premises import premise_faults
from data_synthesis.seen import Sight, in_words
from data_synthesis.wording import (
    answer_given_away,
    bracketed_names,
    content_of,
    holds,
    leftovers,
    notes,
    options_of,
    placeholders,
    sentences,
    words_of,
)

TEMPORAL = 7
# What is done by writing a turn; anything else may have been done on another day, which the turn then says.
_SAYING = re.compile(
    r"\b(?:shar(?:e|ed|ing)|sen[dt]|show(?:ed|n)?|posted|tell|told|mention(?:ed)?|sa(?:y|id)|ask(?:ed)?|talk(?:ed)?|wr[io]te|"
    r"announced?|thank(?:ed)?|complain(?:ed)?)\b",
    re.I,
)
Found = Iterator[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class GroupFault:
    """A rule that a group breaks. `place` is the turn (turn 0: the whole session), `question` its number from 1."""

    rule: str
    sentence: str
    place: TurnPlace | None = None
    question: int | None = None
    subject: str = ""

    def __str__(self) -> str:
        """The sentence with its place in the group, for whoever wrote the group."""
        return f"{self.subject}: {self.sentence}" if self.subject else self.sentence


def faults_of(
    group: GeneratedGroup,
    request: GroupRequest,
    turn_name: Callable[[TurnPlace], str] = in_words,
) -> list[GroupFault]:
    """Every fault of a group; an empty list means that it may go into the benchmark. `turn_name` says how the sentences
    name a turn."""
    sight = Sight(group, request, turn_name)
    faults = [GroupFault(rule, told) for rule, told in _group_faults(sight)]
    for number, session in enumerate(group.sessions, start=1):
        place = TurnPlace(number, 0)
        faults += [GroupFault(*one, place, subject=f"Session {number}") for one in _session_faults(session, sight)]
    for place in sight.turns:
        faults += [GroupFault(*one, place, subject=in_words(place).capitalize()) for one in _turn_faults(place, sight)]
    for place, told in claim_faults(sight):
        faults.append(GroupFault("truth", told, place, subject=in_words(place).capitalize()))
    for number, question in enumerate(group.questions, start=1):
        found = (*_question_faults(question, sight),)
        same = (before for before, one in enumerate(group.questions[: number - 1], start=1) if _same(one, question))
        if before := next(same, None):
            found += (("duplicates", f"it was asked before, as question {before}."),)
        subject = f"Question {number} ({question.text!r})"
        faults += [GroupFault(*one, question=number, subject=subject) for one in found]
    return faults


def _same(one: GeneratedQuestion, other: GeneratedQuestion) -> bool:
    """Whether one asks what the other asks, be it with a word more."""
    words, others = content_of(one.text), content_of(other.text)
    alike = (words <= others or others <= words) and (one.answer, one.evidence) == (other.answer, other.evidence)
    return one.photos == other.photos and (alike or words_of(one.text) == words_of(other.text))


def keeps_the_rules(sight: Sight) -> Callable[[GeneratedQuestion], bool]:
    """Whether a question that might be asked of a group breaks no rule."""
    return lambda question: next(_question_faults(question, sight), None) is None


def delivered(group: GeneratedGroup, request: GroupRequest) -> tuple[GeneratedGroup, list[GroupFault]]:
    """The group without the questions that break a rule, which are noted, and the faults that it has even so."""
    faults = faults_of(group, request)
    faulty = {fault.question for fault in faults if fault.question is not None}
    if not faulty:
        return group, faults
    numbered = list(enumerate(group.questions, start=1))
    left_out = [question.category for number, question in numbered if number in faulty]
    group = replace(
        group,
        questions=tuple(question for number, question in numbered if number not in faulty),
        dropped=(*group.dropped, *(category for category in left_out if category in QUESTION_RATIO)),
        notes={**group.notes, "left out": [str(fault) for fault in faults if fault.question is not None]},
    )
    return group, faults_of(group, request)


def ratio_fault(group: GeneratedGroup) -> str | None:
    """Why the categories 6 to 9 are not in the ratio 2:3:1:4, those left out among them, or None. 10 stands apart."""
    categories = Counter(question.category for question in group.questions)
    if group.retrieval_only:
        return "There is no question of category 10, and of others none may be." if set(categories) != {10} else None
    counts = {category: categories[category] for category in QUESTION_RATIO}
    asked = {category: count + group.dropped.count(category) for category, count in counts.items()}
    multiple = max(asked[8], 1)
    if group.dropped and sum(counts.values()) < LEAST_DELIVERED * multiple * sum(QUESTION_RATIO.values()):
        return f"There are {sum(counts.values())} questions of categories 6 to 9; too many of them were left out."
    if asked == {category: share * multiple for category, share in QUESTION_RATIO.items()}:
        return None
    told = ", ".join(f"{count} of category {category}" for category, count in counts.items())
    return f"The questions are {told}; the ratio of categories 6, 7, 8, 9 must be 2:3:1:4 (for 20: 4, 6, 2, 8)."


# The group, its sessions and its turns


def _group_faults(sight: Sight) -> Found:
    wanted, made = len(sight.request.placement.times), len(sight.group.sessions)
    if made != wanted or made not in SESSIONS_PER_GROUP:
        yield "groups", f"There are {made} sessions; write exactly {wanted}, one for each date."
    for concept in sight.concepts:
        for photo in concept.photos:
            if photo.path not in sight.shown:
                told = f"The photo {photo.path.name} of {concept.name} is shown in no turn; each chosen photo must be."
                yield "photos", told
    if fault := ratio_fault(sight.group):
        yield "ratio", fault


def _session_faults(session: Sequence[GeneratedTurn], sight: Sight) -> Found:
    if len(session) not in TURNS_PER_SESSION:
        least, most = min(TURNS_PER_SESSION), max(TURNS_PER_SESSION)
        yield "groups", f"it has {len(session)} turns; a session has {least} to {most}."
    for speaker in sight.request.speakers:
        if session and not any(turn.speaker == speaker for turn in session):
            yield "names", f"{speaker} says nothing in it; both speakers must talk in every session."


def _turn_faults(place: TurnPlace, sight: Sight) -> Found:
    turn, speakers, names = sight.turns[place], sight.request.speakers, {one.name for one in sight.concepts}
    bracketed = set(bracketed_names(turn.text)) & names
    if turn.speaker not in speakers:
        yield "names", f"the speaker is {turn.speaker!r}; the speakers are {' and '.join(speakers)}."
    if not words_of(turn.text):
        yield "schema", "the text is empty."
    if re.match(rf"\W*(?:{'|'.join(map(re.escape, speakers))}) *:", turn.text):
        yield "names", f"its text begins with the name of a speaker, {turn.text.split(':')[0]!r}."
    if place.turn > 1 and sight.turns[TurnPlace(place.session, place.turn - 1)].speaker == turn.speaker:
        yield "names", f"{turn.speaker} speaks twice in a row; the two take turns."
    yield from _wording_faults((turn.text,), names)
    if place != TurnPlace(1, 1):
        if bracketed:
            yield "names", f"<{min(bracketed)}> stands in angle brackets, as only in the first message."
    elif missing := ", ".join(f"<{name}>" for name in sorted(names - bracketed)):
        yield "names", f"The first message must name every concept in angle brackets; missing: {missing}."
    said = sentences(turn.text)
    for sentence in said:
        if sight.first_said[sentence] != place or said.count(sentence) > 1:
            before = sight.turn_name(sight.first_said[sentence])
            yield "duplicates", f'the sentence "{sentence}" was said before ({before}); say it otherwise.'
        elif sentence in sight.said_elsewhere:
            yield "duplicates", f'the sentence "{sentence}" is said elsewhere in the dialogue; say it otherwise.'
    if len(set(turn.photos)) < len(turn.photos):
        yield "photos", "it shows the same photo twice."
    for photo in turn.photos:
        if photo not in sight.owners:
            yield "photos", f"it shows {photo.name}, which was not chosen."


def _wording_faults(texts: Iterable[str], names: set[str]) -> Found:
    """Names in angle brackets that are no concept's, what nobody filled in, and what no file can hold."""
    for text in texts:
        for name in bracketed_names(text):
            if name not in names:
                yield "names", f"<{name}> is no concept of this group; its concepts are {', '.join(sorted(names))}."
        for placeholder in placeholders(text):
            yield "names", f"{placeholder!r} is a placeholder that was not filled in."
        for note in notes(text):
            yield "names", f"{note!r} is a note about a file, which nobody who talks or answers can know."
        for left in leftovers(text):
            yield "names", f"{left!r} is nothing that people type who talk to each other."
        if half := re.search("[\ud800-\udfff]", text):  # half a surrogate pair: a model's JSON may hold one
            yield "schema", f"there is a character that no file can hold: {half[0]!a}."


# Questions


def _question_faults(question: GeneratedQuestion, sight: Sight) -> Found:
    if question.category not in (*QUESTION_RATIO, VISUAL_RETRIEVAL):
        yield "schema", f"it has category {question.category}; the categories are 6, 7, 8, 9 and 10."
    if not words_of(question.text):
        yield "schema", "it has no text."
    answers = (question.answer, *question.accepted)
    yield from _wording_faults((question.text, *answers), {one.name for one in sight.concepts})
    yield from (("answer", told) for told in _answer_faults(question))
    yield from (("evidence", told) for told in _evidence_faults(question, sight))
    if question.photos or question.category == VISUAL_RETRIEVAL:
        yield from _retrieval_faults(question, sight)
    if question.category == TEMPORAL or question.derivation is not None:
        yield from (("temporal", told) for told in _derivation_faults(question, sight))
    yield from premise_faults(question, sight)


def _answer_faults(question: GeneratedQuestion) -> Iterator[str]:
    if not words_of(question.answer):
        yield "the answer is empty."
    if not all(map(words_of, question.accepted)):
        yield "an accepted answer is empty."
    if fault := too_little_fault(question.accepted, question.text):
        yield fault
    if given := answer_given_away(question.text, (question.answer, *question.accepted)):
        yield f"the answer {given!r} stands in the question."
    options = options_of(question.text) if question.category == VISUAL_RETRIEVAL else None
    if options and words_of(question.answer) not in map(words_of, options):
        yield f"the answer {question.answer!r} is neither of its two options."


def _evidence_faults(question: GeneratedQuestion, sight: Sight) -> Iterator[str]:
    if not question.evidence:
        yield "it names no evidence."
    if len(set(question.evidence)) < len(question.evidence):
        yield "it names the same evidence twice."
    for place in question.evidence:
        if place not in sight.turns:
            yield f"the evidence names {sight.turn_name(place)}, which does not exist in the group's sessions."
    turns = [sight.turns[place] for place in sight.places(question)]
    if turns and not any(turn.photos for turn in turns):
        names = [name for one in sight.concepts for name in (one.name, one.class_name) if name]
        if not any(holds(text, name) for text in (question.text, *(turn.text for turn in turns)) for name in names):
            yield "neither it nor its evidence is about a concept that the photos show."


def _retrieval_faults(question: GeneratedQuestion, sight: Sight) -> Found:
    """With a photo it is asked of a concept that only the photo names, and without one of a photo that was shown."""
    named, places = sight.named(question), sight.places(question)
    seen = {photo for place in places for photo in sight.turns[place].photos}
    if not question.photos:
        if not named:
            yield "names", "a question of category 10 without a photo must name its concept."
        if places and not seen:
            yield "evidence", "it comes without a photo, and no turn of its evidence shows a photo."
        return
    if named:
        yield "names", f"it names {named[0].name}; what a question with a photo is about, only its photo may tell."
    for photo in question.photos:
        concept = next((one for one in sight.concepts if photo in (own.path for own in one.unseen)), None)
        if photo in sight.shown:
            told = f"which {sight.turn_name(sight.shown[photo][0])} shows; only a photo that the dialogue never shows"
            yield "photos", f"it comes with {photo.name}, {told} asks memory."
        elif concept is None:
            yield "photos", f"its photo {photo.name} is no unseen photo of a concept of the group."
        elif not seen & {own.path for own in concept.photos}:
            yield "evidence", f"no turn of its evidence shows {concept.name}, of whom its photo is."


def _derivation_faults(question: GeneratedQuestion, sight: Sight) -> Iterator[str]:
    """Why its answers are not those that follow from the dates of its derivation."""
    if question.derivation is None:
        yield "a temporal question needs its derivation: the turn and the words that give the date."
        return
    days, shown = list[date](), {place for _, _, place in sight.shown_by(question)}
    for event in filter(None, (question.derivation.event, question.derivation.since)):
        said_on, name = sight.day(event.place), sight.turn_name(event.place)
        if said_on is None or event.place not in sight.turns:
            yield f"its date follows from {name}, which does not exist."
            return
        if not stands_in(event.expression, sight.turns[event.place].text):
            yield f"{name} does not say {event.expression!r}."
            return
        if event.place not in question.evidence:
            yield f"its date follows from {name}, not in its evidence."
        if event.expression and event.place in shown and _SAYING.search(question.text) and question.photos == ():
            yield f"what is shared in {name} is shared on its own day, not {event.expression!r}."
        told = {expression: day for expression, day in sight.dates_told(event.place) if day <= said_on and expression}
        if not event.expression and told and said_on not in told.values() and not _SAYING.search(question.text):
            yield f"{name} says {next(iter(told))!r}; of its own day is only what is said or shown in it."
        try:
            days.append(resolve(event.expression, said_on))
        except ValueError as error:
            yield str(error)
            return
    try:
        right = right_answers(days[0], days[1] if len(days) > 1 else None)
    except ValueError as error:
        yield str(error)
        return
    dated = [form for form in right if len(days) > 1 or f"{days[0].year}" in form]
    if not any(same_answer(question.answer, form) for form in dated):
        yield f"the answer is {question.answer!r}, but by its derivation it must be {right[0]!r}."
    for one in question.accepted:
        if not any(same_answer(one, form) for form in right):
            yield f"{one!r} is accepted, but says something else than {right[0]!r}."
