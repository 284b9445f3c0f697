"""Puts a plan into words: lines of talk, and the facts that each line tells or shows."""

from collections.abc import Collection, Iterator

from data_synthesis.grammar.cast import things
from data_synthesis.grammar.dates_said import day_before
from data_synthesis.grammar.facts import Happened, Line, Shown, Told
from data_synthesis.grammar.known import fits_photo, seasonal, secret_words, suits_hour
from data_synthesis.grammar.plan import Passage, Plan
from data_synthesis.grammar.telling import TRIES, Slots, Telling, member_of, within
from data_synthesis.grammar.words import data, fill, written_out
from data_synthesis.wording import holds, whole_words


class Script(Telling):
    """The lines of each session, passage by passage, and the facts in them. `elsewhere` is what other groups said."""

    def __init__(self, plan: Plan, elsewhere: Collection[str] = ()):
        super().__init__(plan, elsewhere)
        self.stages: list[list[Line]] = []
        self.passages: list[list[tuple[Passage, list[Line]]]] = []
        self.closings: list[list[Line]] = []
        self._spoken: dict[int, tuple[Slots, list[Line]]] = {}
        self._frame = self._frame_slots()
        for number, session in enumerate(plan.sessions):
            self.stages.append(self._stage(number))
            self.passages.append(list(self._in_order(session, self.stages[-1][-1].speaker)))
            self.closings.append(self._closing(number))

    # The frame story

    def _frame_slots(self) -> dict[str, str]:
        slots = things(self.plan.decks)
        return {key: slots[key] for key in ("town", "cafe", "club", "street", "shop", "show")}

    def _stage(self, number: int) -> list[Line]:
        stages = self.plan.frame["stages"]
        last = number == len(self.plan.sessions) - 1
        lines = stages[-1] if last else stages[number]
        own = [[f"<{member.name}>" for member in self.plan.members if member.owner == who] for who in range(2)]
        for _ in range(TRIES):
            slots = {**things(self.plan.decks), **self._frame, "mine": _joined(own[0]), "yours": _joined(own[1])}
            spoken = []
            first, second = self.plan.cast.project
            for line in lines:
                speaker = "AB".index(line[0])
                people = self._people(first, second, speaker == 0, line)
                spoken.append(Line(speaker, self._said_by(speaker, line[2:], {**slots, **people})))
            if not any(self.said.repeats(line.text) for line in spoken):
                break
        for line in spoken:
            self.said.add(line.text)
        return spoken

    # Passages

    def _in_order(self, session: list[Passage], last: int) -> Iterator[tuple[Passage, list[Line]]]:
        """The passages so that, where it can be, each is begun by whoever did not speak last."""
        left = list(session)
        while left:
            self._first = 1 - last
            fitting = [one for one in left if self._can_begin(one)]
            passage = (fitting or left)[0]
            showing = [one for one in fitting if one.kind == "photo"]
            if showing and len(left) == len(session):
                passage = showing[0]  # an opening asks for pictures
            left.remove(passage)
            lines = self._write(passage)
            last = lines[-1].speaker
            yield passage, lines
        self._first = 1 - last

    def _can_begin(self, passage: Passage) -> bool:
        if passage.kind in ("photo", "arc"):
            return passage.owner == self._first
        return passage.kind != "origin" or passage.owner != self._first

    def _write(self, passage: Passage) -> list[Line]:
        writers = {
            "photo": self._photo,
            "arc": self._arc,
            "origin": self._origin,
            "job": self._job,
            "nickname": self._nickname,
            "date correction": self._date_correction,
            "giver correction": self._giver_correction,
            "class distractor": self._class_distractor,
            "place distractor": self._place_distractor,
            "digression": self._digression,
        }
        return writers[passage.kind](passage)

    def _photo(self, passage: Passage) -> list[Line]:
        member, photo = member_of(passage), passage.photo
        assert photo is not None
        texts, plan = data("text/photos.json"), self.plan
        today = plan.dates[passage.session]
        dated = plan.drawn.random() < 0.6
        found = seasonal(photo) or member.kind == "drawing"
        drawing = member.kind == "drawing"
        deck = ("show_found" if found else "show_dated") if dated else "show_plain"
        plainly = plan.drawn.random() < 0.2
        back_then = "" if not (dated and found) else plan.decks.draw("back then", data("text/talk.json")["back_then"])
        when = self._expression(passage, day_before(today, self._previous(passage), plan.drawn)) if dated else ""
        friend = plan.speech[1 - member.owner]
        replies = f"reactions_{'wry' if friend.wry else 'warm'}"
        for attempt in range(TRIES):
            before = set(self._introduced)
            anecdote = plan.decks.draw(
                "anecdotes", texts["anecdotes"], lambda one: fits_photo(one["told"], photo, drawing)
            )
            answered: str = plan.decks.draw(replies, texts[replies], lambda one: fits_photo(one, photo, drawing))
            show: str = plan.decks.draw(deck, texts[deck], lambda one: fits_photo(one, photo, drawing))
            story = "" if drawing else f" {within(back_then, anecdote['told'])}"
            template = [
                f"O {show}{story}",
                *(f"{who} {text}" for who, text in zip("FO", answered.split("|"), strict=True)),
            ]
            if plainly:
                template[1:] = [f"F {plan.decks.draw('plain', data('text/talk.json')['plain'])}"]
            slots, lines = self._lines("", [template], member.owner, {"when": when}, member, attempts=1)
            secret = secret_words(member.concept) & {word for line in lines for word in whole_words(line.text)}
            if not self._repeated and (not secret or attempt > TRIES // 2):
                break
            self._introduced = before
        for line in lines:
            self.said.add(line.text)
        lines[0].photo = photo.path
        asked = fill(anecdote["asked"], {**slots, "owner": plan.request.speakers[member.owner]})
        told = written_out(anecdote["told"].replace("{kin1}", "{p1}").replace("{Kin1}", "{p1}"), slots)
        asked = asked if asked.startswith(plan.request.speakers[member.owner]) else asked[0].lower() + asked[1:]
        if drawing:
            asked = told = ""
        self.facts.shown.append(Shown(member, photo, lines[0], today, asked, told, when, found))
        return lines

    def _arc(self, passage: Passage) -> list[Line]:
        member, stage = member_of(passage), passage.template
        today = self.plan.dates[passage.session]
        day = day_before(today, self._previous(passage), self.plan.drawn)
        said_day = day
        if passage.misdated:
            said_day = day_before(today, None, self.plan.drawn)
            while said_day == day:
                said_day = day_before(today, None, self.plan.drawn)
        passage.day = day
        when = self._expression(passage, said_day)
        slots, lines = self._lines("", [stage["lines"]], member.owner, {"when": when}, member)
        self._spoken[id(passage)] = (slots, lines)
        if not passage.misdated:
            self.facts.happened.append(Happened(member, stage["ask"], lines[0], when))
        for fact in stage["facts"]:
            line = lines[fact["line"]]
            answer = self.plan.speech[line.speaker].spelled(fill(fact["answer"], slots))
            self.facts.told.append(
                Told(
                    "arc",
                    member,
                    fact["ask"].replace("{p1}", slots["p1"]),
                    answer,
                    (line,),
                    tuple(fact.get("accepted", ())),
                )
            )
        return lines

    def _date_correction(self, passage: Passage) -> list[Line]:
        member, wrong = member_of(passage), passage.after
        assert wrong is not None and wrong.day is not None
        slots, earlier = self._spoken[id(wrong)]
        when = self._expression(passage, wrong.day, exact=True)
        noun = fill(wrong.template["noun"], slots)
        noun = noun[0].lower() + noun[1:] if wrong.template["noun"][0].islower() else noun
        texts = data("text/talk.json")["date_corrections"]
        _, lines = self._lines("date corrections", texts, member.owner, {"when": when, "noun": noun}, member)
        line = next(line for line in lines if when in line.text or when.capitalize() in line.text)
        self.facts.happened.append(Happened(member, wrong.template["ask"], line, when, (earlier[0],)))
        return lines

    def _origin(self, passage: Passage) -> list[Line]:
        member = member_of(passage)
        slots, lines = self._lines(
            "", [passage.template["lines"]], member.owner, self._givers(passage, wrong=passage.wrong_giver), member
        )
        self._spoken[id(passage)] = (slots, lines)
        if not passage.wrong_giver:
            self.facts.told.append(Told("origin", member, passage.template["ask"], member.giver.name, (lines[1],)))
        return lines

    def _giver_correction(self, passage: Passage) -> list[Line]:
        member, origin = member_of(passage), passage.after
        assert origin is not None
        texts = data("text/talk.json")["giver_corrections"]
        extra = {**self._givers(passage), "who": origin.template["who"].replace("{N}", member.name)}
        _, lines = self._lines("giver corrections", texts, member.owner, extra, member)
        told = next(line for line in lines if line.speaker == member.owner)
        earlier = self._spoken[id(origin)][1][1]
        ask = origin.template["ask"]
        self.facts.told.append(Told("origin", member, ask, member.giver.name, (told, earlier)))
        return lines

    def _job(self, passage: Passage) -> list[Line]:
        member = member_of(passage)
        _, lines = self._lines("jobs", data("text/talk.json")["jobs"], member.owner, self._givers(passage), member)
        origin = next(one for one in self.facts.told if one.kind == "origin" and one.member is member)
        told = next(line for line in lines if line.speaker == member.owner)
        ask = "What is the profession of the person to whom {owner} owes {N}?"
        self.facts.told.append(Told("job", member, ask, member.giver.job, (*origin.lines[:1], told)))
        return lines

    def _nickname(self, passage: Passage) -> list[Line]:
        member = member_of(passage)
        texts = data("text/talk.json")["nicknames"]
        _, lines = self._lines("nicknames", texts, member.owner, {"nick": member.nickname}, member, own_name=True)
        told = next(line for line in lines if line.speaker == member.owner)
        asked = () if holds(told.text, member.nickname) else tuple(line for line in lines if line is not told)
        self.facts.nicknamed[member.name] = (*asked, told)
        return lines

    def _class_distractor(self, passage: Passage) -> list[Line]:
        member, talk, plan = member_of(passage), data("text/talk.json"), self.plan
        colours = [c for c in talk["colours"] if c not in secret_words(member.concept)]
        extra = {
            "other": plan.decks.chance("others", talk["others"]),
            "colour": plan.decks.chance("colours", colours),
            "place": self._distracting_place(passage.owner),
        }
        return self._lines("class distractors", talk["class_distractors"], member.owner, extra, member)[1]

    def _place_distractor(self, passage: Passage) -> list[Line]:
        return self._either_way("place distractors", {"place": self._distracting_place(passage.owner)})

    def _digression(self, passage: Passage) -> list[Line]:
        return self._either_way("digressions")

    def _closing(self, number: int) -> list[Line]:
        """A farewell that suits the hour."""
        hour = self.plan.request.placement.times[number].hour
        texts = data("text/talk.json")["closings"]
        return self._lines("closings", texts, None, {}, None, suits=lambda one: suits_hour(" ".join(one), hour))[1]

    def _either_way(self, deck: str, extra: Slots | None = None) -> list[Line]:
        """A passage about no concept, told by whoever has the word."""
        texts = data("text/talk.json")[deck.replace(" ", "_")]
        return self._lines(deck, texts, None, extra or {}, None)[1]


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def lines_of(script: Script, number: int) -> Iterator[tuple[Passage | None, list[Line]]]:
    """The passages of a session in their order, the frame story first and the farewell last."""
    yield None, script.stages[number]
    yield from script.passages[number]
    yield None, script.closings[number]
