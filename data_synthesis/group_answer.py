"""A model's answer as a group: from the arguments of its call to the values, with every complaint a sentence for it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from data_synthesis.accepted import says_too_little
from data_synthesis.check_group import TEMPORAL, GroupFault, delivered, faults_of
from data_synthesis.dates import resolve, right_answers
from data_synthesis.group import (
    DatedEvent,
    Derivation,
    GeneratedGroup,
    GeneratedQuestion,
    GeneratedTurn,
    GroupRequest,
    TurnPlace,
)
from data_synthesis.group_prompt import QUESTIONS, photo_ids, with_ids
from data_synthesis.seen import facts_of, in_words
from data_synthesis.wording import answer_given_away, holds, words_of

_MOST_TURNS = 1000  # more than any use; a longer answer is not worth checking turn by turn
_LONGEST_TEXT = 2000  # characters, of a message or anything else


class AnswerFaults(Exception):
    """An answer that is no valid group, with all that is wrong with it.

    `remainder` is what of it may be used even so: the group without the questions at fault, if it is one then.
    `mendable` is whether sessions and questions can be changed one by one.
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
    places, twice = _places(answer)
    names = {place: turn_id for turn_id, place in places.items()}
    group, in_ids = _group(answer, places), with_ids(request)
    doubled = [GroupFault("schema", f"The id {one} is given to two turns; each has its own.") for one in twice]
    own = [*doubled, *_describing(group, in_ids)]
    faults = [*faults_of(group, in_ids, lambda place: names.get(place, in_words(place))), *own]
    told = [_in_ids(fault, names) for fault in faults]
    group, left = delivered(group, in_ids)
    left += own
    if not left:
        group = replace(group, questions=tuple(_with_forms(question, request) for question in group.questions))
        told = told or [str(fault) for fault in faults_of(group, in_ids)]
        group, left = delivered(group, in_ids)
    group = _with_paths(group, photo_ids(request)) if not left else group
    if told:
        raise AnswerFaults(told, None if left else group, mendable=mendable)
    return group


def mended(arguments: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """An answer with the turns, sessions and questions that were given anew. Raises AnswerFaults for what is no such change."""
    change = _parsed(_Change, changes)
    whole: dict[str, Any] = {}
    for name, given, raw in (
        ("sessions", change.sessions, changes["sessions"]),
        ("questions", change.questions, changes["questions"]),
    ):
        whole[name] = list(arguments[name])
        for number, part in sorted(zip((one.number for one in given), raw, strict=True), key=lambda one: one[0]):
            if not 1 <= number <= len(whole[name]) + 1:
                raise AnswerFaults([f"There is no number {number} among the {name}, and it is not the next."])
            whole[name][number - 1 : number] = [{key: value for key, value in part.items() if key != "number"}]
    new = {turn["id"]: turn for turn in changes.get("turns") or ()}
    if unknown := new.keys() - {turn["id"] for session in whole["sessions"] for turn in session["turns"]}:
        raise AnswerFaults([f"There is no turn {min(unknown)} to change."])
    whole["sessions"] = [
        {**session, "turns": [new.get(turn["id"], turn) for turn in session["turns"]]} for session in whole["sessions"]
    ]
    return whole


def _parsed(model: type[_P], arguments: Mapping[str, Any]) -> _P:
    try:
        return model.model_validate(arguments)
    except (ValidationError, RecursionError) as error:
        raise AnswerFaults(_schema_faults(error)) from None


def _in_ids(fault: GroupFault, names: Mapping[TurnPlace, str]) -> str:
    """A fault as a sentence that names its turn by its id."""
    turn_id = names.get(fault.place) if fault.place else None
    return f"{turn_id}: {fault.sentence}" if turn_id else str(fault)


def _describing(group: GeneratedGroup, request: GroupRequest) -> Iterator[GroupFault]:
    """Messages that tell what the photo they come with shows. A single word may be anything, and is left to the questions."""
    for number, session in enumerate(group.sessions, start=1):
        for turn_number, turn in enumerate(session, start=1):
            for concept in request.group.concepts:
                shown = [photo for photo in concept.photos if photo.path in turn.photos]
                stated = [fact for photo in shown for fact in facts_of(concept, photo)]
                seen = [fact.text for fact in stated if fact.kind in ("setting", "attribute")]
                if told := next((text for text in seen if len(words_of(text)) > 1 and holds(turn.text, text)), None):
                    sentence = f"it says {told!r}, which its photo shows; leave that to the photo."
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
    """Where the turn of each id stands, and the ids that two turns have. One that no turn has is put into session 0."""
    places: dict[str, TurnPlace] = {}
    twice = []
    for number, session in enumerate(answer.sessions, start=1):
        for turn_number, turn in enumerate(session.turns, start=1):
            if turn.id in places:
                twice.append(turn.id)
            places.setdefault(turn.id, TurnPlace(number, turn_number))
    for asked in answer.questions:
        events = (asked.derivation.event, asked.derivation.since) if asked.derivation else ()
        for turn_id in (*asked.evidence, *(event.turn for event in events if event)):
            places.setdefault(turn_id, TurnPlace(0, len(places)))
    return places, twice


def _group(answer: _Answer, places: Mapping[str, TurnPlace]) -> GeneratedGroup:
    """The answer as it stands, with the ids of its photos in place of paths."""
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
    """Whether an answer that a model would accept is not worth a repair of the group: the forms of a date are computed."""
    return question.derivation is not None or not accepted.strip() or says_too_little(accepted, question.question)


def _with_paths(group: GeneratedGroup, ids: Mapping[str, Path]) -> GeneratedGroup:
    sessions = tuple(
        tuple(replace(turn, photos=tuple(ids[str(photo)] for photo in turn.photos)) for turn in session)
        for session in group.sessions
    )
    return replace(group, sessions=sessions)


def _with_forms(question: GeneratedQuestion, request: GroupRequest) -> GeneratedQuestion:
    """A question whose derivation holds, with its answer in the usual form and the other forms that count as right."""
    answer, forms = question.answer, [*question.accepted]
    if question.category == TEMPORAL and question.derivation is not None:
        event, since = question.derivation.event, question.derivation.since
        answer, *forms = right_answers(_day(event, request), _day(since, request) if since else None)
    kept = tuple(form for form in forms if form != answer and not answer_given_away(question.text, (form,)))
    return replace(question, answer=answer, accepted=kept)


def _day(event: DatedEvent, request: GroupRequest) -> date:
    return resolve(event.expression, request.placement.times[event.place.session - 1].date())
