"""The plan of a group: the photos and passages of each session, before anything is put into words."""

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from data_synthesis.classes import UNKNOWN, class_facts, kind_of, known_class
from data_synthesis.grammar.cast import Cast, Person
from data_synthesis.grammar.concept_looks import OBJECT_KINDS, suits_hour
from data_synthesis.grammar.speech import Speech
from data_synthesis.grammar.words import Decks, data
from data_synthesis.group import ConceptPhoto, GroupRequest, PersonalConcept

FEWEST_LINES, MOST_LINES = 9, 14  # one turn less than allowed, because the first session has a longer opening
LINES = {
    "life": 3, "chat": 3, "photo": 3, "arc": 3, "origin": 2, "job": 2, "nickname": 2, "date correction": 2,
    "giver correction": 2, "class distractor": 2, "place distractor": 2,
}  # fmt: skip
OPENING_AND_CLOSING = 4


@dataclass(slots=True)
class Member:
    """A concept of the group, the speaker who owns it, and what will be told about it."""

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

    def slots(self, called: str) -> dict[str, str]:
        it, its = self.pronouns if self.pronouns[0] else (called, f"{called}'s")
        return {"N": called, "it": it, "it_o": {"he": "him", "she": "her"}.get(it, it), "its": its}


@dataclass(slots=True)
class Passage:
    """A few lines of talk of one kind. `member` is what it is about, `after` an earlier passage that it refers to."""

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
    rng: random.Random
    decks: Decks
    cast: Cast
    speech: tuple[Speech, Speech]
    members: list[Member]
    frame: dict[str, Any]
    sessions: list[list[Passage]]
    most_lines: list[int]
    avoided_stories: Collection[str] = ()
    stories: set[str] = field(default_factory=set)

    def hour(self, session: int) -> int:
        return self.request.placement.times[session].hour

    @property
    def dates(self) -> list[date]:
        return [moment.date() for moment in self.request.placement.times]


def plan_of(request: GroupRequest, avoided_stories: Collection[str] = ()) -> Plan:
    """Returns the plan of a group. Stories with the ids in `avoided_stories` are only told if there are no others."""
    rng = random.Random(f"{request.dialogue_id} {request.group.number} {request.seed} grammar")
    decks = Decks(request.dialogue_id, request.group.number, rng)
    names = [concept.name for concept in request.group.concepts]
    mentioned = (name for voice in request.voices for name in sorted(voice.mentioned))
    cast = Cast(rng, decks, [*request.speakers, *names, *mentioned])
    speech = (
        Speech(request.voices[0], request.speakers[1], rng),
        Speech(request.voices[1], request.speakers[0], rng),
    )
    members = _members(request, rng, decks, cast)
    plan = Plan(
        *(request, rng, decks, cast, speech, members),
        frame=decks.draw("openings", data("text/openings.json"), lambda frame: frame["id"] not in avoided_stories),
        sessions=[[] for _ in request.placement.times],
        most_lines=[rng.randint(FEWEST_LINES, MOST_LINES) for _ in request.placement.times],
        avoided_stories=avoided_stories,
    )
    plan.stories.add(plan.frame["id"])
    _place_photos(plan)
    _place_life(plan)
    for chain in _chains(plan):
        _place_chain(plan, chain)
    _fill_up(plan)
    return plan


def _members(request: GroupRequest, rng: random.Random, decks: Decks, cast: Cast) -> list[Member]:
    concepts = rng.sample(request.group.concepts, len(request.group.concepts))
    members = []
    for place, concept in enumerate(concepts):
        kind = kind_of(concept)
        pronouns = ("it", "its")
        if kind == "pet":
            pronouns = rng.choice((("he", "his"), ("she", "her")))
        elif kind in ("person", UNKNOWN):
            pronouns = ("", "")
        owner = place % 2
        members.append(Member(concept, owner, kind, pronouns, cast.new_person(owner), cast.new_person(owner)))
    hideable = [member for member in members if known_class(member.concept) != UNKNOWN]
    hideable.sort(key=lambda member: (not class_facts(member.concept), not member.concept.live))
    for member in hideable[:2]:
        member.hidden = True
    taken = " ".join(member.name.lower() for member in members)
    nicknames = data("text/cast.json")["nickname"]
    for member in members[:2]:
        free = [name for name in nicknames if name.split()[-1].lower() not in taken]
        member.nickname = decks.draw_shuffled("nickname", free)
    return members


def _place_photos(plan: Plan) -> None:
    """Puts the photos of a concept into different sessions, so that its name and a date identify a photo."""
    for member in plan.members:
        photos = plan.rng.sample(member.concept.photos, len(member.concept.photos))
        for photo in photos:
            free = [
                number
                for number, session in enumerate(plan.sessions)
                if not any(passage.member is member for passage in session)
            ] or list(range(len(plan.sessions)))
            number = _session_for(plan, member.owner, free)
            plan.sessions[number].append(Passage("photo", number, member.owner, member, photo))


def _session_for(plan: Plan, owner: int, free: Sequence[int]) -> int:
    """Returns the best session for a photo: one whose opening the owner answers, without one of their passages yet.

    If there is none, returns a short one.
    """

    def wanted(number: int) -> tuple[bool, int]:
        answers = number % 2 == 1 - owner if number < len(plan.sessions) - 1 else owner == 0
        opens = answers and not any(passage.owner == owner for passage in plan.sessions[number])
        return not opens, len(plan.sessions[number])

    best = min(map(wanted, free))
    return plan.rng.choice([number for number in free if wanted(number) == best])


def _place_life(plan: Plan) -> None:
    """Puts something from the speakers' own lives into each session, with sequels in later sessions."""
    month = plan.dates[0].month
    for owner in plan.rng.sample(range(2), 2):
        lives = [life for life in data("text/life.json") if month in life.get("months", (month,))]
        life = plan.decks.draw("life", lives, _new_stories(plan, lives).__contains__)
        plan.stories.add(life["id"])
        helper, first_free, last_date = plan.cast.helper(owner), 0, None
        for stage in life["stages"]:
            days = stage.get("after", 0)
            free = [
                number
                for number in range(first_free, len(plan.sessions))
                if (last_date is None or (plan.dates[number] - last_date).days >= days)
                and not any(passage.kind == "life" for passage in plan.sessions[number])
                and suits_hour(stage["lines"], plan.hour(number))
                and load(plan.sessions[number]) + LINES["life"] <= MOST_LINES
            ]
            if not free:
                break
            number = free[0] if last_date is not None else plan.rng.choice(free[:2])
            plan.sessions[number].append(Passage("life", number, owner, template=stage, helper=helper))
            first_free, last_date = number + 1, plan.dates[number]
    for number, session in enumerate(plan.sessions):
        if not any(passage.kind == "life" for passage in session) and load(session) + LINES["chat"] <= MOST_LINES:
            session.append(_chat(plan, number))


def _chat(plan: Plan, number: int) -> Passage:
    return Passage("chat", number, plan.rng.randrange(2), template=chat_for(plan, number))


def chat_for(plan: Plan, number: int) -> Any:
    """Returns small talk that suits the month, the day of the week and the hour of a session."""
    day, hour = plan.dates[number], plan.hour(number)

    def suits(chat: Any) -> bool:
        in_season = day.month in chat.get("months", (day.month,)) and day.weekday() in chat.get("weekdays", range(7))
        return in_season and suits_hour(chat["lines"], hour)

    return plan.decks.draw("chat", data("text/chat.json"), suits)


def _chains(plan: Plan) -> list[list[Passage]]:
    """Returns chains of passages that must come in this order in different sessions; the first chains are placed first."""
    members = plan.rng.sample(plan.members, len(plan.members))
    chains = []
    for place, member in enumerate(members[:3]):
        arc = _template_for(plan, "arcs", member)
        stages = [Passage("arc", 0, member.owner, member, template=stage) for stage in arc["stages"]]
        if place == 0:
            stages[0].misdated = True
            correction = Passage("date correction", 0, member.owner, member, after=stages[0])
            chains.append([stages[0], correction])
        else:
            chains.append(stages)
    # Two things of one owner, and two nicknames: from the words alone, nobody can tell which of two a question means.
    owner = max(range(2), key=[member.owner for member in members].count)
    for place, member in enumerate([member for member in members if member.owner == owner][:2]):
        origin = Passage("origin", 0, member.owner, member, template=_template_for(plan, "origins", member))
        origin.wrong_giver = place == 0
        told_later = "giver correction" if origin.wrong_giver else "job"
        chains.insert(1 + place, [origin, Passage(told_later, 0, member.owner, member, after=origin)])
    nicknames = [Passage("nickname", 0, member.owner, member) for member in plan.members if member.nickname]
    chains[3:3] = [[passage] for passage in nicknames]
    distracting = [member for member in plan.members if not member.hidden and member.kind in ("pet", *OBJECT_KINDS)]
    for member in distracting[:1]:
        chains.insert(4, [Passage("class distractor", 0, member.owner, member)])
    last = [[Passage("place distractor", 0, plan.rng.randrange(2))], *chains[5:]]
    chains[5:] = plan.rng.sample(last, len(last))  # there is rarely room for all of them
    return chains


def _template_for(plan: Plan, name: str, member: Member) -> Any:
    """Returns an arc or an origin that suits the member; a new one, if there is any."""
    templates = data("text/arcs.json") if name == "arcs" else data("text/talk.json")["origins"]
    fitting = [template for template in templates if member.kind in template["kinds"] or "any" in template["kinds"]]
    template = plan.decks.draw(name, templates, _new_stories(plan, fitting).__contains__)
    plan.stories.add(_story_id(template))
    return template


def _new_stories(plan: Plan, templates: Sequence[Any]) -> Sequence[Any]:
    """Returns the templates whose stories neither this plan nor another group has told; all of them if there is none."""
    told = {*plan.avoided_stories, *plan.stories}
    return [template for template in templates if _story_id(template) not in told] or templates


def _story_id(template: Any) -> str:
    return str(template.get("id") or template["lines"][0])


def _place_chain(plan: Plan, chain: Sequence[Passage]) -> None:
    """Puts a chain into sessions in its order, if there is room for all of it."""
    count = len(plan.sessions)
    options: list[tuple[int, ...]]
    if len(chain) == 1:
        options = [(number,) for number in range(count)]
        if chain[0].kind in ("origin", "nickname"):
            options = options[: count // 2 + 1]
    else:
        apart = max(chain[1].template["after"] if chain[1].kind == "arc" else 1, 1)
        options = [
            (first, second)
            for first in range(count - 1)
            for second in range(first + 1, count)
            if (plan.dates[second] - plan.dates[first]).days >= apart
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

    def mean_load(option: tuple[int, ...]) -> float:
        return sum(load(plan.sessions[number]) for number in option) / len(option)

    least = min(map(mean_load, fitting))
    short = [option for option in fitting if mean_load(option) <= least + 2]
    for number, passage in zip(plan.rng.choice(short), chain, strict=True):
        passage.session = number
        plan.sessions[number].append(passage)


def _fill_up(plan: Plan) -> None:
    """Adds small talk where a session has room, and draws the order of its passages; those on the speakers' lives come first."""
    for number, session in enumerate(plan.sessions):
        if load(session) + LINES["chat"] <= plan.most_lines[number]:
            session.append(_chat(plan, number))
        plan.rng.shuffle(session)
        session.sort(key=lambda passage: passage.kind != "life")


def load(session: Sequence[Passage]) -> int:
    """Returns the number of lines in a session."""
    return OPENING_AND_CLOSING + sum(LINES[passage.kind] for passage in session)
