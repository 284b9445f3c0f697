"""Turns out of lines: the speakers alternate, and no session is longer than it may be."""

from data_synthesis.grammar.facts import Line
from data_synthesis.grammar.plan import Passage
from data_synthesis.grammar.script import Script, lines_of
from data_synthesis.grammar.telling import within
from data_synthesis.grammar.words import data
from data_synthesis.group import TURNS_PER_SESSION, GeneratedTurn, TurnPlace


def sessions_of(script: Script) -> tuple[tuple[GeneratedTurn, ...], ...]:
    """The sessions as turns; every line of the script learns its place."""
    return tuple(_session(script, number) for number in range(len(script.plan.sessions)))


def _session(script: Script, number: int) -> tuple[GeneratedTurn, ...]:
    passages = list(lines_of(script, number))
    room = max(TURNS_PER_SESSION) - sum(len(lines) for _, lines in passages)
    turns: list[list[Line]] = []
    spoken_of: set[str] = set()
    shown = False
    for passage, lines in passages:
        if turns and turns[-1][-1].speaker == lines[0].speaker:
            invitation = _invitation(script, passage, spoken_of, shown) if room > 0 else None
            if invitation is not None:
                turns.append([invitation])
                room -= 1
            else:
                asks = "?" in lines[0].text
                joints = data("text/talk.json")["joints_to_ask" if asks else "joints"]
                joint = script.plan.decks.draw(f"joints {asks}", joints)
                lines[0].text = within(joint, lines[0].text, [one.name for one in script.plan.members])
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
    speakers = script.plan.request.speakers
    return tuple(
        GeneratedTurn(
            speakers[turn[0].speaker],
            " ".join(line.text for line in turn),
            tuple(line.photo for line in turn if line.photo is not None),
        )
        for turn in turns
    )


def _invitation(script: Script, passage: Passage | None, spoken_of: set[str], shown: bool) -> Line | None:
    """A cue by the friend for what the owner is about to show or tell, if nothing was said of it in this session."""
    if passage is None or passage.member is None or passage.kind not in ("photo", "arc"):
        return None
    if passage.member.name in spoken_of:
        return None
    return script.invitation(passage.member, show=passage.kind == "photo", again=shown)
