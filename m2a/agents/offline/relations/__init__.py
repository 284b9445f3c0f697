"""Facts of named subjects, and questions that lead from one to the next."""

from m2a.agents.offline.relations.told import Statements
from m2a.agents.offline.relations.walk import follow
from m2a.agents.offline.sense import Sense
from m2a.agents.state import FindMessages, FollowedFact

_READ_WHOLE = 10  # of a message with so many statements memories are kept of all


def facts_that_lead(question: str, find: FindMessages, sense: Sense) -> tuple[FollowedFact, ...]:
    """The facts that lead from the question's subject to its answer, in order, the newest of each relation.

    None where nothing leads there, and where all of them stand in short messages: the memories that are kept of those answer.
    """
    followed = follow(question, Statements(find, sense.models["is the value"]), sense)
    if followed is None or all(fact.among <= _READ_WHOLE for fact in followed.facts):
        return ()
    return tuple(FollowedFact(fact.place[0], fact.quotation, fact.value) for fact in followed.facts)
