"""Questions whose answer must be seen on a photo, or that need a photo to tell whom they are about."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from data_synthesis.dates import written
from data_synthesis.grammar.concept_looks import (
    attribute_question,
    easily_seen,
    looks_of,
    pictured,
    question_about,
    shared_surroundings,
    short_places,
    without_layout,
)
from data_synthesis.grammar.facts import ShownPhoto, Statement
from data_synthesis.grammar.plan import Member
from data_synthesis.grammar.script import Script
from data_synthesis.group import TurnPlace
from data_synthesis.photo_facts import without_remarks

QuestionSketch = tuple[str, str, str, str, Sequence[TurnPlace], Sequence[str]]
"""Form, concept, question, answer, evidence, accepted answers. A form that ends in "?" is used only if there is no other."""


def single_hop(script: Script, drawn: random.Random) -> Iterator[QuestionSketch]:
    speakers = script.plan.request.speakers
    for shown in script.facts.shown:
        member, owner = shown.member, speakers[shown.member.owner]
        name, day = member.name, written(shown.day)
        occasion, at = shown.occasion, [shown.line.at]
        if shown.asks_for_place:
            which = f"that {owner} shared on {day}"
            yield "place by date", name, where(shown, which), place_of(shown), at, short_places(shown.photo)
            if occasion:
                which = f"taken when {occasion}"
                yield "place by story", name, where(shown, which), place_of(shown), at, short_places(shown.photo)
        elif occasion:
            if shown.quotable:
                form, picture = "story by place?", pictured(name, shown.photo)
            else:
                form, picture = "story by date?", f"{name} that was shared on {day}"
            text = f"What was going on when {owner} took the picture of {picture}?"
            yield form, name, text, occasion, at, (shown.occasion_told,)
    for member in script.plan.members:
        for _, text, answer, accepted, places in attributes(script, member, drawn, member.name):
            yield f"attribute {drawn.randrange(3)}", member.name, text, answer, places, accepted


def multi_hop(script: Script, drawn: random.Random) -> Iterator[QuestionSketch]:
    yield from _two_photos(script)
    yield from _shown_with(script, drawn)
    yield from _photo_and_words(script, drawn)


def attributes(
    script: Script, member: Member, drawn: random.Random, called: str, shown: Sequence[ShownPhoto] | None = None
) -> Iterator[tuple[str, str, str, tuple[str, ...], list[TurnPlace]]]:
    """Yields question, answer, accepted answers and the turns whose photos show the attribute; with `shown`, only of these.

    Of what is not called by its name, the whole look can be asked as well, with "?" as a makeshift. Others begin with "".
    """
    own = [one for one in script.facts.shown if one.member is member] if shown is None else shown
    look = without_remarks(member.concept.short_description).strip()
    if look and called != member.name:
        yield "?", f"What does {called} look like?", look, (), [one.line.at for one in own]
    for attribute in drawn.sample(member.concept.attributes, len(member.concept.attributes)):
        if not easily_seen(attribute):
            continue
        seen = [one for one in own if attribute.visible_on(one.photo)]
        if seen:
            text = question_about(script.plan.speech[member.owner].variant(attribute_question(attribute)), called)
            yield "", text, attribute.value, attribute.accepted, [one.line.at for one in seen]


def place_of(shown: ShownPhoto) -> str:
    """The setting of a photo without remarks on where in the picture its subject is: "small in the lower right"."""
    return without_layout(shown.photo.setting, shown.member.concept)


def where(shown: ShownPhoto, which: str) -> str:
    """A question for the setting of a photo. `which` identifies it: "that Ann shared on 7 May 2023"."""
    return f"Where is {shown.member.name} in the picture {which}?"


def _two_photos(script: Script) -> Iterator[QuestionSketch]:
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
                yield "common place?", one.member.name, text, common, evidence, (common.removeprefix("both are "),)
            if one.day == two.day:
                for asked, given in ((one, two), (two, one)):
                    if asked.asks_for_place and given.quotable:
                        which = f"shared on the same day as the picture of {pictured(given.member.name, given.photo)}"
                        yield ("same day", asked.member.name, where(asked, which), place_of(asked), evidence,
                               short_places(asked.photo))  # fmt: skip
        else:
            for asked, given, order in ((one, two, "before"), (two, one, "after")):
                between = [
                    other
                    for other in script.facts.shown
                    if other.member is one.member and one.day < other.day < two.day
                ]
                if not between and asked.asks_for_place and given.quotable:
                    name = pictured(given.member.name, given.photo)
                    which = f"that {owners[0]} shared just {order} the picture of {name}"
                    yield ("neighbour", asked.member.name, where(asked, which), place_of(asked), evidence,
                           short_places(asked.photo))  # fmt: skip


def _shown_with(script: Script, drawn: random.Random) -> Iterator[QuestionSketch]:
    """Questions about what somebody showed on the day on which something else was first or last shown."""
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
            member = on_day[0].member
            (shown,) = on_day
            if shown.asks_for_place:
                text = f"Where was the picture taken that {friend} shared on {day}?"
                places = [*picture.places, shown.line.at]
                yield (
                    f"place by a look{picture.doubt}",
                    member.name,
                    text,
                    place_of(shown),
                    places,
                    short_places(shown.photo),
                )
            for doubt, text, answer, accepted, places in attributes(script, member, drawn, "its subject", on_day):
                text = f"{friend} shared a picture on {day}. {text}"
                yield (
                    f"look by a look{picture.doubt}{doubt}",
                    member.name,
                    text,
                    answer,
                    [*picture.places, *places],
                    accepted,
                )


@dataclass(frozen=True, slots=True)
class Picture:
    """A photo in words that fit no other. `which` is "first " or "last " if it is identified by its order, else "".

    `doubt` is "?" for the form of a question that is used only if there is no better one.
    """

    shown: ShownPhoto
    words: str
    places: tuple[TurnPlace, ...]
    which: str = ""
    doubt: str = ""

    @property
    def phrase(self) -> str:
        return f"the {self.which}picture of {self.words}"

    def day_shared(self, owner: str) -> str:
        """The day on which it was shared, in words."""
        return f"the day {owner} {self.which}shared {f'a picture of {self.words}' if self.which else self.phrase}"


def pictures(script: Script) -> Iterator[Picture]:
    """The photos identified by their settings, and by the look of what they show as the first or last one of it."""
    for shown in script.facts.shown:
        if shown.quotable:
            yield Picture(shown, pictured(shown.member.name, shown.photo), (shown.line.at,))
    for member in script.plan.members:
        own = sorted((shown for shown in script.facts.shown if shown.member is member), key=lambda shown: shown.day)
        apart = [shown for shown in own if [one.day for one in own].count(shown.day) == 1]
        for shown, which in ((own[0], "first "), (own[-1], "last ")):
            if len(own) > 1 and shown in apart:
                for look, doubt in by_looks(script, member):
                    yield Picture(shown, look, tuple(one.line.at for one in own), which, doubt)


def by_looks(script: Script, member: Member) -> list[tuple[str, str]]:
    """Descriptions of a concept by its look, "the red-orange chow chow", each with "?" if a question with it is a makeshift."""
    shown = [one.photo for one in script.facts.shown if one.member is member]
    return [(f"the {look}", "?" if look.startswith("one with ") else "") for look in looks_of(member.concept, shown)]


def origin_question(script: Script, fact: Statement, called: str) -> str:
    return f"Whom does {script.plan.request.speakers[fact.member.owner]} have to thank for {called}?"


def photo_places(script: Script, member: Member) -> list[TurnPlace]:
    """The turns that show the concept."""
    return [one.line.at for one in script.facts.shown if one.member is member]


def _photo_and_words(script: Script, drawn: random.Random) -> Iterator[QuestionSketch]:
    speakers = script.plan.request.speakers
    for fact in script.facts.ambiguous_origins():
        for look, doubt in by_looks(script, fact.member):
            evidence = [*photo_places(script, fact.member), *(line.at for line in fact.lines)]
            yield (
                f"origin of a look{doubt}",
                fact.member.name,
                origin_question(script, fact, look),
                fact.answer,
                evidence,
                (),
            )
    for fact in script.facts.statements:
        member, saying = fact.member, [line.at for line in fact.lines]
        giver = fact.answer if fact.kind == "origin" else f"the {fact.answer}"
        called = f"the one that {speakers[member.owner]} has thanks to {giver}"
        for doubt, text, answer, accepted, places in attributes(script, member, drawn, called):
            yield f"look by {fact.kind}{doubt}", member.name, text, answer, [*saying, *places], accepted
    for member in script.plan.members:
        lines = script.facts.nicknames.get(member.name)
        if lines is None:
            continue
        naming, called = [line.at for line in lines], f"the one nicknamed '{member.nickname}'"
        for look, doubt in by_looks(script, member) if script.facts.ambiguous_nicknames() else ():
            text, evidence = f"By what other name is {look} known?", [*photo_places(script, member), *naming]
            yield f"nickname of a look{doubt}", member.name, text, member.nickname, evidence, ()
        for doubt, text, answer, accepted, places in attributes(script, member, drawn, called):
            yield f"look of a nickname{doubt}", member.name, text, answer, [*naming, *places], accepted
        for shown in script.facts.shown:
            if shown.member is member and shown.asks_for_place:
                text = where(shown, f"that was shared on {written(shown.day)}").replace(member.name, called)
                yield ("place of a nickname", member.name, text, place_of(shown), [*naming, shown.line.at],
                       short_places(shown.photo))  # fmt: skip
