"""Performs the pending updates of one owner's memory, and sets aside those that keep failing."""

import logging
import time

from m2a.agents.chat_agent import ChatAgent
from m2a.agents.in_thread import in_thread
from m2a.agents.steps import UsageMeter
from m2a.costing import cost_of
from m2a.memory.admission import admitted
from m2a.memory.bank import MemoryBank
from m2a.sentences import log_unexpected, turn_sentence
from m2a.types import Addition, Emit, Failed, Message, NotKept, UnaskedChanges
from models.chat_model import ChatModelError
from models.prices import Price

SET_ASIDE_AFTER = 3

_QUOTE_LENGTH = 60

logger = logging.getLogger(__name__)


class UpdateQueue:
    """The replies whose memory update is pending, in order. `who` is the author of the changes in the history."""

    def __init__(self, bank: MemoryBank, agent: ChatAgent, who: str, price: Price) -> None:
        self._bank = bank
        self._agent = agent
        self._who = who
        self._price = price

    async def run_pending(self, emit: Emit | None, *, after: Message | None = None) -> None:
        """Performs the pending updates in order, up to that of the reply `after` if given.

        A failed update holds up the ones behind it, which may build on what it remembers, until it has failed
        `SET_ASIDE_AFTER` times and is set aside. Emits the outcome of the update of the reply `after`, and each update that
        is set aside; without `emit`, no update is set aside.
        """
        for reply_id in await in_thread(self._bank.replies.pending_updates):
            if after is not None and reply_id > after.message_id:
                return
            try:
                await self._update(reply_id, emit if after is not None and reply_id == after.message_id else None)
            except Exception as error:  # a broken update must not break the turn
                log_unexpected(logger, f"The update of reply {reply_id}", error)
                failures = 0
                if _counts_as_failure(error, replied=after is not None):
                    failures = await in_thread(self._bank.replies.note_failed_update, reply_id, turn_sentence(error))
                if emit is not None and failures >= SET_ASIDE_AFTER:
                    await in_thread(self._bank.replies.set_aside_update, reply_id)
                    logger.warning("The update of reply %s was set aside after %s failures.", reply_id, failures)
                    emit(Failed("update", await in_thread(self._set_aside_notice, reply_id, error)))
                    continue
                if emit is not None and after is not None:
                    reason = f"I could not update my memory and will try again later. {turn_sentence(error)}"
                    emit(Failed("update", reason))
                return

    async def _update(self, reply_id: int, emit: Emit | None) -> None:
        """Performs the update of one reply and records its cost, also if it fails."""
        began, meter = time.monotonic(), UsageMeter()
        try:
            await self._decide_and_write(reply_id, meter, emit)
        finally:
            cost = await in_thread(cost_of, "update", time.monotonic() - began, meter.usage, self._price)
            await in_thread(self._bank.replies.note_cost, reply_id, cost)

    async def _decide_and_write(self, reply_id: int, meter: UsageMeter, emit: Emit | None) -> None:
        """Decides on the changes, then writes them in one transaction with the mark that the update is done."""
        answered = await in_thread(self._bank.replies.answered, reply_id)
        messages = await in_thread(self._bank.messages, [answered, reply_id])
        message, reply = messages[answered], messages[reply_id]
        update = await self._agent.update(message, reply, message.said_at, meter)
        added = [change.draft.text for change in update.changes if isinstance(change, Addition)]
        update = admitted(update, await in_thread(self._bank.rule), await in_thread(self._bank.known_texts, added))
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
            place = None if refusal.change is None else number
            emit(NotKept(refusal.text, refusal.reason, place, refusal.held, answered))
        if update.unasked:
            emit(UnaskedChanges(update.unasked))

    def _set_aside_notice(self, reply_id: int, error: Exception) -> str:
        answered = self._bank.replies.answered(reply_id)
        text = " ".join(self._bank.messages([answered])[answered].text.split())
        message = f"“{text[:_QUOTE_LENGTH]}{'…' * (len(text) > _QUOTE_LENGTH)}”" if text else "the photo that you sent"
        return (
            f"I tried {SET_ASIDE_AFTER} times to update my memory after {message}, and each try failed. "
            f"{turn_sentence(error)} I skip this update so that later ones can go on. Your message stays in the chat; "
            "`m2a repair` tries the update again."
        )


def _counts_as_failure(error: Exception, *, replied: bool) -> bool:
    """Returns whether the update itself failed, rather than the chat model's server.

    An unreachable server never counts, because the update may succeed once it is back. Other errors of the server count only
    if it has just produced a reply, which shows that it works.
    """
    return not isinstance(error, ChatModelError) or (replied and not error.unreachable)
