"""Reading a group from the arguments of a model's call. Every fault is a sentence that the model can act on."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from data_synthesis.accepted import says_too_little
from data_synthesis.check_group import GroupFault, delivered, faults_of
from data_synthesis.dates import resolve, right_answers
from data_synthesis.group import (
    TEMPORAL,
    DatedEvent,
    Derivation,
    GeneratedGroup,
    GeneratedQuestion,
    GeneratedTurn,
    GroupRequest,
    TurnPlace,
)
from data_synthesis.group_prompt import QUESTIONS, photo_ids, with_ids
from data_synthesis.group_view import in_words
from data_synthesis.photo_facts import facts_of
from data_synthesis.wording import answer_given_away, holds, words_of

_MOST_TURNS = 1000  # far too many already; a longer answer is not checked turn by turn
_LONGEST_TEXT = 2000  # characters, for every text


class AnswerFaults(Exception):
    """The faults of an answer that is not a valid group.

    `remainder` is the group without the faulty questions, if that is valid. `mendable` is whether its sessions and
    questions can be changed one by one.
    """

    def __init__(self, faults: list[str], remainder: GeneratedGroup | None = None, *, mendable: bool = False) -> None:
        super().__init__(" ".join(faults))
        self.faults = faults
        self.remainder = remainder
        self.mendable = mendable


def _whole(text: str) -> str:
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError("it holds half a character, as of a broken emoji; leave it out")
    if any(letter < " " and letter not in "\n\r\t" for letter in text):
        raise ValueError("it holds a control character; leave it out")
    return text


_Text = Annotated[str, AfterValidator(_whole), Field(max_length=_LONGEST_TEXT)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Turn(_Part):
    id: _Text
    speaker: _Text
    text: _Text
    photos: list[_Text] | None = None


class _Session(_Part):
    turns: list[_Turn]


class _Event(_Part):
    turn: _Text
    expression: _Text = ""


class _Derivation(_Part):
    event: _Event
    since: _Event | None = None


class _Question(_Part):
    category: Literal[6, 7, 8, 9]
    question: _Text
    answer: _Text
    accepted: list[_Text] | None = None
    evidence: list[_Text]
    derivation: _Derivation | None = None


class _Answer(_Part):
    sessions: list[_Session]
    questions: list[_Question]


class _NewSession(_Session):
    number: int


class _NewQuestion(_Question):
    number: int


class _Change(_Part):
    turns: list[_Turn] = []
    sessions: list[_NewSession]
    questions: list[_NewQuestion]


_P = TypeVar("_P", _Answer, _Change)


def read_group(arguments: Mapping[str, Any], request: GroupRequest) -> GeneratedGroup:
    """The valid group that an answer holds. Raises AnswerFaults."""
    answer = _parsed(_Answer, arguments)
    if sum(len(session.turns) for session in answer.sessions) > _MOST_TURNS:
        raise AnswerFaults([f"There are more than {_MOST_TURNS} turns; write only the sessions that were asked for."])
    mendable = len(answer.sessions) == len(request.placement.times) and len(answer.questions) <= QUESTIONS
    places, repeated = _places(answer)
    names = {place: turn_id for turn_id, place in places.items()}
    group, in_ids = _group(answer, places), with_ids(request)
    own = [GroupFault("schema", f"The id {turn_id} is given to two turns; each has its own.") for turn_id in repeated]
    own += _describing(group, in_ids)
    faults = [*faults_of(group, in_ids, lambda place: names.get(place, in_words(place))), *own]
    sentences = [_in_ids(fault, names) for fault in faults]
    group, remaining = delivered(group, in_ids)
    remaining += own
    if not remaining:
        group = replace(group, questions=tuple(_with_forms(question, request) for question in group.questions))
        sentences = sentences or [str(fault) for fault in faults_of(group, in_ids)]
        group, remaining = delivered(group, in_ids)
    group = _with_paths(group, photo_ids(request)) if not remaining else group
    if sentences:
        raise AnswerFaults(sentences, None if remaining else group, mendable=mendable)
    return group


def mended(arguments: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The answer with the turns, sessions and questions of `changes`. Raises AnswerFaults if these are not valid changes."""
    change = _parsed(_Change, changes)
    answer: dict[str, Any] = {}
    for name, parsed, raw in (
        ("sessions", change.sessions, changes["sessions"]),
        ("questions", change.questions, changes["questions"]),
    ):
        answer[name] = list(arguments[name])
        numbers = (part.number for part in parsed)
        for number, part in sorted(zip(numbers, raw, strict=True), key=lambda numbered: numbered[0]):
            if not 1 <= number <= len(answer[name]) + 1:
                raise AnswerFaults([f"There is no number {number} among the {name}, and it is not the next."])
            answer[name][number - 1 : number] = [{key: value for key, value in part.items() if key != "number"}]
    new = {turn["id"]: turn for turn in changes.get("turns") or ()}
    if unknown := new.keys() - {turn["id"] for session in answer["sessions"] for turn in session["turns"]}:
        raise AnswerFaults([f"There is no turn {min(unknown)} to change."])
    answer["sessions"] = [
        {**session, "turns": [new.get(turn["id"], turn) for turn in session["turns"]]} for session in answer["sessions"]
    ]
    return answer


def _parsed(model: type[_P], arguments: Mapping[str, Any]) -> _P:
    try:
        return model.model_validate(arguments)
    except (ValidationError, RecursionError) as error:
        raise AnswerFaults(_schema_faults(error)) from None


def _in_ids(fault: GroupFault, names: Mapping[TurnPlace, str]) -> str:
    """The sentence of a fault, with the id of its turn."""
    turn_id = names.get(fault.place) if fault.place else None
    return f"{turn_id}: {fault.sentence}" if turn_id else str(fault)


def _describing(group: GeneratedGroup, request: GroupRequest) -> Iterator[GroupFault]:
    """Faults of messages that describe their own photo. A single word may be a coincidence; the question checks find those."""
    for number, session in enumerate(group.sessions, start=1):
        for turn_number, turn in enumerate(session, start=1):
            for concept in request.group.concepts:
                shown = [photo for photo in concept.photos if photo.path in turn.photos]
                facts = [fact for photo in shown for fact in facts_of(concept, photo)]
                texts = [fact.text for fact in facts if fact.kind in ("setting", "attribute")]
                said = (text for text in texts if len(words_of(text)) > 1 and holds(turn.text, text))
                if text := next(said, None):
                    sentence = f"it says {text!r}, which its photo shows; leave that to the photo."
                    yield GroupFault("photos", sentence, TurnPlace(number, turn_number))


def _schema_faults(error: Exception) -> list[str]:
    if not isinstance(error, ValidationError):
        return ["The answer is nested too deeply."]
    return [f"At {_where(fault['loc'])}: {fault['msg'][0].lower()}{fault['msg'][1:]}." for fault in error.errors()]


def _where(path: tuple[int | str, ...]) -> str:
    """A place in the answer, counted from 1 as in evidence: "sessions 2, turns 3, text"."""
    words = ""
    for step in path:
        words += f" {step + 1}" if isinstance(step, int) else f", {step}"
    return words.removeprefix(", ") or "the top"


def _places(answer: _Answer) -> tuple[dict[str, TurnPlace], list[str]]:
    """The places of turns by id, and the ids that two turns have. An id that no turn has gets a place in session 0."""
    places: dict[str, TurnPlace] = {}
    repeated = []
    for number, session in enumerate(answer.sessions, start=1):
        for turn_number, turn in enumerate(session.turns, start=1):
            if turn.id in places:
                repeated.append(turn.id)
            places.setdefault(turn.id, TurnPlace(number, turn_number))
    for question in answer.questions:
        derivation = question.derivation
        events = (derivation.event, derivation.since) if derivation else ()
        for turn_id in (*question.evidence, *(event.turn for event in events if event)):
            places.setdefault(turn_id, TurnPlace(0, len(places)))
    return places, repeated


def _group(answer: _Answer, places: Mapping[str, TurnPlace]) -> GeneratedGroup:
    """The answer as a group, with the ids of photos instead of their paths."""
    sessions = tuple(
        tuple(
            GeneratedTurn(turn.speaker.strip(), turn.text.strip(), tuple(Path(photo) for photo in turn.photos or ()))
            for turn in session.turns
        )
        for session in answer.sessions
    )
    return GeneratedGroup(sessions, tuple(_question(question, places) for question in answer.questions))


def _question(question: _Question, places: Mapping[str, TurnPlace]) -> GeneratedQuestion:
    def dated(event: _Event) -> DatedEvent:
        return DatedEvent(places[event.turn], event.expression.strip())

    derived = question.derivation
    derivation = Derivation(dated(derived.event), dated(derived.since) if derived.since else None) if derived else None
    return GeneratedQuestion(
        category=question.category,
        text=question.question.strip(),
        answer=question.answer.strip(),
        evidence=tuple(dict.fromkeys(places[turn_id] for turn_id in question.evidence)),
        accepted=tuple(dict.fromkeys(text.strip() for text in question.accepted or () if not _useless(text, question))),
        derivation=derivation,
    )


def _useless(accepted: str, question: _Question) -> bool:
    """Whether an accepted answer of the model is dropped: forms of a date are computed, and a poor one is not worth a repair."""
    return question.derivation is not None or not accepted.strip() or says_too_little(accepted, question.question)


def _with_paths(group: GeneratedGroup, ids: Mapping[str, Path]) -> GeneratedGroup:
    sessions = tuple(
        tuple(replace(turn, photos=tuple(ids[str(photo)] for photo in turn.photos)) for turn in session)
        for session in group.sessions
    )
    return replace(group, sessions=sessions)


def _with_forms(question: GeneratedQuestion, request: GroupRequest) -> GeneratedQuestion:
    """The question with its answer in the usual form and the other forms that count as right; its derivation is valid."""
    answer, forms = question.answer, [*question.accepted]
    if question.category == TEMPORAL and question.derivation is not None:
        event, since = question.derivation.event, question.derivation.since
        answer, *forms = right_answers(_day(event, request), _day(since, request) if since else None)
    kept = tuple(form for form in forms if form != answer and not answer_given_away(question.text, (form,)))
    return replace(question, answer=answer, accepted=kept)


def _day(event: DatedEvent, request: GroupRequest) -> date:
    return resolve(event.expression, request.placement.times[event.place.session - 1].date())
