"""The plan of a group: which photos and which passages come in which session. No word is written yet."""

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from data_synthesis.classes import UNKNOWN, class_facts, kind_of, known_class
from data_synthesis.grammar.cast import Cast, Person
from data_synthesis.grammar.concept_looks import THINGS, looks_of, suits_hour
from data_synthesis.grammar.speech import Speech
from data_synthesis.grammar.words import Decks, data
from data_synthesis.group import ConceptPhoto, GroupRequest, PersonalConcept

FEWEST_LINES, MOST_LINES = 9, 14  # one turn less than there may be: the first session has a longer opening
LINES = {
    "life": 3, "chat": 3, "photo": 3, "arc": 3, "origin": 2, "job": 2, "nickname": 2, "date correction": 2,
    "giver correction": 2, "class distractor": 2, "place distractor": 2,
}  # fmt: skip
OPENING_AND_CLOSING = 4


@dataclass(slots=True)
class Member:
    """A concept of the group with who owns it and what will be told about it."""

    concept: PersonalConcept
    owner: int
    kind: str
    pronouns: tuple[str, str]
    giver: Person
    not_giver: Person
    hidden: bool = False
    nickname: str = ""

    @property
    def name(self) -> str:
        return self.concept.name

    def slots(self, called: str | None = None) -> dict[str, str]:
        called = called or self.name
        it, its = self.pronouns if self.pronouns[0] else (called, f"{called}'s")
        return {"N": called, "it": it, "it_o": {"he": "him", "she": "her"}.get(it, it), "its": its}


@dataclass(slots=True)
class Passage:
    """A few lines of talk of one kind. `data` is its template, `member` whom it is about, `after` what it goes back to."""

    kind: str
    session: int
    owner: int
    member: Member | None = None
    photo: ConceptPhoto | None = None
    template: Any = None
    after: "Passage | None" = None
    misdated: bool = False
    wrong_giver: bool = False
    helper: Person | None = None
    day: date | None = None


@dataclass(slots=True)
class Plan:
    request: GroupRequest
    drawn: random.Random
    decks: Decks
    cast: Cast
    speech: tuple[Speech, Speech]
    members: list[Member]
    frame: dict[str, Any]
    sessions: list[list[Passage]]
    most_lines: list[int]
    told: Collection[str] = ()
    stories: set[str] = field(default_factory=set)

    def hour(self, session: int) -> int:
        return self.request.placement.times[session].hour

    @property
    def dates(self) -> list[date]:
        return [moment.date() for moment in self.request.placement.times]


def plan_of(request: GroupRequest, told: Collection[str] = ()) -> Plan:
    """`told` are the stories of other groups, by their ids: while there is another one, none is told again."""
    drawn = random.Random(f"{request.dialogue_id} {request.group.number} {request.seed} grammar")
    decks = Decks(request.dialogue_id, request.group.number, drawn)
    names = [concept.name for concept in request.group.concepts]
    mentioned = (name for voice in request.voices for name in sorted(voice.mentioned))
    cast = Cast(drawn, decks, [*request.speakers, *names, *mentioned])
    speech = (
        Speech(request.voices[0], request.speakers[1], names, drawn),
        Speech(request.voices[1], request.speakers[0], names, drawn),
    )
    members = _members(request, drawn, decks, cast)
    plan = Plan(
        *(request, drawn, decks, cast, speech, members),
        frame=decks.draw("openings", data("text/openings.json"), lambda one: one["id"] not in told),
        sessions=[[] for _ in request.placement.times],
        most_lines=[drawn.randint(FEWEST_LINES, MOST_LINES) for _ in request.placement.times],
        told=told,
    )
    plan.stories.add(plan.frame["id"])
    _place_photos(plan)
    _place_life(plan)
    for chain in _chains(plan):
        _place_chain(plan, chain)
    _fill_up(plan)
    return plan


def _members(request: GroupRequest, drawn: random.Random, decks: Decks, cast: Cast) -> list[Member]:
    concepts = drawn.sample(request.group.concepts, len(request.group.concepts))
    members = []
    for place, concept in enumerate(concepts):
        kind = kind_of(concept)
        pronouns = ("it", "its")
        if kind == "pet":
            pronouns = drawn.choice((("he", "his"), ("she", "her")))
        elif kind in ("person", UNKNOWN):
            pronouns = ("", "")
        owner = place % 2
        members.append(Member(concept, owner, kind, pronouns, cast.giver(owner), cast.giver(owner)))
    known = [member for member in members if class_facts(member.concept)]
    known.sort(key=lambda member: (not member.concept.live, known_class(member.concept) == "toy"))
    for member in known[:2]:
        member.hidden = True
    taken = " ".join(member.name.lower() for member in members)
    for member in members[:2]:
        names = [
            name
            for name in data("text/cast.json")["nickname"]
            if not any(w.lower() in taken for w in name.split()[-1:])
        ]
        member.nickname = decks.chance("nickname", names)
    return members


def _place_photos(plan: Plan) -> None:
    """Photos of one concept go to different sessions, so that its name and a date name one photo."""
    for member in plan.members:
        photos = plan.drawn.sample(member.concept.photos, len(member.concept.photos))
        for photo in photos:
            free = [
                number
                for number, session in enumerate(plan.sessions)
                if not any(one.member is member for one in session)
            ] or list(range(len(plan.sessions)))
            number = _session_for(plan, member.owner, free)
            plan.sessions[number].append(Passage("photo", number, member.owner, member, photo))


def _session_for(plan: Plan, owner: int, free: Sequence[int]) -> int:
    """Where a photo is wanted most: where its owner is to answer the opening and has none yet, else where there are few."""

    def wanted(number: int) -> tuple[bool, int]:
        answers = number % 2 == 1 - owner if number < len(plan.sessions) - 1 else owner == 0
        opens = answers and not any(one.owner == owner for one in plan.sessions[number])
        return not opens, len(plan.sessions[number])

    best = min(map(wanted, free))
    return plan.drawn.choice([number for number in free if wanted(number) == best])


def _place_life(plan: Plan) -> None:
    """What goes on in the speakers' own lives: in each session something, and what goes on comes up again later."""
    month = plan.dates[0].month
    for owner in plan.drawn.sample(range(2), 2):
        lives = [one for one in data("text/life.json") if month in one.get("months", (month,))]
        new = [one for one in lives if one["id"] not in plan.told and one["id"] not in plan.stories]
        life = plan.decks.draw("life", lives, (new or lives).__contains__)
        plan.stories.add(life["id"])
        helper, number, told_on = plan.cast.helper(owner), 0, None
        for stage in life["stages"]:
            days = stage.get("after", 0)
            free = [
                place
                for place in range(number, len(plan.sessions))
                if (told_on is None or (plan.dates[place] - told_on).days >= days)
                and not any(one.kind == "life" for one in plan.sessions[place])
                and suits_hour(stage["lines"], plan.hour(place))
                and load(plan.sessions[place]) + LINES["life"] <= MOST_LINES
            ]
            if not free:
                break
            place = free[0] if told_on is not None else plan.drawn.choice(free[:2])
            plan.sessions[place].append(Passage("life", place, owner, template=stage, helper=helper))
            number, told_on = place + 1, plan.dates[place]
    for number, session in enumerate(plan.sessions):
        if not any(one.kind == "life" for one in session) and load(session) + LINES["chat"] <= MOST_LINES:
            session.append(_chat(plan, number))


def _chat(plan: Plan, number: int) -> Passage:
    return Passage("chat", number, plan.drawn.randrange(2), template=chat_for(plan, number))


def chat_for(plan: Plan, number: int) -> Any:
    """Small talk that suits the month, the day of the week and the hour of a session."""
    day, hour = plan.dates[number], plan.hour(number)

    def suits(one: Any) -> bool:
        in_season = day.month in one.get("months", (day.month,)) and day.weekday() in one.get("weekdays", range(7))
        return in_season and suits_hour(one["lines"], hour)

    return plan.decks.draw("chat", data("text/chat.json"), suits)


def _chains(plan: Plan) -> list[list[Passage]]:
    """Passages that must come in this order, in different sessions; the first chains get their place first."""
    members = plan.drawn.sample(plan.members, len(plan.members))
    members.sort(
        key=lambda member: not any(looks_of(member.concept, member.concept.photos))
    )  # events are asked by looks
    chains = []
    for place, member in enumerate(members[:3]):
        arc = _templates(plan, "arcs", member)
        told = [Passage("arc", 0, member.owner, member, template=stage) for stage in arc["stages"]]
        if place == 0:
            told[0].misdated = True
            correction = Passage("date correction", 0, member.owner, member, after=told[0])
            chains.append([told[0], correction])
        else:
            chains.append(told)
    for place, member in enumerate(reversed(members[-2:])):
        origin = Passage("origin", 0, member.owner, member, template=_templates(plan, "origins", member))
        if place == 0:
            origin.wrong_giver = True
            chains.insert(1, [origin, Passage("giver correction", 0, member.owner, member, after=origin)])
        elif place == 1:
            chains.append([origin, Passage("job", 0, member.owner, member, after=origin)])
        else:
            chains.append([origin])
    named = [Passage("nickname", 0, member.owner, member) for member in plan.members if member.nickname]
    chains[3:3] = [[passage] for passage in named[:1]]
    distracting = [member for member in plan.members if not member.hidden and member.kind in ("pet", *THINGS)]
    for member in distracting[:1]:
        chains.insert(4, [Passage("class distractor", 0, member.owner, member)])
    last = [[Passage("place distractor", 0, plan.drawn.randrange(2))], *chains[5:]]
    chains[5:] = plan.drawn.sample(last, len(last))  # there is rarely room for all of them
    return chains


def _templates(plan: Plan, name: str, member: Member) -> Any:
    """An arc or an origin that suits the member, and while there is one, one that neither this group nor another has told."""
    every = data("text/arcs.json") if name == "arcs" else data("text/talk.json")["origins"]
    fitting = [one for one in every if member.kind in one["kinds"] or "any" in one["kinds"]]
    new = [one for one in fitting if _story(one) not in plan.told and _story(one) not in plan.stories]
    template = plan.decks.draw(name, every, (new or fitting).__contains__)
    plan.stories.add(_story(template))
    return template


def _story(template: Any) -> str:
    return str(template.get("id") or template["ask"])


def _place_chain(plan: Plan, chain: Sequence[Passage]) -> None:
    """All of it in sessions that rise, where there is room for all of it; else none of it."""
    count = len(plan.sessions)
    options: list[tuple[int, ...]]
    if len(chain) == 1:
        options = [(number,) for number in range(count)]
        if chain[0].kind in ("origin", "nickname"):
            options = options[: count // 2 + 1]
    else:
        apart = max(chain[1].template["after"] if chain[1].kind == "arc" else 1, 1)
        options = [
            (one, two)
            for one in range(count - 1)
            for two in range(one + 1, count)
            if (plan.dates[two] - plan.dates[one]).days >= apart
        ]
    fitting = [
        option
        for option in options
        if all(
            load(plan.sessions[number]) + LINES[passage.kind] <= MOST_LINES
            for number, passage in zip(option, chain, strict=True)
        )
    ]
    if not fitting:
        return
    least = min(sum(load(plan.sessions[number]) for number in option) / len(option) for option in fitting)
    easy = [o for o in fitting if sum(load(plan.sessions[n]) for n in o) / len(o) <= least + 2]
    for number, passage in zip(plan.drawn.choice(easy), chain, strict=True):
        passage.session = number
        plan.sessions[number].append(passage)


def _fill_up(plan: Plan) -> None:
    """Small talk where a session has room, and an order of its passages that is drawn; what the speakers live comes first."""
    for number, session in enumerate(plan.sessions):
        if load(session) + LINES["chat"] <= plan.most_lines[number]:
            session.append(_chat(plan, number))
        plan.drawn.shuffle(session)
        session.sort(key=lambda one: one.kind != "life")


def load(session: Sequence[Passage]) -> int:
    return OPENING_AND_CLOSING + sum(LINES[passage.kind] for passage in session)
