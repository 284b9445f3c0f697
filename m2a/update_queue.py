"""The updates of one owner's memory that are still to be done, and what becomes of one that fails."""

import logging
import time

from m2a.agents.chat_agent import ChatAgent
from m2a.agents.in_thread import in_thread
from m2a.agents.steps import UsageMeter
from m2a.costing import cost_of
from m2a.memory.admission import admitted
from m2a.memory.bank import MemoryBank
from m2a.sentences import failure_sentence, log_unforeseen
from m2a.types import Emit, Failed, Message, NotKept, UnaskedChanges
from models.chat_model import ChatModelError
from models.prices import Price

SET_ASIDE_AFTER = 3

_QUOTED = 60

logger = logging.getLogger(__name__)


class UpdateQueue:
    """The replies after which the memory was not updated yet, in order. `who` writes, at that price."""

    def __init__(self, bank: MemoryBank, agent: ChatAgent, who: str, price: Price) -> None:
        self._bank = bank
        self._agent = agent
        self._who = who
        self._price = price

    async def work_off(self, emit: Emit | None, *, after: Message | None = None) -> None:
        """Do the updates in order, with `after` those up to that reply's.

        One that fails holds up those behind it, which may build on what it remembers, until it failed `SET_ASIDE_AFTER` times
        and is set aside. What came of the update of the reply `after` is emitted, and that one was set aside; without `emit`
        none is.
        """
        for reply_id in await in_thread(self._bank.replies.pending_updates):
            if after is not None and reply_id > after.message_id:
                return
            try:
                await self._update(reply_id, emit if after is not None and reply_id == after.message_id else None)
            except Exception as error:  # a broken update must not break the turn
                log_unforeseen(logger, f"The update of reply {reply_id}", error)
                failures = 0
                if _is_of_the_update(error, replied=after is not None):
                    failures = await in_thread(self._bank.replies.note_failed_update, reply_id, failure_sentence(error))
                if emit is not None and failures >= SET_ASIDE_AFTER:
                    await in_thread(self._bank.replies.set_aside_update, reply_id)
                    logger.warning("The update of reply %s was set aside after %s failures.", reply_id, failures)
                    emit(Failed("update", await in_thread(self._set_aside_notice, reply_id, error)))
                    continue
                if emit is not None and after is not None:
                    reason = f"I could not update my memory, and try it again later. {failure_sentence(error)}"
                    emit(Failed("update", reason))
                return

    async def _update(self, reply_id: int, emit: Emit | None) -> None:
        """One reply's update: decided first, then written in one transaction with the mark that it is done. What it took is
        kept, also where it fails."""
        began, meter = time.monotonic(), UsageMeter()
        try:
            await self._decide_and_write(reply_id, meter, emit)
        finally:
            cost = await in_thread(cost_of, "update", time.monotonic() - began, meter.usage, self._price)
            await in_thread(self._bank.replies.note_cost, reply_id, cost)

    async def _decide_and_write(self, reply_id: int, meter: UsageMeter, emit: Emit | None) -> None:
        answered = await in_thread(self._bank.replies.answered, reply_id)
        messages = await in_thread(self._bank.messages, [answered, reply_id])
        message, reply = messages[answered], messages[reply_id]
        update = await self._agent.update(message, reply, message.said_at, meter)
        update = admitted(update, await in_thread(self._bank.rule))
        written = await in_thread(
            self._bank.write,
            update.changes,
            who=self._who,
            update_of=reply_id,
            refusals=update.refusals,
            unasked=update.unasked,
        )
        if emit is None:
            return
        for changed in written:
            emit(changed)
        for number, refusal in enumerate(update.refusals):
            emit(NotKept(refusal.text, refusal.reason, None if refusal.change is None else number, refusal.held))
        if update.unasked:
            emit(UnaskedChanges(update.unasked))

    def _set_aside_notice(self, reply_id: int, error: Exception) -> str:
        answered = self._bank.replies.answered(reply_id)
        words = " ".join(self._bank.messages([answered])[answered].text.split())
        quoted = f"“{words[:_QUOTED]}{'…' * (len(words) > _QUOTED)}”" if words else "the photo that you sent"
        return (
            f"I tried {SET_ASIDE_AFTER} times to update my memory after {quoted}, and it failed. {failure_sentence(error)} "
            "I set it aside, so that nothing waits for it: what you said stays in the chat, and `m2a repair` tries it again."
        )


def _is_of_the_update(error: Exception, *, replied: bool) -> bool:
    """Whether the failure is one of the update, and not that the model's server cannot be reached, which no number of
    tries outlasts. Of what else a server answers, only a reply before it tells that the server works."""
    return not isinstance(error, ChatModelError) or (replied and not error.unreachable)
