"""The MemoryManager: searches the memory, and decides on changes to it (M2A, section 4.3). The assistant writes them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from m2a.agents.consent import Consent, concepts_used, consented
from m2a.agents.consent_request import ConsentCheck, Proposal
from m2a.agents.in_thread import in_thread
from m2a.agents.memory_search import MemorySearch
from m2a.agents.photo_views import PhotoViews
from m2a.agents.policy import Policy
from m2a.agents.proposing import Proposer, with_reasons, without_repeated
from m2a.agents.state import MemoryContext, Opened, Rejected, Searched, Step, TurnState, records_of
from m2a.agents.steps import GaveUpError, UsageMeter, next_action, with_step
from m2a.memory.bank import MemoryBank
from m2a.types import Action, Emit, Finish, Hit, MemoryEntry, Message, Update
from models.captioner import Captioner

UNNAMED_HITS = 5


class MemoryManager:
    """Carries out the ChatAgent's requests to the memory, in rounds that the policy chooses."""

    def __init__(self, bank: MemoryBank, policy: Policy, captioner: Captioner, *, max_rounds: int) -> None:
        self._bank = bank
        self._policy = policy
        self._search = MemorySearch(bank, policy)
        self._photos = PhotoViews(bank, captioner, policy)
        self._proposer = Proposer(bank, policy, captioner, self._search, self._photos, max_rounds=max_rounds)
        self._max_rounds = max_rounds

    async def query(self, state: TurnState, request: str, meter: UsageMeter, emit: Emit) -> MemoryContext:
        """Searches, opens evidence and searches again (progressive narrowing). Returns the resulting context.

        Emits what is searched and opened. If it runs out of rounds or usable answers, the context holds the results of the
        last search, and says so.
        """
        state = replace(state, stage="manage query", request=request, steps=())
        if (followed := await in_thread(self._search.follow, state)) is not None:
            return followed
        for rounds_left in range(self._max_rounds, 0, -1):
            try:
                action, state = await next_action(self._policy, replace(state, rounds_left=rounds_left), meter)
            except GaveUpError:
                break
            if isinstance(action, Finish):
                outcome = await in_thread(self._finish_query, state, action)
                if isinstance(outcome, MemoryContext):
                    return outcome
                state = with_step(state, Step(action, outcome))
                continue
            state = with_step(state, await self.search_or_fetch(state, action, emit))
        return await in_thread(self._unfinished, state)

    async def recall(self, state: TurnState, emit: Emit, *, nearest: int) -> MemoryContext:
        """Searches with the new message, by itself and together with the user's message before it, without a model call.

        Also searches for the known names in it, and for its sentences if little is found, because a message about several
        things is close to no single memory. If the message by itself finds nothing, the context also has the `nearest`
        records, whatever the other searches find: "27 years, not 30" shares little with what it corrects, and "the thing with
        the archive, I don't want it to come up again" has many words besides those that name it.
        """
        searches, context = await in_thread(self._search.recall, state, nearest=nearest)
        for search in searches:
            emit(search)
        return context

    async def search_or_fetch(self, state: TurnState, action: Action, emit: Emit) -> Step:
        """Carries out a search or a fetch, and emits what is searched or opened."""
        step, event = await in_thread(self._search.search_or_fetch, state, action)
        if event is not None:
            emit(event)
        return step

    async def context_of(self, observation: Searched | Opened) -> MemoryContext:
        """Returns an observation as a context on which a reply can rest."""
        if isinstance(observation, Searched):
            return await in_thread(self._search.context, "", observation.hits)
        return await in_thread(self._search.context, "", [Hit(message, 0.0, {}) for message in observation.messages])

    def found_for(self, reply: Message) -> tuple[MemoryContext, ...]:
        """Returns what the searches of a reply found and still holds, in one context; none if they found nothing. Blocks.

        It contains more than the message finds by itself if the reply searched again, say in the language of the memories.
        """
        return self._search.found_for(reply)

    async def update(self, state: TurnState, request: str, meter: UsageMeter) -> Update:
        """Decides what to write. Returns the checked changes, which are not written yet, and the refusals.

        The changes may name the photos of all that is found, by the message itself or by searches of the update.
        The policy's consent check, if it has one, has the last word. A refused proposal that came from the user may be
        proposed once more in other words. Raises `GaveUpError` if the policy gives no usable answer; then nothing must be
        written.
        """
        records = [record for context in state.context for record in records_of(context)]
        photos = await in_thread(self._photos.named, records, state)
        state = replace(state, stage="manage update", request=request, steps=(), recalled=(*state.recalled, *photos))
        state = replace(state, asked=tuple((await in_thread(self._bank.asked)).values()))
        proposed, state = await self._proposer.propose(state, meter)
        if not proposed.proposals:
            return Update(refusals=proposed.refusals)
        check = self._policy.consent
        if check is None:
            return Update(tuple(proposal.change for proposal in proposed.proposals), proposed.refusals)
        consent = await self._consented(check, state, proposed.proposals, meter)
        changes, refusals, unasked = consent.changes, consent.refusals, consent.unasked
        if consent.refused:
            second, state = await self._proposer.propose(with_reasons(state, consent.refused), meter)
            if second.proposals:
                consent = await self._consented(check, state, second.proposals, meter)
                changes, unasked = (*changes, *consent.changes), unasked + consent.unasked
                refusals = (*without_repeated(refusals, second.proposals), *consent.refusals)
        update = await in_thread(self._proposer.writable, Update(changes, refusals, unasked))
        return replace(update, refusals=(*update.refusals, *proposed.refusals))

    async def _consented(
        self, check: ConsentCheck, state: TurnState, proposals: Sequence[Proposal], meter: UsageMeter
    ) -> Consent:
        concepts = await in_thread(self._bank.concepts)
        introductions = await in_thread(self._search.introductions, state, concepts_used(concepts, proposals))
        return await consented(check, state, proposals, concepts, meter, introductions=introductions)

    def _finish_query(self, state: TurnState, action: Finish) -> MemoryContext | Rejected:
        seen = {hit.record.memory_id: hit for hit in _hits(state) if isinstance(hit.record, MemoryEntry)}
        unknown = [memory_id for memory_id in action.memory_ids if memory_id not in seen]
        if unknown:
            return Rejected(f"No search found memory {unknown[0]}; name only memories that were found.")
        messages = self._bank.messages(action.message_ids)
        missing = [message_id for message_id in action.message_ids if message_id not in messages]
        if missing:
            return Rejected(f"There is no message {missing[0]}.")
        hits = [seen[memory_id] for memory_id in dict.fromkeys(action.memory_ids)]
        hits += [Hit(messages[message_id], 0.0, {}) for message_id in dict.fromkeys(action.message_ids)]
        # A policy that judges each hit and names none found none; a model that names none has often just forgotten to.
        if not hits and not self._policy.judges_hits:
            hits += _last_hits(state)
        return replace(self._search.context(action.context, hits), answers=action.answers)

    def _unfinished(self, state: TurnState) -> MemoryContext:
        text = "The search was not finished; this is what it had found."
        return self._search.context(text, _last_hits(state), complete=False)


def _hits(state: TurnState) -> Iterable[Hit]:
    """Yields all hits of the stage, in order of the searches."""
    for step in state.steps:
        if isinstance(step.observation, Searched):
            yield from step.observation.hits


def _last_hits(state: TurnState) -> tuple[Hit, ...]:
    """Returns the best hits of the last search that had any."""
    searches = [step.observation.hits for step in state.steps if isinstance(step.observation, Searched)]
    return next((hits[:UNNAMED_HITS] for hits in reversed(searches) if hits), ())
