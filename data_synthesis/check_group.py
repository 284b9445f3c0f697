"""What is wrong with the sessions and questions of one group, in sentences that their writer can act on."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from pathlib import Path

from data_synthesis.accepted import too_little_fault
from data_synthesis.claims import claim_faults
from data_synthesis.dates import answers_the_same, contradicts, resolve, says_no_day, stands_in, temporal_answer
from data_synthesis.group import (
    LEAST_DELIVERED,
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
from data_synthesis.premises import premise_faults
from data_synthesis.seen import Sight, in_words
from data_synthesis.wording import (
    answer_given_away,
    bracketed_names,
    holds,
    notes,
    options_of,
    placeholders,
    sentences,
    words_of,
)

TEMPORAL = 7


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
    elsewhere: Sequence[str] = (),
) -> list[GroupFault]:
    """Every fault of a group; an empty list means that it may go into the benchmark.

    `turn_name` says how the sentences name a turn; `elsewhere` are the texts of the dialogue's other turns.
    """
    check = _GroupCheck(group, request, turn_name, elsewhere)
    return [*check.session_faults(), *check.photo_faults(), *check.question_faults()]


def keeps_the_rules(group: GeneratedGroup, request: GroupRequest) -> Callable[[GeneratedQuestion], bool]:
    """Whether a question that might be asked of a group breaks no rule."""
    check = _GroupCheck(group, request, in_words)
    return lambda question: next(check.faults_of_question(question), None) is None


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
    counts = {category: categories[category] for category in QUESTION_RATIO}
    if group.retrieval_only:
        return "There is no question of category 10, and of others none may be." if set(categories) != {10} else None
    multiple = max(counts[8] + group.dropped.count(8), 1)
    asked_for = {category: share * multiple for category, share in QUESTION_RATIO.items()}
    if group.dropped and sum(counts.values()) < LEAST_DELIVERED * sum(asked_for.values()):
        return f"There are {sum(counts.values())} questions of categories 6 to 9; too many of them were left out."
    if {category: count + group.dropped.count(category) for category, count in counts.items()} == asked_for:
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
    for note in notes(text):
        yield f"{note!r} is a note about a file, which nobody who talks or answers can know."


def accepted_fault(accepted: Sequence[str], event: date, since: date | None) -> str | None:
    """The first accepted answer that says another day, or another number of days, than what is derived; or None."""
    for one in accepted:
        if contradicts(one, event, since):
            return f"{one!r} is accepted, but says something else than its derivation."
        if says_no_day(one, event, since):
            return f"{one!r} is accepted, but does not say the day."
    return None


def temporal_fault(answer: str, event: date, since: date | None) -> str | None:
    """Why an answer is not what follows from the dates that it is derived from, or None."""
    try:
        right = temporal_answer(event, since)
    except ValueError as error:
        return str(error)
    if answers_the_same(answer, event, since):
        return None
    return f"the answer is {answer!r}, but by its derivation it must be {right!r}."


def _about(rule: str, sentences_found: Iterable[str | None]) -> Iterator[tuple[str, str]]:
    yield from ((rule, sentence) for sentence in sentences_found if sentence)


@dataclass(frozen=True)
class _GroupCheck:
    group: GeneratedGroup
    request: GroupRequest
    turn_name: Callable[[TurnPlace], str]
    elsewhere: Sequence[str] = ()

    @cached_property
    def sight(self) -> Sight:
        return Sight(self.group, self.request, self.turn_name, self.elsewhere)

    @property
    def names(self) -> set[str]:
        return {concept.name for concept in self.request.group.concepts}

    # Sessions and photos

    def session_faults(self) -> Iterator[GroupFault]:
        wanted, made = len(self.request.placement.times), len(self.group.sessions)
        if made != wanted or made not in SESSIONS_PER_GROUP:
            yield GroupFault("groups", f"There are {made} sessions; write exactly {wanted}, one for each date.")
        said: dict[str, TurnPlace] = {}
        for number, session in enumerate(self.group.sessions, start=1):
            for rule, sentence in self._length_faults(session):
                yield GroupFault(rule, sentence, TurnPlace(number, 0), subject=f"Session {number}")
            for turn_number, turn in enumerate(session, start=1):
                place = TurnPlace(number, turn_number)
                for rule, sentence in self._turn_faults(turn, place, said):
                    yield GroupFault(rule, sentence, place, subject=in_words(place).capitalize())
        for place, sentence in claim_faults(self.sight):
            yield GroupFault("truth", sentence, place, subject=in_words(place).capitalize())
        first = self.group.sessions[0][0].text if self.group.sessions and self.group.sessions[0] else ""
        missing = [name for name in sorted(self.names) if name not in bracketed_names(first)]
        if missing:
            told = ", ".join(f"<{name}>" for name in missing)
            sentence = f"The first message must name every concept in angle brackets; missing: {told}."
            yield GroupFault("names", sentence, TurnPlace(1, 1))

    def _length_faults(self, session: Sequence[GeneratedTurn]) -> Iterator[tuple[str, str]]:
        if len(session) not in TURNS_PER_SESSION:
            least, most = min(TURNS_PER_SESSION), max(TURNS_PER_SESSION)
            yield "groups", f"it has {len(session)} turns; a session has {least} to {most}."
        for speaker in self.request.speakers:
            if session and not any(turn.speaker == speaker for turn in session):
                yield "names", f"{speaker} says nothing in it; both speakers must talk in every session."

    def _turn_faults(
        self, turn: GeneratedTurn, place: TurnPlace, said: dict[str, TurnPlace]
    ) -> Iterator[tuple[str, str]]:
        """`said` are the sentences of the turns before, to which those of this turn are added."""
        if turn.speaker not in self.request.speakers:
            yield "names", f"the speaker is {turn.speaker!r}; the speakers are {' and '.join(self.request.speakers)}."
        if not words_of(turn.text):
            yield "schema", "the text is empty."
        yield from _about("schema", [_unwritable(turn.text)])
        yield from _about("names", wording_faults(turn.text, self.names))
        if place != TurnPlace(1, 1) and (again := self.names & set(bracketed_names(turn.text))):
            yield "names", f"<{min(again)}> stands in angle brackets, as only in the first message."
        for sentence in sentences(turn.text):
            if sentence in said:
                before = self.turn_name(said[sentence])
                yield "duplicates", f'the sentence "{sentence}" was said before ({before}); say it otherwise.'
            said.setdefault(sentence, place)
        chosen = {photo.path for concept in self.request.group.concepts for photo in concept.photos}
        if len(set(turn.photos)) < len(turn.photos):
            yield "photos", "it shows the same photo twice."
        yield from _about(
            "photos", (f"it shows {photo.name}, which was not chosen." for photo in turn.photos if photo not in chosen)
        )

    def photo_faults(self) -> Iterator[GroupFault]:
        for concept in self.request.group.concepts:
            for photo in concept.photos:
                if photo.path not in self._shown:
                    sentence = (
                        f"The photo {photo.path.name} of {concept.name} is shown in no turn; each chosen photo must be."
                    )
                    yield GroupFault("photos", sentence)

    @property
    def _shown(self) -> set[Path]:
        return {photo for session in self.group.sessions for turn in session for photo in turn.photos}

    # Questions

    def question_faults(self) -> Iterator[GroupFault]:
        if fault := ratio_fault(self.group):
            yield GroupFault("ratio", fault)
        asked: dict[tuple[object, ...], int] = {}
        for number, question in enumerate(self.group.questions, start=1):
            found = [*self.faults_of_question(question)]
            same = (*words_of(question.text), *question.photos)
            if same in asked:
                found.append(("duplicates", f"it was asked before, as question {asked[same]}."))
            asked.setdefault(same, number)
            for rule, sentence in found:
                subject = f"Question {number} ({question.text!r})"
                yield GroupFault(rule, sentence, question=number, subject=subject)

    def faults_of_question(self, question: GeneratedQuestion) -> Iterator[tuple[str, str]]:
        if question.category not in (*QUESTION_RATIO, VISUAL_RETRIEVAL):
            yield "schema", f"it has category {question.category}; the categories are 6, 7, 8, 9 and 10."
        if not words_of(question.text):
            yield "schema", "it has no text."
        yield from _about("schema", map(_unwritable, (question.text, question.answer, *question.accepted)))
        for text in (question.text, question.answer, *question.accepted):
            yield from _about("names", wording_faults(text, self.names))
        yield from _about("answer", _answer_faults(question))
        yield from _about("evidence", self._evidence_faults(question))
        if question.photos or question.category == VISUAL_RETRIEVAL:
            yield from self._retrieval_faults(question)
        if question.category == TEMPORAL or question.derivation is not None:
            yield from _about("temporal", self._derivation_faults(question))
        yield from premise_faults(question, self.sight)

    def _turns(self, question: GeneratedQuestion) -> list[GeneratedTurn]:
        return [turn for turn in map(self._turn_at, question.evidence) if turn is not None]

    def _turn_at(self, place: TurnPlace) -> GeneratedTurn | None:
        if not 1 <= place.session <= len(self.group.sessions):
            return None
        session = self.group.sessions[place.session - 1]
        return session[place.turn - 1] if 1 <= place.turn <= len(session) else None

    def _evidence_faults(self, question: GeneratedQuestion) -> Iterator[str]:
        if not question.evidence:
            yield "it names no evidence."
        if len(set(question.evidence)) < len(question.evidence):
            yield "it names the same evidence twice."
        for place in question.evidence:
            if self._turn_at(place) is None:
                yield f"the evidence names {self.turn_name(place)}, which does not exist in the group's sessions."
        turns = self._turns(question)
        if turns and not any(turn.photos for turn in turns):
            texts = (question.text, *(turn.text for turn in turns))
            if not any(_speaks_of(text, concept) for text in texts for concept in self.request.group.concepts):
                yield "neither it nor its evidence is about a concept that the photos show."

    def _retrieval_faults(self, question: GeneratedQuestion) -> Iterator[tuple[str, str]]:
        """With a photo it is asked of a concept that only the photo names, and without one of a photo that was shown."""
        named = [name for name in sorted(self.names) if holds(question.text, name)]
        turns = self._turns(question)
        seen = {photo for turn in turns for photo in turn.photos}
        if not question.photos:
            if not named:
                yield "names", "a question of category 10 without a photo must name its concept."
            if turns and not seen:
                yield "evidence", "it comes without a photo, and no turn of its evidence shows a photo."
            return
        if named:
            yield "names", f"it names {named[0]}; what a question with a photo is about, only its photo may tell."
        for photo in question.photos:
            concept = next(
                (one for one in self.request.group.concepts if photo in (own.path for own in one.unseen)), None
            )
            if photo in self._shown:
                yield "photos", f"its photo {photo.name} is shown in the sessions; ask with one that is not."
            elif concept is None:
                yield "photos", f"its photo {photo.name} is no unseen photo of a concept of the group."
            elif not seen & {own.path for own in concept.photos}:
                yield "evidence", f"no turn of its evidence shows {concept.name}, of whom its photo is."

    def _derivation_faults(self, question: GeneratedQuestion) -> Iterator[str]:
        derivation = question.derivation
        if derivation is None:
            yield "a temporal question needs its derivation: the turn and the words that give the date."
            return
        days: list[date] = []
        for event in (derivation.event,) if derivation.since is None else (derivation.event, derivation.since):
            try:
                days.append(self._day_of(event))
            except ValueError as error:
                yield str(error)
                return
            if event.place not in question.evidence:
                yield f"its date follows from {self.turn_name(event.place)}, not in its evidence."
        since = days[1] if derivation.since is not None else None
        faults = (temporal_fault(question.answer, days[0], since), accepted_fault(question.accepted, days[0], since))
        yield from (fault for fault in faults if fault)

    def _day_of(self, event: DatedEvent) -> date:
        place, times = event.place, self.request.placement.times
        turn = self._turn_at(place)
        if turn is None or place.session > len(times):
            raise ValueError(f"its date follows from {self.turn_name(place)}, which does not exist.")
        if not stands_in(event.expression, turn.text):
            raise ValueError(f"{self.turn_name(place)} does not say {event.expression!r}.")
        return resolve(event.expression, times[place.session - 1].date())


def _unwritable(text: str) -> str | None:
    """Half a surrogate pair: a model's JSON may hold one, and no file can."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"there is a character that no file can hold: {error.object[error.start]!a}."
    return None


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


def _speaks_of(text: str, concept: PersonalConcept) -> bool:
    return holds(text, concept.name) or (bool(concept.class_name) and holds(text, concept.class_name))
