"""The generator that needs no language model."""

from data_synthesis.grammar.layout import sessions_of
from data_synthesis.grammar.plan import plan_of
from data_synthesis.grammar.questions import questions_of
from data_synthesis.grammar.script import Script
from data_synthesis.group import GeneratedGroup, GroupRequest


class GrammarGenerator:
    """Equal requests give equal groups. What is asked is true by construction: the facts come before the words."""

    name = "grammar"
    version = "1"

    async def generate(self, request: GroupRequest) -> GeneratedGroup:
        script = Script(plan_of(request))
        sessions = sessions_of(script)
        notes: dict[str, object] = {"frame": script.plan.frame["id"]}
        return GeneratedGroup(sessions, questions_of(script), notes)
