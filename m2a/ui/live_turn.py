"""Turns under way: each runs as a task of the server, so that closing or leaving the page never loses an event of it."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from m2a.sentences import place_of, sentence_of
from m2a.types import (
    EvidenceOpened,
    Failed,
    MemoryChanged,
    MemorySearched,
    MessageRecorded,
    NotKept,
    RecordedChange,
    ReplyFinished,
    TextDelta,
    TurnEvent,
    UnaskedChanges,
)
from m2a.ui.transcript import TurnSoFar

if TYPE_CHECKING:
    from m2a.assistant import Assistant

_log = logging.getLogger(__name__)

UNEXPECTED = "Something went wrong inside M2A; the details are in the terminal where it runs. Please try again."


def advance(so_far: TurnSoFar, event: TurnEvent) -> TurnSoFar:
    """The turn after one more event."""
    because = so_far.because
    match event:
        case MessageRecorded():
            return replace(so_far, asked=event.message)
        case MemorySearched():
            return replace(so_far, because=replace(because, searches=(*because.searches, event)))
        case EvidenceOpened():
            return replace(so_far, opened=so_far.opened + len(event.messages))
        case TextDelta():
            return replace(so_far, text=so_far.text + event.text)
        case ReplyFinished():
            return replace(so_far, reply=event.message, because=replace(because, sources=event.sources))
        case MemoryChanged():
            change = RecordedChange(len(because.changes), event)
            return replace(so_far, because=replace(because, changes=(*because.changes, change)))
        case NotKept():
            return replace(so_far, because=replace(because, not_kept=(*because.not_kept, event)))
        case UnaskedChanges():
            return replace(so_far, because=replace(because, unasked=event.count))
        case Failed():
            return replace(so_far, because=replace(because, failures=(*because.failures, event)))
        case _:
            return so_far


class LiveTurn:
    """One turn as far as it got. Any number of followers may wait for the next version of it."""

    def __init__(self, owner: str, so_far: TurnSoFar, conversation_id: str | None) -> None:
        self.owner = owner
        self.so_far = so_far
        self.conversation_id = conversation_id
        self.refusal: str | None = None
        self.done = False
        self.version = 0
        self._changed = asyncio.Event()

    @property
    def unlocked(self) -> bool:
        """Whether the next message may be sent."""
        failed = any(failure.stage == "reply" for failure in self.so_far.because.failures)
        return self.done or self.so_far.reply is not None or failed

    def take(self, event: TurnEvent) -> None:
        self.so_far = advance(self.so_far, event)
        if isinstance(event, MessageRecorded):
            self.conversation_id = event.message.conversation_id
        self.notify()

    def notify(self) -> None:
        self.version += 1
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait_beyond(self, version: int) -> None:
        while self.version == version and not self.done:
            await self._changed.wait()


class LiveTurns:
    """The turns under way of all owners."""

    def __init__(self, assistant: "Assistant") -> None:
        self._assistant = assistant
        self._turns: dict[LiveTurn, asyncio.Task[None]] = {}

    def begin(
        self,
        owner: str,
        text: str,
        photos: Sequence[bytes | Path],
        *,
        conversation_id: str | None,
        replaces: int | None = None,
    ) -> LiveTurn:
        turn = LiveTurn(owner, TurnSoFar(draft=text, draft_photos=len(photos)), conversation_id)
        self._turns[turn] = asyncio.create_task(self._run(turn, text, photos, replaces))
        return turn

    def under_way(self, owner: str, conversation_id: str | None) -> list[LiveTurn]:
        """Turns of one conversation whose events still come, oldest first."""
        if conversation_id is None:
            return []
        return [turn for turn in list(self._turns) if (turn.owner, turn.conversation_id) == (owner, conversation_id)]

    def stop(self, owner: str, conversation_id: str | None) -> None:
        """Stops the reply of a conversation; with None, of the one that is being started."""
        for turn in list(self._turns):
            if (turn.owner, turn.conversation_id) == (owner, conversation_id) and not turn.unlocked:
                turn.so_far = replace(turn.so_far, stopping=True)
                turn.notify()
                if turn.conversation_id is not None and turn.so_far.asked is not None:
                    self._assistant.stop(owner, turn.conversation_id)

    async def _run(self, turn: LiveTurn, text: str, photos: Sequence[bytes | Path], replaces: int | None) -> None:
        conversation_id = turn.conversation_id
        try:
            async for event in self._assistant.turn(
                turn.owner, text, photos=photos, conversation_id=conversation_id, replaces=replaces
            ):
                turn.take(event)
                if isinstance(event, MessageRecorded) and turn.so_far.stopping:
                    self._assistant.stop(turn.owner, event.message.conversation_id)
        except Exception as error:
            sentence = sentence_of(error)  # such as of a photo or a message that is not taken
            if sentence is None:
                _log.error("A turn failed: %s", place_of(error))
            if turn.so_far.asked is not None:
                turn.take(Failed("update" if turn.so_far.reply else "reply", sentence or UNEXPECTED))
            else:
                turn.refusal = sentence or UNEXPECTED
        finally:
            del self._turns[turn]
            turn.done = True
            turn.notify()
