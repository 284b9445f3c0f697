"""The facts of a script that can be asked about with an unseen photo of a concept."""

from collections.abc import Iterator

from data_synthesis.grammar.script import Script
from data_synthesis.grammar.visual_facts import photo_places
from data_synthesis.group import PersonalConcept
from data_synthesis.retrieval_questions import THE_ONE, Remembered

PER_CONCEPT = 2
PER_CONCEPT_ALONE = 4  # where nothing else is asked
_ASKED = {
    "origin": "Whom does {owner} have to thank for {one}?",
    "job": "What is the profession of the person to whom {owner} owes {one}?",
}


def remembered_of(script: Script, concept: PersonalConcept) -> Iterator[Remembered]:
    """The questions fit every concept of the same owner, so that only the photo tells which one is meant."""
    member = next(member for member in script.plan.members if member.concept is concept)
    shown = photo_places(script, member)
    for fact in script.facts.statements:
        if fact.member is member and fact.kind in _ASKED:
            text = _ASKED[fact.kind].format(owner=script.plan.request.speakers[member.owner], one=THE_ONE)
            places = (*shown, *(line.at for line in fact.lines))
            yield Remembered(fact.kind, text, fact.answer, places, fact.accepted)
    if lines := script.facts.nicknames.get(member.name):
        text = f"By what nickname is {THE_ONE} known?"
        yield Remembered("nickname", text, member.nickname, (*shown, *(line.at for line in lines)))
