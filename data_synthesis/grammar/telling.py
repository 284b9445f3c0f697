"""Fills templates with words: who speaks, whom they talk about, and sentences that are new to the group."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from typing import Any

from data_synthesis.grammar.cast import Person, things, with_article
from data_synthesis.grammar.dates_said import expression_for
from data_synthesis.grammar.facts import Facts, Line
from data_synthesis.grammar.known import class_words
from data_synthesis.grammar.plan import Member, Passage, Plan
from data_synthesis.grammar.words import Said, data, written_out
from data_synthesis.wording import whole_words

TRIES = 40
Slots = Mapping[str, str]


class Telling:
    """The words of one group so far: which sentences were said, who was introduced, and who has the word."""

    def __init__(self, plan: Plan, elsewhere: Collection[str] = ()):
        self.plan = plan
        self.said = Said(elsewhere)
        self.facts = Facts()
        self._introduced: set[str] = set()
        self._first = 0
        self._repeated = False

    def invitation(self, member: Member, *, show: bool, again: bool) -> Line | None:
        """A short question that hands the word to the owner of a concept, or None if all were used up.

        `show` asks for a photo, `again` for one more photo.
        """
        speaker = 1 - member.owner
        deck = "invite_to_tell" if not show else "invite_to_show_next" if again else "invite_to_show"
        texts = data("text/talk.json")[deck]
        for _ in texts:
            friend = self.plan.cast.helper(speaker)
            people = friend.slots("f1", told_by_owner=True, known=friend.name in self._introduced)
            slots = {**things(self.plan.decks), **people, "other": member.name}
            text = self._said_by(speaker, self.plan.decks.draw(deck, texts), slots)
            if not self.said.repeats(text):
                self.said.add(text)
                return Line(speaker, text)
        return None

    def _lines(
        self,
        deck: str,
        templates: list[Any],
        teller: int | None,
        extra: Slots,
        member: Member | None,
        *,
        attempts: int = TRIES,
        own_name: bool = False,
        suits: Callable[[Any], bool] = lambda template: True,
    ) -> tuple[Slots, list[Line]]:
        """A passage from a deck of templates whose sentences are new to the group, and the slots it was filled with."""
        plan = self.plan
        hidden = {word for one in plan.members if one.hidden for word in class_words(one.concept)}
        for attempt in range(attempts):
            template = templates[0]
            if deck:
                template = plan.decks.draw(deck, templates, lambda one: self._fits(one, teller) and suits(one))
            owner = teller if teller is not None else self._first if template[0][0] == "O" else 1 - self._first
            helper, friend = plan.cast.helper(owner), plan.cast.helper(1 - owner)
            mine = [one for one in plan.members if one.owner == owner]
            called = self._called(member, own_name=own_name or attempts == 1) if member else ""
            slots = {
                **things(plan.decks),
                "mine1": self._called(plan.drawn.choice(mine)),
                **(member.slots(called) if member else {}),
                **extra,
            }
            lines, before = [], set(self._introduced)
            for text in map(_named_once, template):
                mine_speaks = text[0] == "O"
                people = self._people(helper, friend, mine_speaks, text)
                speaker = owner if mine_speaks else 1 - owner
                lines.append(Line(speaker, self._said_by(speaker, text[2:], {**slots, **people})))
            self._repeated = any(self.said.repeats(line.text) for line in lines)
            leaks = hidden & {word for line in lines for word in whole_words(line.text)}
            if not self._repeated and (not leaks or attempt > attempts // 2):
                break
            if attempt < attempts - 1:
                self._introduced = before
        if attempts > 1:
            for line in lines:
                self.said.add(line.text)
        return {**slots, **helper.slots("1", told_by_owner=True, known=False)}, lines

    def _fits(self, template: list[str], owner: int | None) -> bool:
        """Whether a template is begun by whoever has the word."""
        return owner is None or (template[0][0] == "O") == (owner == self._first)

    def _people(self, helper: Person, friend: Person, mine_speaks: bool, text: str) -> dict[str, str]:
        """Their slots for a line. Whoever it is introduced in it is known from then on."""
        slots: dict[str, str] = {}
        for key, person, told in (("1", helper, mine_speaks), ("f1", friend, not mine_speaks)):
            slots |= person.slots(key, told_by_owner=told, known=person.name in self._introduced)
            if f"kin{key[-1]}}}" in text.lower() and (key == "f1") == ("{f" in text.lower()):
                self._introduced.add(person.name)
        return slots

    def _said_by(self, speaker: int, template: str, slots: Slots) -> str:
        you = self.plan.request.speakers[1 - speaker]
        names = [member.name for member in self.plan.members]
        return self.plan.speech[speaker].spelled(written_out(template, {**slots, "you": you, "me_you": you}), names)

    def _called(self, member: Member, *, own_name: bool = False) -> str:
        if not own_name and member.name in self.facts.nicknamed and self.plan.drawn.random() < 0.3:
            return member.nickname
        return member.name

    def _givers(self, passage: Passage, *, wrong: bool = False) -> dict[str, str]:
        member = member_of(passage)
        giver, other = member.giver, member.not_giver
        told = other if wrong else giver
        pronoun = ("she", "her") if told.woman else ("he", "him")
        return {
            **{"giver": told.name, "giver_kin": told.told, "giver_he": pronoun[0], "giver_him": pronoun[1]},
            **{"wrong": other.name, "wrong_him": "her" if other.woman else "him"},
            **{"job": giver.job, "a_job": with_article(giver.job)},
        }

    def _distracting_place(self, owner: int) -> str:
        place: str = self.plan.decks.chance("places", data("text/talk.json")["places"])
        return place.split("|")[0 if self.plan.speech[owner].british or "|" not in place else 1]

    def _previous(self, passage: Passage) -> date | None:
        return self.plan.dates[passage.session - 1] if passage.session else None

    def _expression(self, passage: Passage, day: date, *, exact: bool = False) -> str:
        today, british = self.plan.dates[passage.session], self.plan.speech[passage.owner].british
        by_night = self.plan.request.placement.times[passage.session].hour < 5  # "yesterday" would be ambiguous
        return expression_for(day, today, self.plan.drawn, british=british, exact=exact or by_night)


def within(lead: str, sentence: str, names: Sequence[str] = ()) -> str:
    """A sentence with a lead before it."""
    first = sentence.split(" ")[0].strip(",'")
    keeps = not lead or sentence[0] in "{'" or first in ("I", *names) or first.startswith(("I'", "Old"))
    known = keeps or any(sentence.startswith(name) for name in (*names, *_all_names()))
    return lead + (sentence if known else sentence[0].lower() + sentence[1:])


def _all_names() -> list[str]:
    cast = data("text/cast.json")
    return [*cast["women"], *cast["men"]]


def _named_once(text: str) -> str:
    """A line that calls nobody by relation and name twice."""
    for key, name in (("{kin1}", "{p1}"), ("{fkin1}", "{fp1}")):
        head, found, tail = text.partition(key)
        text = head + found + tail.replace(key, name)
    return text


def member_of(passage: Passage) -> Member:
    assert passage.member is not None
    return passage.member
