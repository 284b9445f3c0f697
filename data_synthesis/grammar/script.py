"""Puts a plan into words: lines of talk, and the facts that they tell and show."""

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any

from data_synthesis.classes import UNKNOWN
from data_synthesis.grammar.concept_looks import OBJECT_KINDS, odd_hour, seasonal, secret_words, suits_hour
from data_synthesis.grammar.facts import Event, Line, ShownPhoto, Statement
from data_synthesis.grammar.line_writer import TRIES, LineWriter, Slots, member_of
from data_synthesis.grammar.plan import MOST_LINES, Member, Passage, Plan, chat_for, load
from data_synthesis.grammar.speech import Template
from data_synthesis.grammar.spoken_dates import day_before
from data_synthesis.grammar.words import data, fill, filled_in
from data_synthesis.wording import contains_phrase, whole_words

_WITH_STORY = 0.7  # share of the photos that come with an anecdote
_THANKED = 0.4  # share of the kind words that get a thank-you
_SLIP = 3  # days, the largest error of somebody who mistakes a date
_NAMELESS_KINDS = ("person", "building", UNKNOWN)


class Script(LineWriter):
    """The lines of each session, passage by passage, and the facts in them. `elsewhere` are sentences of other groups."""

    def __init__(self, plan: Plan, elsewhere: Collection[str] = ()):
        super().__init__(plan, elsewhere)
        self.greetings: list[list[Line]] = []
        self.passages: list[list[tuple[Passage, list[Line]]]] = []
        self.closings: list[list[Line]] = []
        self._spoken: dict[int, tuple[Slots, list[Line]]] = {}
        for number, session in enumerate(plan.sessions):
            self._hour = plan.hour(number)
            self.greetings.append(self._opening() if number == 0 else self._greeting(number))
            self.passages.append(list(self._in_order(session, self.greetings[-1][-1].speaker, number)))
            self.closings.append(self._closing())

    # Beginnings and ends

    def _opening(self) -> list[Line]:
        """Returns the first lines of a group, which name all of its concepts."""
        mine = [self._introduced_by(member, "my") for member in self.plan.members if member.owner == 0]
        yours = [self._introduced_by(member, "your") for member in self.plan.members if member.owner == 1]
        template = [f"{'OF'['AB'.index(line[0])]}{line[1:]}" for line in self.plan.frame["lines"]]
        if odd_hour(self._hour) == "night":
            excuse = self.plan.decks.draw("excuses", data("text/greetings.json")["excuses"])
            template[0] = template[0].replace("| ", f"| {excuse} ", 1)
        return self._lines("", [template], 0, {"mine": _joined(mine), "yours": _joined(yours)}, None)[1]

    def _introduced_by(self, member: Member, whose: str) -> str:
        """Returns a concept's name with its class, unless its name is the class or a question will be about the class."""
        kind = member.concept.class_name.replace("_", " ")
        alone = member.hidden or not kind or member.kind in _NAMELESS_KINDS or member.name.startswith("the ")
        return f"<{member.name}>" if alone else f"{whose} {kind} <{member.name}>"

    def _greeting(self, number: int) -> list[Line]:
        """Returns a greeting that suits the hour."""
        texts, lines = data("text/greetings.json"), []
        when = odd_hour(self._hour)
        opened, answered = (f"open_{when}", f"answer_{when}") if when else ("open", "answer")
        for speaker, own, plain in ((number % 2, opened, "open"), (1 - number % 2, answered, "answer")):
            for deck in (*[own] * len(texts[own]), *[plain] * len(texts[plain])):
                text = self.plan.decks.draw(
                    f"greetings {deck}", texts[deck], lambda text: suits_hour([text], self._hour)
                )
                line = self._line(speaker, text, {})
                if not self.used.repeats(line.text):
                    break
            self.used.add(line.text)
            lines.append(line)
        return lines

    def _closing(self) -> list[Line]:
        return self._lines("closings", data("text/greetings.json")["close"], None, {}, None)[1]

    # Passages

    def _in_order(self, session: list[Passage], last: int, number: int) -> Iterator[tuple[Passage, list[Line]]]:
        """Yields the passages in an order in which, if possible, the other speaker begins each one.

        The first is about the speakers' lives, or a photo in the first session, whose opening asks for photos.
        """
        left = list(session)
        while left:
            self._first = 1 - last
            fitting = [passage for passage in left if self._can_begin(passage)]
            passage = (fitting or left)[0]
            if len(left) == len(session):
                photos = [passage for passage in fitting if passage.kind == "photo"]
                passage = photos[0] if number == 0 and photos else left[0]
            left.remove(passage)
            lines = self._write(passage)
            last = lines[-1].speaker
            yield passage, lines
        self._first = 1 - last

    def _can_begin(self, passage: Passage) -> bool:
        if passage.kind in ("photo", "arc", "life"):
            return passage.owner == self._first
        return passage.kind != "origin" or passage.owner != self._first

    def _write(self, passage: Passage) -> list[Line]:
        """Returns the lines of a passage, by the method named after its kind: `_date_correction` writes a "date correction"."""
        lines: list[Line] = getattr(self, f"_{passage.kind.replace(' ', '_')}")(passage)
        if passage.kind in ("life", "chat", "arc"):
            for before, line in pairwise(lines):
                refuses = line.text.startswith(("No", "Yeah", "Of course"))
                if before.opening == "wow" and not line.opening and not refuses and self.plan.rng.random() < _THANKED:
                    line.opening = "thanks"
            for line in lines:
                line.tail = "" if line.opening == "thanks" else line.opening
        return lines

    def _photo(self, passage: Passage) -> list[Line]:
        member, photo = member_of(passage), passage.photo
        assert photo is not None
        texts, plan = data("text/photos.json"), self.plan
        today = plan.dates[passage.session]
        dated = plan.rng.random() < 0.6
        drawing = member.kind == "drawing"
        with_story = not drawing and plan.rng.random() < _WITH_STORY
        found = seasonal(photo) or drawing
        deck = ("show_found" if found else "show_dated") if dated else "show_plain"
        lead = "" if not (dated and found) else plan.decks.draw("back then", data("text/talk.json")["back_then"])
        when = self._expression(passage, day_before(today, self._date_before(passage), plan.rng)) if dated else ""
        secret = frozenset(secret_words(member.concept))
        shows = texts[deck]
        if deck == "show_plain" and member.kind == "pet":
            deck, shows = "show_plain_pet", [*shows, *texts["show_plain_pet"]]

        def fits(anecdote: Any) -> bool:
            kinds = anecdote.get("kinds", (member.kind,))
            return member.kind in kinds and suits_hour([anecdote["told"]], self._hour)

        for attempt in range(TRIES):
            before = set(self._introduced)
            anecdote = plan.decks.draw("anecdotes", texts["anecdotes"], fits)
            reaction = self._reaction(member.kind, brief=load(plan.sessions[passage.session]) > MOST_LINES)
            show = Template.of(plan.decks.draw(deck, shows), plan.rng)
            story = Template.of(anecdote["told"], plan.rng).core
            first = f"O {show.core} {self.within(lead, story)}" if with_story else f"O {show.core}"
            template = [first, *reaction]
            slots, lines = self._lines("", [template], member.owner, {"when": when}, member, attempts=1)
            leaks = secret & {word for line in lines for word in whole_words(line.text)}
            if not self._repeated and (not leaks or attempt > TRIES // 2):
                break
            self._introduced = before
        self.used.add(*(line.text for line in lines))
        for line in lines:
            line.secret, line.tail = secret, "thanks" if line.opening == "thanks" else ""
        if len(lines) > 1:
            lines[1].tail = "seen"
        lines[0].photo, lines[0].tail = photo.path, "photo"
        occasion = occasion_told = ""
        if with_story:
            occasion = fill(anecdote["asked"], {**slots, "owner": plan.request.speakers[member.owner]})
            occasion_told = filled_in(story.replace("{kin1}", "{p1}").replace("{Kin1}", "{p1}"), slots)
        self.facts.shown.append(ShownPhoto(member, photo, lines[0], today, occasion, occasion_told, when, found))
        return lines

    def _reaction(self, kind: str, *, brief: bool) -> list[str]:
        """Returns the friend's reaction to a photo and the owner's answer, which is sometimes left out, always if `brief`."""
        texts, decks = data("text/photos.json")["reactions"], self.plan.decks
        kind_deck = "thing" if kind in OBJECT_KINDS else kind
        deck = kind_deck if kind_deck in texts and self.plan.rng.random() < 0.6 else "any"
        if deck == "any" and kind == "drawing":
            deck = "drawing"
        reaction, answer = decks.draw(f"reactions {deck}", texts[deck], lambda pair: not (brief and "?" in pair[0]))
        ends = brief or ("?" not in reaction and self.plan.rng.random() < 0.5)
        return [f"F {reaction}"] if ends else [f"F {reaction}", f"O {answer}"]

    def _arc(self, passage: Passage) -> list[Line]:
        member, stage = member_of(passage), passage.template
        today = self.plan.dates[passage.session]
        day = day_before(today, self._date_before(passage), self.plan.rng)
        said_day = day
        if passage.misdated:
            said_day = day - timedelta(days=self.plan.rng.randint(1, _SLIP))
        passage.day = day
        when = self._expression(passage, said_day)
        slots, lines = self._lines("", [stage["lines"]], member.owner, {"when": when}, member)
        self._spoken[id(passage)] = (slots, lines)
        if not passage.misdated:
            self.facts.events.append(Event(member, stage["noun"], lines[0], when))
        return lines

    def _date_correction(self, passage: Passage) -> list[Line]:
        member, wrong = member_of(passage), passage.after
        assert wrong is not None and wrong.day is not None
        slots, earlier = self._spoken[id(wrong)]
        when = self._expression(passage, wrong.day, exact=True)
        noun = fill(wrong.template["noun"], slots)
        noun = noun[0].lower() + noun[1:] if wrong.template["noun"][0].islower() else noun
        friends = re.sub(r"\bI\b", "you", noun)
        texts = data("text/talk.json")["date_corrections"]
        _, lines = self._lines(
            "date corrections", texts, member.owner, {"when": when, "noun": noun, "noun_f": friends}, member
        )
        line = next(line for line in lines if when in line.text or when.capitalize() in line.text)
        self.facts.events.append(Event(member, wrong.template["noun"], line, when, (earlier[0],)))
        return lines

    def _origin(self, passage: Passage) -> list[Line]:
        member = member_of(passage)
        slots, lines = self._lines(
            "", [passage.template["lines"]], member.owner, self._givers(passage, wrong=passage.wrong_giver), member
        )
        self._spoken[id(passage)] = (slots, lines)
        if not passage.wrong_giver:
            saying = _saying(lines, lines[1], member)
            told_of = tuple(passage.template["kinds"])
            self.facts.statements.append(Statement("origin", member, member.giver.name, saying, told_of))
        return lines

    def _giver_correction(self, passage: Passage) -> list[Line]:
        member, origin = member_of(passage), passage.after
        assert origin is not None
        texts = data("text/talk.json")["giver_corrections"]
        extra = {**self._givers(passage), "who": origin.template["who"].replace("{N}", member.name)}
        _, lines = self._lines("giver corrections", texts, member.owner, extra, member)
        correction = next(line for line in lines if line.speaker == member.owner)
        earlier = self._spoken[id(origin)][1][1]
        told_of = tuple(origin.template["kinds"])
        self.facts.statements.append(Statement("origin", member, member.giver.name, (correction, earlier), told_of))
        return lines

    def _job(self, passage: Passage) -> list[Line]:
        member = member_of(passage)
        _, lines = self._lines("jobs", data("text/talk.json")["jobs"], member.owner, self._givers(passage), member)
        origin = next(
            statement
            for statement in self.facts.statements
            if statement.kind == "origin" and statement.member is member
        )
        line = next(line for line in lines if line.speaker == member.owner)
        self.facts.statements.append(Statement("job", member, member.giver.job, (*origin.lines, line)))
        return lines

    def _nickname(self, passage: Passage) -> list[Line]:
        member = member_of(passage)
        texts = data("text/talk.json")["nicknames"]
        _, lines = self._lines("nicknames", texts, member.owner, {"nick": member.nickname}, member, own_name=True)
        owner_line = next(line for line in lines if line.speaker == member.owner)
        is_named_there = contains_phrase(owner_line.text, member.nickname)
        other_lines = [line for line in lines if line is not owner_line and not is_named_there]
        self.facts.nicknames[member.name] = (*other_lines, owner_line)
        return lines

    def _class_distractor(self, passage: Passage) -> list[Line]:
        member, talk, plan = member_of(passage), data("text/talk.json"), self.plan
        colours = [c for c in talk["colours"] if c not in secret_words(member.concept)]
        extra = {
            "other": plan.decks.draw_shuffled("others", talk["others"]),
            "colour": plan.decks.draw_shuffled("colours", colours),
        }
        deck = f"class_distractors_{'pet' if member.kind == 'pet' else 'thing'}"
        return self._lines(deck, talk[deck], member.owner, extra, member)[1]

    def _place_distractor(self, passage: Passage) -> list[Line]:
        texts = data("text/talk.json")["place_distractors"]
        place = self.plan.decks.draw_shuffled("places", data("text/talk.json")["places"])
        return self._lines("place distractors", texts, None, {"place": place}, None)[1]

    def _life(self, passage: Passage) -> list[Line]:
        return self._lines("", [passage.template["lines"]], passage.owner, {}, None, helper=passage.helper)[1]

    def _chat(self, passage: Passage) -> list[Line]:
        """Returns small talk, begun by the next speaker; on another subject if it would repeat sentences."""
        for _ in data("text/chat.json"):
            lines = self._lines("", [passage.template["lines"]], None, {}, None)[1]
            if not self._repeated:
                break
            passage.template = chat_for(self.plan, passage.session)
        return lines


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def lines_of(script: Script, number: int) -> Iterator[tuple[Passage | None, list[Line]]]:
    """Yields the passages of a session in their order, with the greeting first and the farewell last."""
    yield None, script.greetings[number]
    yield from script.passages[number]
    yield None, script.closings[number]


def _saying(lines: Sequence[Line], line: Line, member: Member) -> tuple[Line, ...]:
    """Returns the line, with the first one of its passage if only that names the concept: "Lynn carried the heavy things"."""
    return (line,) if line is lines[0] or contains_phrase(line.text, member.name) else (lines[0], line)
