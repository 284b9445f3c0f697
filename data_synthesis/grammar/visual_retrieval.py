"""What the facts of a script tell of a concept, to be asked with a photo of it that nobody has shown."""

from collections.abc import Iterator

from data_synthesis.grammar.script import Script
from data_synthesis.group import PersonalConcept
from data_synthesis.retrieval_questions import THE_ONE, Remembered

PER_CONCEPT = 2
PER_CONCEPT_ALONE = 4  # where nothing else is asked
_ASKED = {
    "origin": "Whom does {owner} have to thank for {one}?",
    "job": "What is the profession of the person to whom {owner} owes {one}?",
}


def told_of(script: Script, concept: PersonalConcept) -> Iterator[Remembered]:
    """Asked so that the words fit every concept of the same owner: only the photo tells which one is meant."""
    shown = [one.line.at for one in script.facts.shown if one.member.concept is concept]
    for told in script.facts.told:
        if told.member.concept is concept and told.kind in _ASKED:
            text = _ASKED[told.kind].format(owner=script.plan.request.speakers[told.member.owner], one=THE_ONE)
            places = (*shown, *(line.at for line in told.lines))
            yield Remembered(told.kind, text, told.answer, places, told.accepted)
    member = next(one for one in script.plan.members if one.concept is concept)
    if lines := script.facts.nicknamed.get(member.name):
        text = f"By what nickname is {THE_ONE} known?"
        yield Remembered("nickname", text, member.nickname, (*shown, *(line.at for line in lines)))
