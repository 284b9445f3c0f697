"""A notice says what was done to the memory, and no more."""

from pathlib import Path

from m2a.types import EntryDraft, EvidenceRange, MemoryChanged
from m2a.ui.notices import changes_html
from tests.test_audit import opened


def test_a_notice_of_something_forgotten_does_not_promise_that_it_was_erased(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        message = memory.bank.record(None, role="user", speaker="You", text="My PIN is 4711")
        evidence = (EvidenceRange(message.message_id, message.message_id),)
        added = memory.bank.add(EntryDraft("The PIN is 4711", evidence), who="test", why="test")
        forgotten = memory.bank.delete(added.memory_id, who="the user", why="asked to forget")
        notice = changes_html([MemoryChanged("deleted", None, forgotten)])
        assert memory.bank.entries() == []
        assert [row.text for row in memory.bank.history(added.memory_id)] == ["The PIN is 4711"] * 2
        assert memory.bank.messages([message.message_id])[message.message_id].text == "My PIN is 4711"
    assert "<del>The PIN is 4711</del>" in notice
    assert "It is no longer a memory; the chat keeps what was said." in notice
