"""The memorizer makes a memo of each session from the session and the memory so far, and a page with the whole session."""

from collections.abc import Sequence
from typing import Protocol

from m2a.agents.budget import fitted, shortened
from m2a.systems.gam.forms import Memo
from m2a.systems.gam.pages import MEMOS, PageStore, cut, page_notes
from m2a.systems.gam.variants import GamVariant
from m2a.systems.model_steps import Attempts, ask_for
from m2a.systems.notes import Note, Notes
from models.chat_model import ChatModel

_SENTENCE_TOKENS = 30
_HEADER_TOKENS = 60


class MemoWriter(Protocol):
    async def memo(self, session: Sequence[str], memory: Sequence[str]) -> Memo | None:
        """Returns the memo of the session's lines, given the earlier memos, or None if that failed."""
        ...


class ModelMemoWriter:
    """Makes the memo and the header in one call, since both depend on the same session and memory. If the memory exceeds `window`
    tokens, the oldest memos are left out."""

    def __init__(self, chat_model: ChatModel, attempts: Attempts, window: int) -> None:
        self._chat_model = chat_model
        self._attempts = attempts
        self._window = window

    async def memo(self, session: Sequence[str], memory: Sequence[str]) -> Memo | None:
        material = [("Memory so far", newest_memos(memory, self._window)), ("Session", session)]
        return await self._attempts.run("memo", ask_for(self._chat_model, Memo, "gam/memorize", material=material))


class RuleMemoWriter:
    """Makes the memo of the beginnings of all messages, and the header of the beginning of the previous memo."""

    async def memo(self, session: Sequence[str], memory: Sequence[str]) -> Memo | None:
        memo = " ".join(shortened(line, _SENTENCE_TOKENS) for line in session)
        return Memo(memo=memo, header=f"Before: {shortened(memory[-1], _HEADER_TOKENS)}" if memory else "")


class Memorizer:
    """Makes a page of each session, or several pages if it is too long, which are taken in one after the other.

    A page is kept and searched even if its memo could not be made.
    """

    def __init__(self, variant: GamVariant, writer: MemoWriter | None, notes: Notes) -> None:
        self._variant = variant
        self._writer = writer
        self._notes = notes
        self._pages = PageStore(notes)

    async def notes_of(self, lines: Sequence[tuple[int, str]]) -> list[tuple[Sequence[int], list[Note]]]:
        """Returns the message ids and notes of each page of a session, which is given as message ids and lines."""
        memory = self._pages.memos
        page_id = len(self._pages)
        pages: list[tuple[Sequence[int], list[Note]]] = []
        for page in cut(lines, self._variant.page_tokens):
            page_id += 1
            memo = None if self._writer is None else await self._writer.memo([line for _, line in page], memory)
            notes = page_notes(page_id, "" if memo is None else memo.header, page)
            if memo is not None:
                notes.append(Note(MEMOS, memo.memo, notes[0].message_ids, {"page": str(page_id)}))
                memory = [*memory, f"Page {page_id}: {memo.memo}"]
            pages.append((notes[0].message_ids, notes))
        return pages


def newest_memos(memos: Sequence[str], window: int) -> list[str]:
    """Returns the newest memos that fit, in order, with a line about how many are left out."""
    return fitted(memos[::-1], window)[::-1]
