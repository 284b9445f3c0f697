"""The facts of a script that can be asked about with an unseen photo of a concept."""

from collections.abc import Iterator

from data_synthesis.grammar.script import Script
from data_synthesis.grammar.visual_facts import origin_question, photo_places
from data_synthesis.group import PersonalConcept
from data_synthesis.retrieval_questions import THE_ONE, Remembered

PER_CONCEPT = 2
PER_CONCEPT_ALONE = 4  # where nothing else is asked


def remembered_of(script: Script, concept: PersonalConcept) -> Iterator[Remembered]:
    """Yields facts whose question fits several concepts, with different answers, so that the photo must show which is meant."""
    member = next(member for member in script.plan.members if member.concept is concept)
    shown = photo_places(script, member)
    for fact in script.facts.ambiguous_origins():
        if fact.member is member:
            text = origin_question(script, fact, THE_ONE)
            yield Remembered(fact.kind, text, fact.answer, (*shown, *(line.at for line in fact.lines)))
    if lines := script.facts.ambiguous_nicknames().get(member.name):
        text = f"By what nickname is {THE_ONE} known?"
        yield Remembered("nickname", text, member.nickname, (*shown, *(line.at for line in lines)))
