"""A generator of one plain pattern, for tests of the pipeline around it: deterministic and valid, and no literature."""

from data_synthesis.group import (
    DatedEvent,
    Derivation,
    GeneratedGroup,
    GeneratedQuestion,
    GeneratedTurn,
    GroupRequest,
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


def _session(request: GroupRequest, number: int) -> tuple[GeneratedTurn, ...]:
    concepts = request.group.concepts
    photos = [photo.path for concept in concepts for photo in concept.photos]
    share = photos[number - 1 :: len(request.placement.times)]
    names = " and ".join(f"<{concept.name}>" for concept in concepts)
    turns = []
    for turn in range(1, _TURNS + 1):
        about = concepts[(number + turn) % len(concepts)].name
        text = f"Part {number}-{turn} of group {request.group.number} of {request.dialogue_id} is about {about}"
        if number == turn == 1:
            text = f"Hello, meet {names}; {text}"
        text += " and happened yesterday." if turn == 2 else "."
        shown = tuple(share) if turn == 3 else ()
        turns.append(GeneratedTurn(request.speakers[turn % 2], text, shown))
    return tuple(turns)


def _questions(request: GroupRequest) -> tuple[GeneratedQuestion, ...]:
    from datetime import timedelta

    questions = []
    for category, count in ((6, 4), (7, 6), (8, 2), (9, 8)):
        for number in range(1, count + 1):
            session = (number - 1) % len(request.placement.times) + 1
            place = TurnPlace(session, 2)
            about = request.group.concepts[(session + 2) % len(request.group.concepts)].name
            text = f"What was said of {about} in category {category}, number {number}?"
            if category == 7:
                day = request.placement.times[session - 1].date() - timedelta(days=1)
                answer = f"{day.day} {day:%B %Y}"
                derivation = Derivation(DatedEvent(place, "yesterday"))
            else:
                answer, derivation = f"answer {chr(96 + category)}{chr(96 + number)}", None
            questions.append(GeneratedQuestion(category, text, answer, (place,), derivation=derivation))
    return tuple(questions)
