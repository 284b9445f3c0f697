"""The page store: whole sessions, each under a header, with three ways to find them.

A page is a note whose `text` is the header followed by the session; its field `page` is the page's id, which counts from 1.
"""

import re
from collections.abc import Iterable, Sequence

from m2a.memory.words import finished_words
from m2a.systems.bm25 import KeywordIndex
from m2a.systems.metered import tokens_of
from m2a.systems.notes import Note, Notes
from models.chat_model import CHARACTERS_PER_TOKEN

PAGES, MEMOS, PASSAGES = "page", "memo", "passage"
_PASSAGE_TOKENS = 180  # a sentence encoder reads no more


class PageStore:
    """The pages in a system's notes. A page's id is its position, so two sessions with the same memo are two pages."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._index: KeywordIndex | None = None

    def __len__(self) -> int:
        return len(self._notes.in_store(PAGES))

    def page(self, page_id: int) -> Note:
        return self._notes.in_store(PAGES)[page_id - 1]

    def by_keywords(self, keywords: Sequence[str], k: int) -> list[int]:
        """Returns the k best pages by BM25 over their finished words, with all keywords as one query."""
        words = finished_words(" ".join(keywords))
        notes = self._notes.in_store(PAGES)
        if not words or not notes:
            return []
        index = self._index
        if index is None or len(index) != len(notes):
            self._index = index = KeywordIndex([finished_words(note.text) or [""] for note in notes])
        return [position + 1 for position in index.best(words, k)]

    def by_vector(self, queries: Sequence[str], k: int) -> list[int]:
        """Returns the pages with the highest sum of cosines, over the k nearest of each query.

        A page is as near as its nearest passage, which is the header with some of the lines, because the encoder cannot read a
        whole page.
        """
        passages = self._notes.in_store(PASSAGES)
        scores: dict[int, float] = {}
        for query in queries:
            best: dict[int, float] = {}
            for note, cosine in self._notes.nearest(PASSAGES, self._notes.vector(query), len(passages)):
                best.setdefault(int(note.fields["page"]), cosine)
                if len(best) == k:
                    break
            for page_id, cosine in best.items():
                scores[page_id] = scores.get(page_id, 0.0) + cosine
        return sorted(scores, key=lambda page_id: (-scores[page_id], page_id))[:k]

    def by_messages(self, message_ids: Sequence[int]) -> list[int]:
        """Returns the pages that hold the messages, in the order of the messages."""
        return [int(page.fields["page"]) for page in self._notes.resting_on(PAGES, message_ids)]

    @property
    def memos(self) -> list[str]:
        """The memory: a line `Page 3: …` for each page with a memo, in order."""
        return [f"Page {note.fields['page']}: {note.text}" for note in self._notes.in_store(MEMOS)]


def lines_of(pages: Iterable[Note]) -> list[str]:
    """Returns the lines of the pages, each page after its id."""
    return [line for page in pages for line in (f"Page {page.fields['page']}", *page.text.splitlines())]


def cut(lines: Sequence[tuple[int, str]], tokens: int) -> list[list[tuple[int, str]]]:
    """Returns message ids and lines in pages of at most this many tokens. A longer line is cut itself."""
    pages: list[list[tuple[int, str]]] = []
    room = 0
    for message_id, line in lines:
        pieces = [line] if tokens_of(line) <= tokens else _pieces(line, tokens)
        for piece in pieces:
            if not pages or tokens_of(piece) > room:
                pages.append([])
                room = tokens
            pages[-1].append((message_id, piece.strip()))
            room -= tokens_of(piece)
    return pages


def _pieces(line: str, tokens: int) -> list[str]:
    """Returns the pieces of a line, cut between words if possible."""
    limit = tokens * CHARACTERS_PER_TOKEN
    return re.findall(rf".{{1,{limit}}}(?:\s|$)|.{{{limit}}}", line, re.S)


def page_notes(page_id: int, header: str, lines: Sequence[tuple[int, str]]) -> list[Note]:
    """Returns the notes of a page and of its passages, each with the header."""

    def note(store: str, part: Sequence[tuple[int, str]]) -> Note:
        text = "\n".join([*([header] if header else []), *(line for _, line in part)])
        message_ids = tuple(dict.fromkeys(message_id for message_id, _ in part))
        return Note(store, text, message_ids, {"page": str(page_id)})

    room = max(_PASSAGE_TOKENS // 3, _PASSAGE_TOKENS - tokens_of(header))
    return [note(PAGES, lines), *(note(PASSAGES, part) for part in cut(lines, room))]
