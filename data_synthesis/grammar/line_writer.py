"""Turns templates into lines: chooses who speaks and which people are mentioned, and avoids repeated sentences."""

from collections.abc import Collection, Mapping
from datetime import date
from typing import Any

from data_synthesis.classes import class_words
from data_synthesis.grammar.cast import Person, things, with_article
from data_synthesis.grammar.concept_looks import OBJECT_KINDS, suits_hour
from data_synthesis.grammar.facts import Facts, Line
from data_synthesis.grammar.plan import Member, Passage, Plan
from data_synthesis.grammar.speech import Template, lowered
from data_synthesis.grammar.spoken_dates import expression_for
from data_synthesis.grammar.words import UsedSentences, data, filled_in
from data_synthesis.wording import whole_words

TRIES = 40
Slots = Mapping[str, str]


class LineWriter:
    """Writes the lines of one group, and remembers the sentences used, the people introduced and who speaks next."""

    def __init__(self, plan: Plan, elsewhere: Collection[str] = ()):
        self.plan = plan
        self.used = UsedSentences(elsewhere)
        self.facts = Facts()
        self.hidden = frozenset(
            word for member in plan.members if member.hidden for word in class_words(member.concept)
        )
        self._introduced: set[str] = set()
        self._first = 0
        self._hour = 0
        self._repeated = False

    def invitation(self, member: Member, *, show: bool, again: bool) -> Line | None:
        """Returns a short question that invites the owner of a concept to speak, or None if all are used up.

        `show` asks for a photo, `again` for one more photo.
        """
        deck = "invite_to_show_next" if again else "invite_to_show"
        if not show:
            deck = "invite_to_tell"
        if member.kind in OBJECT_KINDS and deck != "invite_to_show_next":
            deck += "_thing"
        texts = data("text/talk.json")[deck]
        for _ in texts:
            line = self._line(1 - member.owner, self.plan.decks.draw(deck, texts), {"other": member.name})
            if not self.used.repeats(line.text):
                self.used.add(line.text)
                return line
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
        helper: Person | None = None,
        own_name: bool = False,
    ) -> tuple[Slots, list[Line]]:
        """Returns a passage from a deck of templates with new sentences, and the slots that it was filled with."""
        plan = self.plan
        for attempt in range(attempts):
            template = templates[0]
            if deck:
                template = plan.decks.draw(deck, templates, lambda template: self._fits(template, teller))
            owner = teller if teller is not None else self._first if template[0][0] == "O" else 1 - self._first
            mine, friend = helper or plan.cast.helper(owner), plan.cast.helper(1 - owner)
            called = self._called(member, own_name=own_name or attempts == 1) if member else ""
            slots = {**things(plan.decks), **(member.slots(called) if member else {}), **extra}
            lines, before = [], set(self._introduced)
            for text in template:
                mine_speaks = text[0] == "O"
                people: dict[str, str] = {}
                for key, person, by_owner in (("1", mine, mine_speaks), ("f1", friend, not mine_speaks)):
                    people |= person.slots(key, by_owner=by_owner, introduced=person.name in self._introduced)
                lines.append(self._line(owner if mine_speaks else 1 - owner, text[2:], {**slots, **people}))
                named = whole_words(lines[-1].text)
                self._introduced.update(person.name for person in (mine, friend) if person.name.lower() in named)
            self._repeated = self.used.repeats(*(line.text for line in lines))
            leaks = self.hidden & {word for line in lines for word in whole_words(line.text)}
            if not self._repeated and (not leaks or attempt > attempts // 2):
                break
            if attempt < attempts - 1:
                self._introduced = before
        if attempts > 1:
            self.used.add(*(line.text for line in lines))
        return {**slots, **mine.slots("1", by_owner=True, introduced=False), "p1": mine.name}, lines

    def _line(self, speaker: int, template: str, slots: Slots) -> Line:
        parts = Template.of(template, self.plan.rng)
        extras = [filled_in(text, slots) for text in parts.extras if suits_hour([text], self._hour)]
        return Line(speaker, filled_in(parts.core, slots), opening=parts.opening, extras=extras)

    def _fits(self, template: list[str], owner: int | None) -> bool:
        """Returns whether a template suits the hour and begins with the speaker whose turn it is."""
        if not suits_hour(template, self._hour):
            return False
        return owner is None or (template[0][0] == "O") == (owner == self._first)

    def _called(self, member: Member, *, own_name: bool = False) -> str:
        if not own_name and member.name in self.facts.nicknames and self.plan.rng.random() < 0.3:
            return member.nickname
        return member.name

    def _givers(self, passage: Passage, *, wrong: bool = False) -> dict[str, str]:
        member = member_of(passage)
        giver, other = member.giver, member.not_giver
        named = other if wrong else giver
        he, his, him = named.pronouns
        slots = {
            "giver": named.name,
            "giver_kin": named.introduction,
            "giver_he": he,
            "giver_his": his,
            "giver_him": him,
        }
        return slots | {"wrong": other.name, "job": giver.job, "a_job": with_article(giver.job)}

    def _date_before(self, passage: Passage) -> date | None:
        """Returns the date of the session before that of the passage."""
        return self.plan.dates[passage.session - 1] if passage.session else None

    def _expression(self, passage: Passage, day: date, *, exact: bool = False) -> str:
        today, british = self.plan.dates[passage.session], self.plan.speech[passage.owner].british
        by_night = self.plan.request.placement.times[passage.session].hour < 5
        ambiguous = by_night and (today - day).days <= 2  # "yesterday" after midnight
        return expression_for(day, today, self.plan.rng, british=british, exact=exact or ambiguous)

    def within(self, lead: str, sentence: str) -> str:
        """Returns a sentence with a lead before it."""
        return lead + lowered(sentence, [member.name for member in self.plan.members]) if lead else sentence


def member_of(passage: Passage) -> Member:
    assert passage.member is not None
    return passage.member
