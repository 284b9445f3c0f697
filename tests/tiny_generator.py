"""A generator with one simple pattern, for tests of the pipeline around it: deterministic and valid."""

from datetime import date, timedelta

from data_synthesis.group import (
    ConceptPhoto,
    DatedEvent,
    Derivation,
    GeneratedGroup,
    GeneratedQuestion,
    GeneratedTurn,
    GroupRequest,
    PersonalConcept,
    TurnPlace,
)

_TURNS = 8


class TinyGenerator:
    """Each session shows the photos that are its share; `asked` are the requests in the order of their arrival."""

    name = "tiny"
    version = "1"

    def __init__(self) -> None:
        self.asked: list[GroupRequest] = []

    async def generate(self, request: GroupRequest) -> GeneratedGroup:
        self.asked.append(request)
        sessions = tuple(_session(request, number) for number in range(1, len(request.placement.times) + 1))
        return GeneratedGroup(sessions, _questions(request), {"pattern": "tiny"})


def _share(request: GroupRequest, number: int) -> list[tuple[PersonalConcept, ConceptPhoto]]:
    """The photos that a session shows, with their concepts."""
    photos = [(concept, photo) for concept in request.group.concepts for photo in concept.photos]
    return photos[number - 1 :: len(request.placement.times)]


def _session(request: GroupRequest, number: int) -> tuple[GeneratedTurn, ...]:
    concepts, share = request.group.concepts, _share(request, number)
    names = " and ".join(f"<{concept.name}>" for concept in concepts)
    turns = []
    for turn in range(1, _TURNS + 1):
        about = concepts[(number + turn) % len(concepts)].name
        if turn in (2, 3):
            about = " and ".join(dict.fromkeys(concept.name for concept, _ in share))
        text = f"Part {number}-{turn} of group {request.group.number} of {request.dialogue_id} is about {about}"
        if number == turn == 1:
            text = f"Hello, meet {names}; {text}"
        text += " and happened yesterday." if turn == 2 else "."
        photos = tuple(photo.path for _, photo in share) if turn == 3 else ()
        turns.append(GeneratedTurn(request.speakers[turn % 2], text, photos))
    return tuple(turns)


def _questions(request: GroupRequest) -> tuple[GeneratedQuestion, ...]:
    """When something happened beside a photo, and where the concept of a photo is; each begins in words of its own."""
    questions = []
    for category, count in ((6, 4), (7, 6), (8, 2), (9, 8)):
        for number in range(1, count + 1):
            session = (number - 1) % len(request.placement.times) + 1
            concept, photo = _share(request, session)[0]
            event, view, day = TurnPlace(session, 2), TurnPlace(session, 3), request.placement.times[session - 1].date()
            text = f"Question{category}{number}{request.dialogue_id.replace('-', '')}g{request.group.number}: "
            if category == 7:
                text += f"what day came before the picture of {concept.name} {photo.setting}?"
                answer, evidence = _written(day - timedelta(days=1)), (event, view)
                derivation = Derivation(DatedEvent(event, "yesterday"))
            else:
                text += f"what is around {concept.name} in the picture shared on {_written(day)}?"
                answer, derivation = photo.setting or f"answer {number}", None
                evidence = (event, view) if category == 6 else (view,)
            questions.append(GeneratedQuestion(category, text, answer, evidence, derivation=derivation))
    return tuple(questions)


def _written(day: date) -> str:
    return f"{day.day} {day:%B %Y}"
