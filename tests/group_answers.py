"""A chat model that writes valid groups: the answer follows from the prompt alone, so it is the same every time."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Self

from tests.chat_server import Reply, call, mode_of, say

Answer = dict[str, Any]

# Days back and their wording for each session; falling, so that the events are in the order of the sessions.
_AGO = (
    (7, "a week ago"),
    (3, "3 days ago"),
    (2, "two days ago"),
    (2, "2 days ago"),
    (1, "yesterday"),
    (1, "last night"),
)
_TURNS = 7


@dataclass(frozen=True)
class GroupPrompt:
    """The generator's request, parsed from its prompt."""

    speakers: tuple[str, str]
    days: tuple[date, ...]
    photos: dict[str, tuple[str, ...]]
    """The ids of the photos by the name of the concept."""
    text: str
    settings: Mapping[str, str]
    """What is said of each photo."""

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> Self:
        """The prompt of a request to a chat server."""
        users = [message["content"] for message in request["messages"] if message["role"] == "user"]
        parts = [{"type": "text", "text": users[0]}] if isinstance(users[0], str) else users[0]
        text = "\n".join(part["text"] for part in parts if part["type"] == "text")
        speakers = re.search(r"^The speakers are (.+) and (.+)\.$", text, re.M)
        assert speakers, text
        photos: dict[str, tuple[str, ...]] = {}
        for name, photo in re.findall(r"^<(.+?)>|^- photo (P\d+)", text, re.M):
            if name:
                last = name
                photos[name] = ()
            else:
                photos[last] += (photo,)
        days = re.findall(r"^- session \d+: \w+, (\d+ \w+ \d{4})", text, re.M)
        return cls(
            (speakers[1], speakers[2]),
            tuple(datetime.strptime(day, "%d %B %Y").date() for day in days),
            photos,
            text,
            dict(re.findall(r"^- photo (P\d+): ([^;\n]+)", text, re.M)),
        )


def good_answer(prompt: GroupPrompt) -> Answer:
    """A valid group: in session S, turn T a concept gets the mark <letters of S and T>, and turn 2 tells of another day."""
    names = list(prompt.photos)
    sessions: list[Answer] = []
    for number in range(1, len(prompt.days) + 1):
        turns = [
            {
                "id": turn_id(number, turn),
                "speaker": prompt.speakers[turn % 2],
                "text": f"{_name(names, number, turn)} carries the mark {_mark(number, turn)} since we tidied up.",
                "photos": [],
            }
            for turn in range(1, _TURNS + 1)
        ]
        phrase = _AGO[number - 1][1]
        turns[1]["text"] = f"{_name(names, number, 2)} lost the button {_mark(number, 2)} {phrase}, of all things."
        sessions.append({"turns": turns})
    places: dict[str, tuple[int, int, str]] = {}
    for position, (name, photo) in enumerate((name, photo) for name, ids in prompt.photos.items() for photo in ids):
        number = position % len(sessions) + 1
        turn = next(turn for turn in range(3, _TURNS + 1) if _name(names, number, turn) == name)
        sessions[number - 1]["turns"][turn - 1]["photos"].append(photo)
        if name not in places or not places[name][2]:
            places[name] = (number, turn, prompt.settings.get(photo, ""))
    first = sessions[0]["turns"][0]
    first["text"] = f"Meet {', '.join(f'<{name}>' for name in names)}, all mine now."
    questions = [*_steps(names), *_times(names, prompt.days), *_single(names)]
    return {"sessions": sessions, "questions": [_of_a_photo(question, names, places) for question in questions]}


class GroupModel:
    """A script for `ChatServer`: valid groups, in the form that the request asks for."""

    def __call__(self, request: dict[str, Any]) -> Reply:
        return reply(request, good_answer(GroupPrompt.of(request)))


def reply(request: Mapping[str, Any], answer: object) -> Reply:
    """Returns a reply with this group, in the format of the request."""
    usage, name = (2000, 900), "mend_group" if "mend_group" in json.dumps(request) else "write_group"
    if name == "mend_group" and isinstance(answer, dict):
        answer = {key: [{"number": n, **part} for n, part in enumerate(parts, 1)] for key, parts in answer.items()}
    if mode_of(request) == "tools":
        return call(name, json.dumps(answer), usage=usage)
    return say(json.dumps({"tool": name, "arguments": answer}), usage=usage)


def turn_id(session: int, turn: int) -> str:
    return f"S{session}T{turn}"


def _name(names: list[str], session: int, turn: int) -> str:
    return names[(session + turn) % len(names)]


def _mark(session: int, turn: int) -> str:
    return f"mar{'klmnpr'[session - 1]}{'aeiouyb'[turn - 1]}x"


def _ask(category: int, question: str, answer: str, *places: tuple[int, int]) -> Answer:
    return {
        "category": category,
        "question": question,
        "answer": answer,
        "accepted": [],
        "evidence": [turn_id(*place) for place in places],
        "derivation": None,
    }


def _of_a_photo(question: Answer, names: list[str], places: Mapping[str, tuple[int, int, str]]) -> Answer:
    """Returns the question with the concept named by what its photo shows."""
    said_in, turn_in = map(int, question["evidence"][-1].removeprefix("S").split("T"))
    name = _name(names, said_in, turn_in)
    session, turn, setting = places[name]
    evidence = list(dict.fromkeys((*question["evidence"], turn_id(session, turn))))
    text = question["question"].removesuffix("?")
    return question | {"question": f"{text}, with the picture of {name} {setting} in mind?", "evidence": evidence}


def _steps(names: list[str]) -> list[Answer]:
    return [
        _ask(
            6,
            f"Which two marks had {_name(names, number, 3)} and {_name(names, number + 1, 4)}, in round {number}?",
            f"{_mark(number, 3)} and {_mark(number + 1, 4)}",
            (number, 3),
            (number + 1, 4),
        )
        for number in range(1, 5)
    ]


def _times(names: list[str], days: tuple[date, ...]) -> list[Answer]:
    lost = [day - timedelta(days=_AGO[number][0]) for number, day in enumerate(days)]

    def event(number: int) -> Answer:
        return {"turn": turn_id(number, 2), "expression": _AGO[number - 1][1]}

    questions = []
    for number in range(1, 5):
        when = lost[number - 1]
        question = f"On what date did {_name(names, number, 2)} lose the button {_mark(number, 2)}?"
        item = _ask(7, question, f"{when.day} {when:%B %Y}", (number, 2))
        questions.append({**item, "derivation": {"event": event(number), "since": None}})
    for number in (2, 4):
        between = (lost[number] - lost[number - 2]).days
        question = f"How long after the button {_mark(number - 1, 2)} did {_mark(number + 1, 2)} go?"
        item = _ask(7, question, f"{between} days", (number - 1, 2), (number + 1, 2))
        questions.append({**item, "derivation": {"event": event(number + 1), "since": event(number - 1)}})
    return questions


def _single(names: list[str]) -> list[Answer]:
    knowledge = [
        _ask(8, f"What do people call {_name(names, number, 5)} in round {number}?", f"thing {number}", (number, 5))
        for number in (1, 2)
    ]
    return knowledge + [
        _ask(
            9,
            f"Which mark did {_name(names, 1 + n // 2, 6 + n % 2)} get, note {n}?",
            _mark(1 + n // 2, 6 + n % 2),
            place,
        )
        for n in range(8)
        for place in [(1 + n // 2, 6 + n % 2)]
    ]
