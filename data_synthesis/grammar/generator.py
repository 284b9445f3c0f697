"""The generator that needs no language model."""

from data_synthesis.grammar.layout import sessions_of
from data_synthesis.grammar.plan import plan_of
from data_synthesis.grammar.questions import questions_of
from data_synthesis.grammar.script import Script
from data_synthesis.group import GeneratedGroup, GroupRequest
from data_synthesis.wording import long_sentences


class GrammarGenerator:
    """Equal requests in equal order give equal groups; what an earlier one says at length, no later one says again.

    What is asked is true by construction: the facts come before the words.
    """

    name = "grammar"
    version = "3"

    def __init__(self) -> None:
        self._said: set[str] = set()
        self._told: set[str] = set()

    async def generate(self, request: GroupRequest) -> GeneratedGroup:
        script = Script(plan_of(request, self._told), self._said)
        sessions = sessions_of(script)
        self._told.add(script.plan.frame["id"])
        for session in sessions:
            for turn in session:
                self._said.update(long_sentences(turn.text))
        notes: dict[str, object] = {"frame": script.plan.frame["id"]}
        return GeneratedGroup(sessions, questions_of(script, sessions), notes)
