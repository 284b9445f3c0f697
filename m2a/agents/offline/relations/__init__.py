"""Facts about named subjects, and questions that lead from one to the next."""

from m2a.agents.offline.relations.facts import Statements
from m2a.agents.offline.relations.walk import follow
from m2a.agents.offline.sense import Sense
from m2a.agents.state import SENTENCES_FOR_FACTS, FindMessages, FollowedFact


def facts_that_lead(question: str, find: FindMessages, sense: Sense) -> tuple[FollowedFact, ...]:
    """Returns the facts that lead from the question's subject to its answer, in order, the newest of each relation.

    Returns none if there is no way to an answer, or if all facts are in short messages, whose memories answer already.
    """
    followed = follow(question, Statements(find, sense.models["is the value"]), sense)
    if followed is None or all(fact.among < SENTENCES_FOR_FACTS for fact in followed.facts):
        return ()
    return tuple(FollowedFact(fact.place[0], fact.quotation, fact.value) for fact in followed.facts)
