"""Questions whose answer must be seen in a photo, or that need a photo to tell whom they are about."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from data_synthesis.dates import date_text
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
from data_synthesis.group import MULTI_HOP, SINGLE_HOP, GeneratedQuestion, TurnPlace
from data_synthesis.photo_facts import without_remarks


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question that could be asked. `form` and `about` serve to choose questions of different kinds.

    A form that ends in "?" is a fallback, used only if there is no better question.
    """

    form: str
    about: str
    question: GeneratedQuestion


def candidate(
    category: int,
    form: str,
    member: Member,
    text: str,
    answer: str,
    evidence: Iterable[TurnPlace],
    accepted: Iterable[str],
) -> Candidate:
    places = tuple(sorted(set(evidence)))
    return Candidate(form, member.name, GeneratedQuestion(category, text, answer, places, tuple(accepted)))


def single_hop(script: Script, rng: random.Random) -> Iterator[Candidate]:
    speakers = script.plan.request.speakers
    for shown in script.facts.shown:
        member, owner = shown.member, speakers[shown.member.owner]
        name, day = member.name, date_text(shown.day)
        occasion, evidence = shown.occasion, [shown.line.at]
        if shown.asks_for_place:
            yield _place_question(SINGLE_HOP, "place by date", shown, f"that {owner} shared on {day}", evidence)
            if occasion:
                yield _place_question(SINGLE_HOP, "place by story", shown, f"taken when {occasion}", evidence)
        elif occasion:
            if shown.quotable:
                form, picture = "story by place?", pictured(name, shown.photo)
            else:
                form, picture = "story by date?", f"{name} that was shared on {day}"
            text = f"What was going on when {owner} took the picture of {picture}?"
            yield candidate(SINGLE_HOP, form, member, text, occasion, evidence, (shown.occasion_told,))
    for member in script.plan.members:
        for question in _look_questions(SINGLE_HOP, "", script, member, rng, member.name):
            yield replace(question, form=f"attribute {rng.randrange(3)}")


def multi_hop(script: Script, rng: random.Random) -> Iterator[Candidate]:
    yield from _two_photos(script)
    yield from _shown_with(script, rng)
    yield from _photo_and_words(script, rng)


def _look_questions(
    category: int,
    form: str,
    script: Script,
    member: Member,
    rng: random.Random,
    called: str,
    places: Iterable[TurnPlace] = (),
    *,
    shown: Sequence[ShownPhoto] | None = None,
    before: str = "",
) -> Iterator[Candidate]:
    """Yields questions about the attributes of a concept, in all its photos or only in those `shown`.

    The turns at `places` say whom `called` names, and `before` is a sentence before each question. If the concept is not called
    by its name, the first question is about the whole look, as a fallback.
    """
    photos = [photo for photo in script.facts.shown if photo.member is member] if shown is None else shown

    def question(form: str, text: str, answer: str, accepted: Sequence[str], seen: Iterable[ShownPhoto]) -> Candidate:
        evidence = [*places, *(photo.line.at for photo in seen)]
        return candidate(category, form, member, f"{before}{text}", answer, evidence, accepted)

    look = without_remarks(member.concept.short_description).strip()
    if look and called != member.name:
        yield question(f"{form}?", f"What does {called} look like?", look, (), photos)
    for attribute in rng.sample(member.concept.attributes, len(member.concept.attributes)):
        seen = [photo for photo in photos if attribute.visible_on(photo.photo)]
        if seen and easily_seen(attribute):
            text = question_about(script.plan.speech[member.owner].variant(attribute_question(attribute)), called)
            yield question(form, text, attribute.value, attribute.accepted, seen)


def place_of(shown: ShownPhoto) -> str:
    """Returns the setting of a photo without remarks on where in the picture its subject is: "small in the lower right"."""
    return without_layout(shown.photo.setting, shown.member.concept)


def _place_question(
    category: int, form: str, shown: ShownPhoto, which: str, evidence: Iterable[TurnPlace], called: str = ""
) -> Candidate:
    """Returns a question for the setting of a photo. `which` identifies it: "that Ann shared on 7 May 2023"."""
    text = f"Where is {called or shown.member.name} in the picture {which}?"
    return candidate(category, form, shown.member, text, place_of(shown), evidence, short_places(shown.photo))


def _two_photos(script: Script) -> Iterator[Candidate]:
    speakers = script.plan.request.speakers
    for first, second in combinations(script.facts.shown, 2):
        evidence = [first.line.at, second.line.at]
        if first.member is not second.member:
            common = shared_surroundings(first.photo, second.photo)
            if common and not first.quotable and not second.quotable:
                text = (
                    f"What do the surroundings of {first.member.name} in the picture shared on {date_text(first.day)} and of "
                    f"{second.member.name} in the picture shared on {date_text(second.day)} have in common?"
                )
                accepted = (common.removeprefix("both are "),)
                yield candidate(MULTI_HOP, "common place?", first.member, text, common, evidence, accepted)
            if first.day == second.day:
                for target, anchor in ((first, second), (second, first)):
                    if target.asks_for_place and anchor.quotable:
                        which = f"shared on the same day as the picture of {pictured(anchor.member.name, anchor.photo)}"
                        yield _place_question(MULTI_HOP, "same day", target, which, evidence)
        else:
            for target, anchor, order in ((first, second, "before"), (second, first, "after")):
                between = [
                    shown
                    for shown in script.facts.shown
                    if shown.member is first.member and first.day < shown.day < second.day
                ]
                if not between and target.asks_for_place and anchor.quotable:
                    picture = pictured(anchor.member.name, anchor.photo)
                    which = f"that {speakers[first.member.owner]} shared just {order} the picture of {picture}"
                    yield _place_question(MULTI_HOP, "neighbour", target, which, evidence)


def _shown_with(script: Script, rng: random.Random) -> Iterator[Candidate]:
    """Yields questions about what somebody showed on the day on which something else was first or last shown."""
    speakers = script.plan.request.speakers
    for picture in pictures(script):
        anchor, owner = picture.shown, speakers[picture.shown.member.owner]
        if not picture.which:
            continue
        for number, friend in enumerate(speakers):
            on_day = [shown for shown in script.facts.shown if shown.day == anchor.day and shown.member.owner == number]
            if len(on_day) != 1 or on_day[0].member is anchor.member:
                continue
            (shown,) = on_day
            day = f"the day on which {owner} {picture.which}shared a picture of {picture.words}"
            if shown.asks_for_place:
                text = f"Where was the picture taken that {friend} shared on {day}?"
                form, evidence = f"place by a look{picture.fallback}", [*picture.places, shown.line.at]
                accepted = short_places(shown.photo)
                yield candidate(MULTI_HOP, form, shown.member, text, place_of(shown), evidence, accepted)
            form, before = f"look by a look{picture.fallback}", f"{friend} shared a picture on {day}. "
            yield from _look_questions(
                *(MULTI_HOP, form, script, shown.member, rng, "its subject", picture.places),
                shown=on_day,
                before=before,
            )


@dataclass(frozen=True, slots=True)
class Picture:
    """A photo in words that fit no other. `which` is "first " or "last " if it is identified by its order, else "".

    `fallback` is "?" if questions about it are used only if there is no better one, else "".
    """

    shown: ShownPhoto
    words: str
    places: tuple[TurnPlace, ...]
    which: str = ""
    fallback: str = ""

    @property
    def phrase(self) -> str:
        return f"the {self.which}picture of {self.words}"

    def day_shared(self, owner: str) -> str:
        """Returns the day on which it was shared, in words."""
        return f"the day {owner} {self.which}shared {f'a picture of {self.words}' if self.which else self.phrase}"


def pictures(script: Script) -> Iterator[Picture]:
    """Yields the photos identified by their settings, and by the look of what they show as the first or last one of it."""
    for shown in script.facts.shown:
        if shown.quotable:
            yield Picture(shown, pictured(shown.member.name, shown.photo), (shown.line.at,))
    for member in script.plan.members:
        member_photos = sorted(
            (shown for shown in script.facts.shown if shown.member is member), key=lambda shown: shown.day
        )
        days = Counter(shown.day for shown in member_photos)
        for shown, which in ((member_photos[0], "first "), (member_photos[-1], "last ")):
            if len(member_photos) > 1 and days[shown.day] == 1:
                for look, fallback in by_looks(script, member):
                    yield Picture(shown, look, tuple(other.line.at for other in member_photos), which, fallback)


def by_looks(script: Script, member: Member) -> list[tuple[str, str]]:
    """Returns descriptions of a concept by its look, "the red-orange chow chow", each with "?" if it is only for fallbacks."""
    shown = [shown.photo for shown in script.facts.shown if shown.member is member]
    return [(f"the {look}", "?" if look.startswith("one with ") else "") for look in looks_of(member.concept, shown)]


def origin_question(script: Script, fact: Statement, called: str) -> str:
    return f"Whom does {script.plan.request.speakers[fact.member.owner]} have to thank for {called}?"


def photo_places(script: Script, member: Member) -> list[TurnPlace]:
    """Returns the turns that show the concept."""
    return [shown.line.at for shown in script.facts.shown if shown.member is member]


def _photo_and_words(script: Script, rng: random.Random) -> Iterator[Candidate]:
    speakers = script.plan.request.speakers
    for fact in script.facts.ambiguous_origins():
        for look, fallback in by_looks(script, fact.member):
            evidence = [*photo_places(script, fact.member), *(line.at for line in fact.lines)]
            text = origin_question(script, fact, look)
            yield candidate(MULTI_HOP, f"origin of a look{fallback}", fact.member, text, fact.answer, evidence, ())
    for fact in script.facts.statements:
        places = [line.at for line in fact.lines]
        giver = fact.answer if fact.kind == "origin" else f"the {fact.answer}"
        called = f"the one that {speakers[fact.member.owner]} has thanks to {giver}"
        yield from _look_questions(MULTI_HOP, f"look by {fact.kind}", script, fact.member, rng, called, places)
    for member in script.plan.members:
        lines = script.facts.nicknames.get(member.name)
        if lines is None:
            continue
        naming, called = [line.at for line in lines], f"the one nicknamed '{member.nickname}'"
        for look, fallback in by_looks(script, member) if script.facts.ambiguous_nicknames() else ():
            text, evidence = f"By what other name is {look} known?", [*photo_places(script, member), *naming]
            yield candidate(MULTI_HOP, f"nickname of a look{fallback}", member, text, member.nickname, evidence, ())
        yield from _look_questions(MULTI_HOP, "look of a nickname", script, member, rng, called, naming)
        for shown in script.facts.shown:
            if shown.member is member and shown.asks_for_place:
                which, evidence = f"that was shared on {date_text(shown.day)}", [*naming, shown.line.at]
                yield _place_question(MULTI_HOP, "place of a nickname", shown, which, evidence, called)
