"""Turns out of lines: the speakers alternate, each in their own voice, and no session is longer than it may be."""

import re

from data_synthesis.grammar.facts import Line
from data_synthesis.grammar.plan import Passage
from data_synthesis.grammar.script import Script, lines_of
from data_synthesis.grammar.speech import Template
from data_synthesis.grammar.words import data
from data_synthesis.group import TURNS_PER_SESSION, GeneratedTurn, TurnPlace
from data_synthesis.wording import whole_words

_ANNOUNCES = re.compile(r"(By the way|Oh|Wait|And|Okay|Well|So|Anyway|Guess|You know|You won't)\b")
_WITHOUT_QUESTION = re.compile(r"(?<=[.!]) [^.!?]*\?$")
_ANSWERED = 0.85  # share of the turns with a new subject that first answer the turn before


def sessions_of(script: Script) -> tuple[tuple[GeneratedTurn, ...], ...]:
    """Returns the sessions as turns. Sets the place of every line of the script."""
    return tuple(_session(script, number) for number in range(len(script.plan.sessions)))


def _session(script: Script, number: int) -> tuple[GeneratedTurn, ...]:
    passages = list(lines_of(script, number))
    room = max(TURNS_PER_SESSION) - sum(len(lines) for _, lines in passages)
    turns: list[list[Line]] = []
    spoken_of: set[str] = set()
    shown = False
    before = ""
    for place, (passage, lines) in enumerate(passages):
        if turns and turns[-1][-1].speaker == lines[0].speaker:
            invitation = _invitation(script, passage, spoken_of, shown, turns[-1]) if room > 0 else None
            if invitation is not None:
                if before == "sad":
                    _lead_in(script, invitation, after_sad=True)
                _answer(script, invitation, before)
                turns.append([invitation])
                lines[0].opening = lines[0].opening or ("sure" if lines[0].photo else "")
                room -= 1
            else:
                last = turns[-1][-1]
                last.text = _WITHOUT_QUESTION.sub("", last.text)
                if place > 1:
                    _lead_in(script, lines[0], sad=_mood(passage, lines) == "sad")
        elif turns:
            if passage is not None and place > 1:
                _lead_in(script, lines[0], sad=_mood(passage, lines) == "sad", after_sad=before == "sad")
            _answer(script, lines[0], before)
        before = _mood(passage, lines)
        if passage is not None and passage.member is not None:
            spoken_of.add(passage.member.name)
            shown = shown or passage.kind == "photo"
        for line in lines:
            if turns and turns[-1][-1].speaker == line.speaker:
                turns[-1].append(line)
            else:
                turns.append([line])
    for place, turn in enumerate(turns, start=1):
        for line in turn:
            line.place = TurnPlace(number + 1, place)
    return tuple(_turn(script, turn) for turn in turns)


def _turn(script: Script, lines: list[Line]) -> GeneratedTurn:
    forbidden = script.hidden.union(*(line.secret for line in lines))

    def may_say(text: str) -> bool:
        if script.used.repeats(text) or not forbidden.isdisjoint(whole_words(text)):
            return False
        script.used.add(text)
        return True

    speaker = lines[0].speaker
    parts = [Template(line.opening, line.text, line.extras, line.tail, line.led) for line in lines]
    text = script.plan.speech[speaker].turn(parts, may_say)
    photos = tuple(line.photo for line in lines if line.photo is not None)
    return GeneratedTurn(script.plan.request.speakers[speaker], text, photos)


def _mood(passage: Passage | None, lines: list[Line]) -> str:
    """Returns the kind of answer that the lines call for: "asked", "sad", "mixed", "good", "told", or "" for none."""
    if passage is None:
        return "asked" if lines[-1].text.endswith("?") else ""
    if lines[-1].speaker != lines[0].speaker:
        return "told" if passage.kind == "origin" else ""
    if passage.kind not in ("life", "chat", "arc"):
        return ""
    return str(passage.template.get("mood", "good"))


def _answer(script: Script, line: Line, mood: str) -> None:
    """Puts a short answer to the other's last words before a line on a new subject. A question is always answered."""
    if not mood or line.opening or (mood != "asked" and script.plan.rng.random() > _ANSWERED):
        return
    answers = data("text/talk.json")[f"acks_{mood}"]
    for _ in answers:
        answer = script.plan.decks.draw_shuffled(f"acks {mood}", answers)
        if not script.used.repeats(answer):
            script.used.add(answer)
            line.text, line.led = f"{answer} {line.text}", True
            return


def _lead_in(script: Script, line: Line, *, sad: bool = False, after_sad: bool = False) -> None:
    """Announces a change of subject, unless the line does so itself. A change to something `sad` is not "by the way"."""
    if _ANNOUNCES.match(line.text):
        return
    deck = "bridges_to_ask" if "?" in line.text else "bridges"
    if after_sad and (line.photo is not None or "?" in line.text):
        deck += "_after_sad"
    elif sad:
        deck = "bridges_to_sad"
    line.led = True
    line.text = script.within(script.plan.decks.draw(deck, data("text/talk.json")[deck]), line.text)


def _invitation(
    script: Script, passage: Passage | None, spoken_of: set[str], shown: bool, turn: list[Line]
) -> Line | None:
    """Returns the friend's invitation to show or tell something that was not mentioned in this session yet, or None.

    Before a photo it is always wanted, because a photo should not share its turn with anything else.
    """
    if passage is None or passage.member is None or passage.kind not in ("photo", "arc"):
        return None
    crowded = passage.kind == "photo" or any(line.photo is not None for line in turn)
    if passage.member.name in spoken_of and not crowded:
        return None
    return script.invitation(passage.member, show=passage.kind == "photo", again=shown)
