"""The memorizer: a memo of each session from the session and the memory so far, and the page that keeps it whole."""

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


class Memoist(Protocol):
    async def memo(self, session: Sequence[str], memory: Sequence[str]) -> Memo | None:
        """Of the session's lines, in the light of the memos before; None where it could not be made."""
        ...


class ModelMemoist:
    """One call gives memo and header, which come of the same session and the same memory. The memory is cut to `window`
    tokens, the newest memos first."""

    def __init__(self, chat_model: ChatModel, attempts: Attempts, window: int) -> None:
        self._chat_model = chat_model
        self._attempts = attempts
        self._window = window

    async def memo(self, session: Sequence[str], memory: Sequence[str]) -> Memo | None:
        material = [("Memory so far", newest(memory, self._window)), ("Session", session)]
        return await self._attempts.of("memo", ask_for(self._chat_model, Memo, "gam/memorize", material=material))


class RuleMemoist:
    """The memo is the beginning of every message, the header the beginning of the memo before."""

    async def memo(self, session: Sequence[str], memory: Sequence[str]) -> Memo | None:
        memo = " ".join(shortened(line, _SENTENCE_TOKENS) for line in session)
        return Memo(memo=memo, header=f"Before: {shortened(memory[-1], _HEADER_TOKENS)}" if memory else "")


class Memorizer:
    """A session is a page, and one that is longer than a page is several, taken in one after the other as a document is.

    A page whose memo could not be made is kept all the same: it is searched like any other.
    """

    def __init__(self, variant: GamVariant, memoist: Memoist | None, notes: Notes) -> None:
        self._variant = variant
        self._memoist = memoist
        self._notes = notes
        self._pages = PageStore(notes)

    async def take(self, lines: Sequence[tuple[int, str]]) -> list[tuple[Sequence[int], list[Note]]]:
        """What is to be kept of one session, given by message ids and lines: of each page its messages and its notes."""
        memory = self._pages.memos
        page_id = len(self._pages)
        kept: list[tuple[Sequence[int], list[Note]]] = []
        for page in cut(lines, self._variant.page_tokens):
            page_id += 1
            memo = None if self._memoist is None else await self._memoist.memo([line for _, line in page], memory)
            notes = page_notes(page_id, "" if memo is None else memo.header, page)
            if memo is not None:
                notes.append(Note(MEMOS, memo.memo, notes[0].message_ids, {"page": str(page_id)}))
                memory = [*memory, f"Page {page_id}: {memo.memo}"]
            kept.append((notes[0].message_ids, notes))
        return kept


def newest(memos: Sequence[str], window: int) -> list[str]:
    """The newest memos that fit, in order, and how many are left out."""
    return fitted(memos[::-1], window)[::-1]
