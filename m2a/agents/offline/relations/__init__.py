"""Facts about named subjects, and questions that lead from one to the next."""

from m2a.agents.offline.relations.chains import follow
from m2a.agents.offline.relations.facts import Statements
from m2a.agents.offline.sense import Sense
from m2a.agents.state import SENTENCES_FOR_FACTS, FindMessages, FollowedFact


def facts_that_lead(question: str, find: FindMessages, sense: Sense) -> tuple[FollowedFact, ...]:
    """Returns the facts that lead from the question's subject to its answer, in order, the newest of each relation.

    Returns none if they lead to no answer, or if all facts are in short messages, whose memories answer already.
    """
    chain = follow(question, Statements(find, sense.models["is the value"]), sense)
    if chain is None or all(fact.message_size < SENTENCES_FOR_FACTS for fact in chain.facts):
        return ()
    return tuple(FollowedFact(fact.place[0], fact.quotation, fact.value) for fact in chain.facts)
