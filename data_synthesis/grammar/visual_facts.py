"""Questions whose answer stands in a photo, or that need a photo to know who is meant."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from data_synthesis.dates import written
from data_synthesis.grammar.concept_looks import (
    asked_of,
    attribute_question,
    easily_seen,
    looks_of,
    pictured,
    shared_surroundings,
    short_places,
)
from data_synthesis.grammar.facts import Shown, Told
from data_synthesis.grammar.plan import Member
from data_synthesis.grammar.script import Script
from data_synthesis.group import TurnPlace

Found = tuple[str, str, str, str, Sequence[TurnPlace], Sequence[str]]
"""Form, concept, question, answer, evidence, accepted answers. A form that ends in "?" is for want of better."""


def single_hop(script: Script, drawn: random.Random) -> Iterator[Found]:
    speakers = script.plan.request.speakers
    for shown in script.facts.shown:
        member, owner = shown.member, speakers[shown.member.owner]
        name, day = member.name, written(shown.day)
        asked, at = shown.asked, [shown.line.at]
        if shown.place_asked:
            which = f"that {owner} shared on {day}"
            yield "place by date", name, where(shown, which), shown.photo.setting, at, short_places(shown.photo)
            if asked:
                which = f"taken when {asked}"
                yield "place by story", name, where(shown, which), shown.photo.setting, at, short_places(shown.photo)
        elif asked and shown.quotable:
            text = f"What was going on when {owner} took the picture of {pictured(name, shown.photo)}?"
            yield "story by place?", name, text, asked, at, (shown.told,)
        elif asked:
            text = f"What was going on when {owner} took the picture of {name} that was shared on {day}?"
            yield "story by date?", name, text, asked, at, (shown.told,)
    for member in script.plan.members:
        for text, answer, accepted, places in attributes(script, member, drawn, member.name):
            yield f"attribute {drawn.randrange(3)}", member.name, text, answer, places, accepted


def multi_hop(script: Script, drawn: random.Random) -> Iterator[Found]:
    yield from _two_photos(script)
    yield from _shown_with(script, drawn)
    yield from _photo_and_words(script, drawn)


def attributes(
    script: Script, member: Member, drawn: random.Random, called: str, shown: Sequence[Shown] | None = None
) -> Iterator[tuple[str, str, tuple[str, ...], list[TurnPlace]]]:
    """Question, answer, accepted answers and the turns with a photo that shows it, of all of them or of those `shown`."""
    own = [one for one in script.facts.shown if one.member is member] if shown is None else shown
    for attribute in drawn.sample(member.concept.attributes, len(member.concept.attributes)):
        if not easily_seen(attribute):
            continue
        seen = [one for one in own if attribute.visible_on(one.photo)]
        if seen:
            text = script.plan.speech[member.owner].variant(attribute_question(attribute))
            yield (
                asked_of(text, called),
                attribute.value,
                attribute.accepted,
                [one.line.at for one in seen],
            )


def where(shown: Shown, which: str) -> str:
    """A question for the setting of a photo. `which` tells the photo: "that Ann shared on 7 May 2023"."""
    name = shown.member.name
    return f"Where is {name} in the picture {which}?"


def _two_photos(script: Script) -> Iterator[Found]:
    speakers = script.plan.request.speakers
    for one, two in combinations(script.facts.shown, 2):
        owners = speakers[one.member.owner], speakers[two.member.owner]
        evidence = [one.line.at, two.line.at]
        if one.member is not two.member:
            common = shared_surroundings(one.photo, two.photo)
            if common and not one.quotable and not two.quotable:
                text = (
                    f"What do the surroundings of {one.member.name} in the picture shared on {written(one.day)} and of "
                    f"{two.member.name} in the picture shared on {written(two.day)} have in common?"
                )
                yield "common place", one.member.name, text, common, evidence, (common.removeprefix("both are "),)
            if one.day == two.day:
                for asked, given in ((one, two), (two, one)):
                    if asked.place_asked and given.quotable:
                        which = f"shared on the same day as the picture of {pictured(given.member.name, given.photo)}"
                        yield ("same day", asked.member.name, where(asked, which), asked.photo.setting, evidence,
                               short_places(asked.photo))  # fmt: skip
        else:
            for asked, given, order in ((one, two, "before"), (two, one, "after")):
                between = [
                    other
                    for other in script.facts.shown
                    if other.member is one.member and one.day < other.day < two.day
                ]
                if not between and asked.place_asked and given.quotable:
                    which = f"that {owners[0]} shared just {order} the one {_setting_phrase(given)}"
                    yield ("neighbour", asked.member.name, where(asked, which), asked.photo.setting, evidence,
                           short_places(asked.photo))  # fmt: skip


def _shown_with(script: Script, drawn: random.Random) -> Iterator[Found]:
    """What is seen of the one that somebody showed on the day on which something was first or last shown."""
    speakers = script.plan.request.speakers
    for picture in pictures(script):
        given, owner = picture.shown, speakers[picture.shown.member.owner]
        if not picture.which:
            continue
        for number, friend in enumerate(speakers):
            on_day = [one for one in script.facts.shown if one.day == given.day and one.member.owner == number]
            if [one.member for one in on_day] in ([], [given.member]) or len(on_day) != 1:
                continue
            day = f"the day on which {owner} {picture.which}shared a picture of {picture.words}"
            asked = attributes(script, on_day[0].member, drawn, "the one in it", [on_day[0]])
            for text, answer, accepted, places in asked:
                evidence = [*picture.places, *places]
                yield (
                    "look by a look",
                    on_day[0].member.name,
                    f"{friend} shared a picture on {day}. {text}",
                    answer,
                    evidence,
                    accepted,
                )


@dataclass(frozen=True, slots=True)
class Picture:
    """A photo in words that fit it alone. `which` is "first " or "last " where it is told by that, `places` show it so."""

    shown: Shown
    words: str
    places: tuple[TurnPlace, ...]
    which: str = ""

    @property
    def phrase(self) -> str:
        return f"{f'the {self.which}' if self.which else 'the '}picture of {self.words}"


def pictures(script: Script) -> Iterator[Picture]:
    """By their settings, and by the looks of what they show, as the first or the last of it."""
    for shown in script.facts.shown:
        if shown.quotable:
            yield Picture(shown, pictured(shown.member.name, shown.photo), (shown.line.at,))
    for member in script.plan.members:
        own = sorted((shown for shown in script.facts.shown if shown.member is member), key=lambda shown: shown.day)
        apart = [shown for shown in own if [one.day for one in own].count(shown.day) == 1]
        for shown, which in ((own[0], "first "), (own[-1], "last ")):
            if len(own) > 1 and shown in apart:
                for look in by_looks(script, member):
                    yield Picture(shown, look, tuple(one.line.at for one in own), which)


def by_looks(script: Script, member: Member) -> list[str]:
    """What to call a concept by its looks: "the red-orange chow chow"."""
    shown = [one.photo for one in script.facts.shown if one.member is member]
    return [f"the {look}" for look in looks_of(member.concept, shown)]


def photo_places(script: Script, member: Member) -> list[TurnPlace]:
    """The turns that show the concept."""
    return [one.line.at for one in script.facts.shown if one.member is member]


def _photo_and_words(script: Script, drawn: random.Random) -> Iterator[Found]:
    speakers = script.plan.request.speakers
    for told in script.facts.told:
        member, owner = told.member, speakers[told.member.owner]
        evidence = [*photo_places(script, member), *(line.at for line in told.lines)]
        for look in by_looks(script, member):
            text = asked_of(told.ask, look).format(owner=owner)
            yield f"told of a look {told.kind}", member.name, text, told.answer, evidence, told.accepted
        if told.kind == "origin":
            for asked, answer, accepted, places in attributes(script, told.member, drawn, _received(script, told)):
                evidence = [*(line.at for line in told.lines), *places]
                yield "look of what was given", told.member.name, asked, answer, evidence, accepted
    for member in script.plan.members:
        nickname = script.facts.nicknamed.get(member.name)
        if nickname is None:
            continue
        named = [line.at for line in nickname]
        for look in by_looks(script, member):
            evidence = [*photo_places(script, member), *named]
            yield (
                "nickname of a look",
                member.name,
                f"By what other name is {look} known?",
                member.nickname,
                evidence,
                (),
            )
        for asked, answer, accepted, places in attributes(script, member, drawn, _nicknamed(member)):
            yield "look of a nickname", member.name, asked, answer, [*named, *places], accepted
        for shown in script.facts.shown:
            if shown.member is member and shown.place_asked:
                asked = where(shown, f"that was shared on {written(shown.day)}").replace(
                    member.name, _nicknamed(member)
                )
                yield ("place of a nickname", member.name, asked, shown.photo.setting, [*named, shown.line.at],
                       short_places(shown.photo))  # fmt: skip


def _received(script: Script, told: Told) -> str:
    owner = script.plan.request.speakers[told.member.owner]
    return f"the one that came to {owner} through {told.answer}"


def _nicknamed(member: Member) -> str:
    return f"the one nicknamed '{member.nickname}'"


def _setting_phrase(shown: Shown) -> str:
    return pictured("", shown.photo).strip()
