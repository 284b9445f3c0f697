"""`m2a reindex` beside a running assistant: nothing is lost and no search sees the emptied index."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL.Image import Image

from m2a.types import Query
from tests.encoders import ColourImageEncoder, HashingTextEncoder
from tests.opened_folder import Opened, jpeg, opened


class InterruptedTextEncoder(HashingTextEncoder):
    """Runs a callback once, when a text is encoded."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile = lambda: None

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        meanwhile()
        return super().encode(texts)


class InterruptedImageEncoder(ColourImageEncoder):
    """Runs a callback once, when a photo is encoded."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile = lambda: None

    def encode(self, photos: Sequence[Image]) -> np.ndarray:
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        meanwhile()
        return super().encode(photos)


TEXTS, PHOTOS = InterruptedTextEncoder(), InterruptedImageEncoder()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Opened]:
    with opened(tmp_path, TEXTS, PHOTOS) as memory:
        yield memory


def hits(memory: Opened, words: str) -> list[int]:
    return [hit.record.message_id for hit in memory.bank.search(Query(words), kinds={"message"})]


def test_what_a_drain_is_about_to_cross_off_is_not_dropped(memory):
    indexer = memory.stores.retrieval().indexer
    memory.bank.record(None, role="user", speaker="You", text="The teapot", photos=[jpeg("red")])
    counts: list[int] = []
    rebuilding = threading.Thread(target=lambda: counts.append(indexer.rebuild()))

    def rebuild() -> None:
        rebuilding.start()
        rebuilding.join(0.5)  # it waits for the drain, which is told to go on

    PHOTOS.meanwhile = rebuild  # photos come last: the index has the message, which the outbox still holds
    memory.bank.index()
    rebuilding.join()
    memory.bank.index()
    assert counts == [2]
    assert indexer.differences(memory.bank.owner) == []
    assert hits(memory, "teapot") == [1]


def test_a_search_under_which_the_index_is_emptied_finds_all_the_same(memory, monkeypatch):
    memory.bank.record(None, role="user", speaker="You", text="The teapot")
    memory.bank.index()

    def rebuild() -> None:
        """Empties the index, and has not filled it again when the search continues."""
        with monkeypatch.context() as patch, pytest.raises(InterruptedError):
            patch.setattr(memory.index, "put", lambda *_: (_ for _ in ()).throw(InterruptedError()))
            memory.stores.retrieval().indexer.rebuild()

    TEXTS.meanwhile = rebuild
    assert hits(memory, "Kyoto") == [1]  # by its vector alone, which is searched for once the question is encoded


def test_a_cancelled_rebuild_leaves_an_index_that_the_next_search_completes(memory):
    for number in range(600):  # more than are put in at once
        memory.bank.record(None, role="user", speaker="You", text=f"Teapot number {number}")
    indexer = memory.stores.retrieval().indexer
    looks = iter([False, True])
    assert indexer.rebuild(is_cancelled=lambda: next(looks)) == 600
    assert 0 < indexer.backlog() < 600
    assert hits(memory, "number 599")[0] == 600
    assert indexer.backlog() == 0 and indexer.differences(memory.bank.owner) == []
