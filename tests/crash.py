"""Kill -9 at random moments: nothing that was acknowledged is lost or undone, and every reply's update happens once.

`python -m tests.crash --trials 200 [--seed N]`. Every trial is a process of its own that opens the assistant on the one
data folder of the run, checks everything against the journal of its predecessors, reports that it is ready and starts
work: turns with and without photos in two conversations, whose updates add, replace and forget memories, and separate
requests to forget. It is killed at a random moment, one in eight during the start.

The journal has a line before each operation and one after each acknowledgement, flushed to disk. An operation that had
begun but was not acknowledged at the kill may have happened or not, but not partly, and not twice.
"""

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import os
import random
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import AsyncGenerator, Collection, Iterator
from dataclasses import asdict, dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw
from sqlalchemy import select

from m2a import Assistant
from m2a.agents.state import Decision, Stage, TurnState
from m2a.memory.audit import repair, verify
from m2a.memory.bank import MemoryBank
from m2a.memory.schema import entry_history, message, message_photo
from m2a.settings import load_settings
from m2a.types import (
    Action,
    AddMemory,
    Answer,
    DeleteMemory,
    Failed,
    Finish,
    MemoryChanged,
    MessageRecorded,
    Query,
    QueryMemory,
    ReplaceMemory,
    ReplyFinished,
    SearchSemanticMemories,
    UpdateMemory,
)
from models.chat_model import TokenUsage

SECONDS = 60  # more than a start with any backlog takes
KILLED_WITHIN = 0.7  # of the time that the start took: a busy machine is slow at both
WHO = "crash test"

# Imported before the fork, so that a trial costs what opening costs. None of these may start a thread.
PRELOADED = [
    "m2a.assistant",
    "m2a.memory.audit",
    "m2a.memory.retriever",
    "m2a.memory.indexer",
    "models.minilm_encoder",
    "models.conse_encoder",
    "models.tag_captioner",
    "milvus_lite.server_manager",
    "pymilvus",
    "onnxruntime",
    "tokenizers",
]

# How far a turn was at the kill, by the last line of the journal that names it.
STAGES = {
    "turn": "storing the message",
    "recorded": "before the reply",
    "replied": "between reply and update",
    "updating": "in the update",
    "changed": "after the update",
    "delete": "in a deletion",
}


class Journal:
    """A file of JSON lines. An incomplete last line is ignored."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        data = path.read_bytes() if path.exists() else b""
        self.lines: list[dict[str, Any]] = [json.loads(line) for line in data.split(b"\n")[:-1] if line]
        self._file = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        os.ftruncate(self._file, data.rfind(b"\n") + 1)
        os.lseek(self._file, 0, os.SEEK_END)

    def write(self, what: str, **values: Any) -> None:
        with self._lock:
            os.write(self._file, json.dumps({"line": what} | values).encode() + b"\n")
            os.fsync(self._file)

    def of(self, what: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["line"] == what]

    def close(self) -> None:
        os.close(self._file)


@dataclass(frozen=True)
class Command:
    """The request of a message, encoded in its text: verb, turn and target; the old text; the new one; odd characters."""

    verb: str
    turn: int
    target: int
    old: str
    new: str
    noise: str = ""

    @property
    def text(self) -> str:
        return "\n".join([f"{self.verb} {self.turn} {self.target}", self.old, self.new, self.noise])

    @classmethod
    def of(cls, text: str) -> "Command":
        first, old, new, noise = text.split("\n", 3)
        verb, turn, target = first.split(" ")
        return cls(verb, int(turn), int(target), old, new, noise)


class CommandPolicy:
    """Does what the message asks for, after a search; each step takes a moment, as a model would."""

    name = WHO
    judges_hits = True
    follow = None
    published_stages = True
    searches_messages_in: Collection[Stage] = frozenset()
    consent = None

    def __init__(self, journal: Journal, dice: random.Random) -> None:
        self._journal = journal
        self._dice = dice

    async def sees_photos(self) -> bool:
        return False

    async def decide(self, state: TurnState) -> Decision:
        await asyncio.sleep(self._dice.uniform(0, 0.01))
        return Decision(self._action(state, Command.of(state.message.text)))

    def _action(self, state: TurnState, command: Command) -> Action:
        if state.stage == "query":
            return Answer() if state.steps else QueryMemory(query=command.new or command.old)
        if state.stage == "update":
            self._journal.write("updating", turn=command.turn)
            return UpdateMemory(request=command.text)
        if not state.steps:
            return SearchSemanticMemories(query=command.old or command.new)
        if state.stage == "manage query" or len(state.steps) > 1:
            return Finish()
        here = ((state.message.message_id, state.message.message_id),)
        photos = tuple(photo.number for photo in state.photos)
        if command.verb == "keep":
            return AddMemory(text=command.new, evidence_ids=here, photos=photos)
        if command.verb == "change":
            return ReplaceMemory(
                text=command.new, evidence_ids=here, photos=photos, memory_id=command.target, reason="changed"
            )
        return DeleteMemory(memory_id=command.target, evidence_ids=here, reason="to be forgotten")

    async def reply(self, state: TurnState) -> AsyncGenerator[str | TokenUsage, None]:
        for word in f"Reply {Command.of(state.message.text).turn} «ñ☕» is on its way.".split(" "):
            await asyncio.sleep(self._dice.uniform(0, 0.005))
            yield word + " "


@dataclass
class Checked:
    """The findings of a start: how much had been acknowledged, and every promise that was broken."""

    messages: int = 0
    photos: int = 0
    replies: int = 0
    updates: int = 0
    memories: int = 0
    deletions: int = 0
    resumed: int = 0
    losses: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    faults_after_repair: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Logged:
    """A row of the raw log."""

    message_id: int
    role: str
    text: str
    photos: tuple[str, ...]


class Check:
    """Compares an open memory, once its pending updates are done, with the journal."""

    def __init__(self, bank: MemoryBank, assistant: Assistant, journal: Journal, dice: random.Random) -> None:
        self._bank = bank
        self._assistant = assistant
        self._journal = journal
        self._dice = dice
        self._found = Checked()

    def run(self) -> Checked:
        self._messages()
        self._updates()
        self._memories()
        self._index()
        return self._found

    def _expect(self, holds: bool, promise: str) -> None:
        if not holds:
            self._found.losses.append(promise)

    def _messages(self) -> None:
        self._stored = self._raw_log()
        listed = [m for c in self._bank.conversations() for m in self._bank.conversation(c.conversation_id)]
        self._read = {message.message_id: message for message in listed}
        self._expect(self._read.keys() == self._stored.keys(), "a conversation shows other messages than there are")
        intact: set[str] = set()
        for line in self._journal.of("recorded") + self._journal.of("replied"):
            stored = self._stored.get(line["message_id"])
            kept = stored is not None and stored.text == line["text"] and list(stored.photos) == line["photos"]
            self._expect(kept, f"message {line['message_id']} is not as acknowledged")
            for photo_id in set(line["photos"]) - intact:
                with contextlib.suppress(Exception):
                    # Raises unless the bytes have the hash.
                    self._assistant.stores.photos.data(self._bank.owner, photo_id)
                    intact.add(photo_id)
                self._expect(photo_id in intact, f"photo {photo_id} is lost or damaged")
        self._found.messages = len(self._journal.of("recorded"))
        self._found.replies = len(self._journal.of("replied"))
        self._found.photos = len(intact)

    def _raw_log(self) -> dict[int, "Logged"]:
        """Returns the original messages, including forgotten text, which nothing else may ever read."""
        with self._assistant.stores.database.snapshot() as connection:
            photos = connection.execute(
                select(message_photo.c.message_id, message_photo.c.photo_id)
                .where(message_photo.c.owner == self._bank.owner)
                .order_by(message_photo.c.message_id, message_photo.c.position)
            ).all()
            rows = connection.execute(
                select(message.c.message_id, message.c.role, message.c.text).where(message.c.owner == self._bank.owner)
            ).all()
        return {
            number: Logged(number, role, text, tuple(photo_id for m, photo_id in photos if m == number))
            for number, role, text in rows
        }

    def _updates(self) -> None:
        """Checks that the update of each reply happened once, and no update of a message without a reply."""
        with self._assistant.stores.database.snapshot() as connection:
            history = connection.execute(select(entry_history).where(entry_history.c.owner == self._bank.owner)).all()
        added = Counter(row.text for row in history if row.change == "added")
        successors = Counter(row.memory_id for row in history if row.successor_id is not None)
        removals = ("superseded", "deleted")
        self._deleted = Counter((row.memory_id, row.who) for row in history if row.change in removals)
        self._forgotten = {row.memory_id for row in history if row.change == "deleted"}
        ids_by_text = {m.text: m.message_id for m in self._stored.values() if m.role == "user"}
        answered = Counter(
            self._bank.replies.answered(m.message_id) for m in self._stored.values() if m.role == "assistant"
        )
        acknowledged = {line["turn"] for line in self._journal.of("replied")}
        self._alive: dict[str, int | None] = {}
        self._gone: set[int] = set()
        for line in self._journal.of("turn"):
            command = Command.of(line["text"])
            replies = answered[ids_by_text[line["text"]]] if line["text"] in ids_by_text else 0
            self._expect(replies <= 1, f"turn {command.turn} has {replies} replies")
            self._expect(replies or command.turn not in acknowledged, f"the reply of turn {command.turn} is lost")
            if command.verb != "forget":
                times = added[command.new]
                self._expect(times == replies, f"the update of turn {command.turn} added {times} memories")
                if replies:
                    self._alive[command.new] = None
            if command.verb != "keep":
                times = self._deleted[command.target, WHO]
                self._expect(times == replies, f"the update of turn {command.turn} deleted {times} times")
                if replies:
                    self._gone.add(command.target)
            if command.verb == "change":
                times = successors[command.target]
                self._expect(times == replies, f"the update of turn {command.turn} was recorded {times} times")
            self._found.updates += replies
        self._added = {row.memory_id: row.text for row in history if row.change == "added"}

    def _memories(self) -> None:
        """Checks that added memories live unless deleted, deleted ones are gone, once, and there are no others."""
        living = {e.memory_id: e for e in self._bank.entries()}
        for line in self._journal.of("changed"):
            if line["memory_id"] is not None:
                self._expect(self._added.get(line["memory_id"]) == line["text"], f"memory {line['memory_id']} is lost")
        acknowledged = {line["memory_id"] for line in self._journal.of("deleted")}
        for line in self._journal.of("delete"):
            memory_id = line["memory_id"]
            times = self._deleted[memory_id, "the user"]
            self._expect(times <= 1, f"memory {memory_id} was deleted {times} times")
            self._expect(times or memory_id not in acknowledged, f"the deletion of memory {memory_id} is undone")
            if times:
                self._gone.add(memory_id)
        expected = {i for i, text in self._added.items() if text in self._alive and i not in self._gone}
        for memory_id in expected - living.keys():
            self._expect(False, f"memory {memory_id} is gone, and nobody deleted it")
        for memory_id in living.keys() - expected:
            self._expect(False, f"memory {memory_id} is back, or nobody added it")
        for memory in living.values():
            [(first, last)] = memory.evidence_ids
            source = self._stored.get(first)
            fits = source is not None and first == last and Command.of(source.text).new == memory.text
            self._expect(fits, f"memory {memory.memory_id} rests on the wrong message")
            if fits and source is not None and source.photos:
                self._expect(memory.photo_ids == source.photos, f"memory {memory.memory_id} has other photos")
            if fits:
                self._expect(memory.text in self._read[first].text, f"the words of memory {memory.memory_id} are gone")
        everything = "\n".join(message.text for message in self._read.values())
        for memory_id in self._forgotten:
            self._expect(self._added[memory_id] not in everything, f"the words of memory {memory_id} are not forgotten")
        self._found.memories = len(expected)
        self._found.deletions = len(self._gone)
        self.free = sorted(living)

    def _index(self) -> None:
        """Checks that the index, updated as by a first search, agrees with the database and finds its memories."""
        self._bank.index()
        self._found.faults = verify(self._assistant.stores)
        if self._found.faults:
            repair(self._assistant.stores)
            self._found.faults_after_repair = verify(self._assistant.stores)
        for memory_id in self._dice.sample(self.free, min(2, len(self.free))):
            hits = self._bank.search(Query(self._added[memory_id]))
            ids = [hit.record.memory_id for hit in hits]  # type: ignore[union-attr]
            self._expect(memory_id in ids, f"memory {memory_id} is not found by its own words")
            self._expect(not self._gone & set(ids), "a search found a deleted memory")


class Work:
    """The work until the kill."""

    def __init__(self, assistant: Assistant, journal: Journal, dice: random.Random, free: list[int]) -> None:
        self._assistant = assistant
        self._owner = assistant.local_owner
        self._journal = journal
        self._dice = dice
        named = {line["memory_id"] for line in journal.of("delete")}
        named |= {Command.of(line["text"]).target for line in journal.of("turn")}
        self._free = [memory_id for memory_id in free if memory_id not in named]
        self._next_turn = 1 + max((line["turn"] for line in journal.of("turn")), default=0)
        self._running: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        await asyncio.gather(self._talk(), self._talk(), self._forget())

    async def _talk(self) -> None:
        conversation_id = None
        while True:
            command = self._command()
            photos = [_drawing(self._dice) for _ in range(self._dice.choice((0, 0, 0, 1, 2)))]
            replied: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            task = asyncio.create_task(self._turn(command, photos, conversation_id, replied))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
            conversation_id = await replied
            if self._dice.random() < 0.5:  # else the next message comes while the update is under way
                await task
                await asyncio.sleep(self._dice.uniform(0, 0.05))

    async def _turn(
        self, command: Command, photos: list[bytes], conversation_id: str | None, replied: asyncio.Future[str]
    ) -> None:
        turn = command.turn
        self._journal.write("turn", turn=turn, text=command.text)
        async for event in self._assistant.turn(self._owner, command.text, photos, conversation_id):
            if isinstance(event, MessageRecorded | ReplyFinished):
                message = event.message
                self._journal.write(
                    "recorded" if isinstance(event, MessageRecorded) else "replied",
                    turn=turn,
                    message_id=message.message_id,
                    text=message.text,
                    photos=list(message.photos),
                )
                if isinstance(event, ReplyFinished):
                    replied.set_result(message.conversation_id)
            elif isinstance(event, MemoryChanged):
                memory = event.entry
                self._journal.write(
                    "changed", turn=turn, memory_id=memory and memory.memory_id, text=memory.text if memory else None
                )
                if memory is not None:
                    self._free.append(memory.memory_id)
            elif isinstance(event, Failed):
                raise RuntimeError(event.reason)
        self._journal.write("ended", turn=turn)

    async def _forget(self) -> None:
        bank = self._assistant.memory(self._owner)
        while True:
            await asyncio.sleep(self._dice.uniform(0.02, 0.1))
            if len(self._free) > 2:
                memory_id = self._take()
                self._journal.write("delete", memory_id=memory_id)
                await asyncio.to_thread(bank.delete, memory_id, who="the user", why="enough")
                self._journal.write("deleted", memory_id=memory_id)

    def _command(self) -> Command:
        turn, self._next_turn = self._next_turn, self._next_turn + 1
        verb = self._dice.choice(("keep", "keep", "change", "forget")) if len(self._free) > 2 else "keep"
        target = 0 if verb == "keep" else self._take()
        memory = self._assistant.memory(self._owner).entry(target)
        colour, thing = self._dice.choice(COLOURS), self._dice.choice(THINGS)
        return Command(
            verb,
            turn,
            target,
            memory.text if memory else "",
            "" if verb == "forget" else f"Thing number {turn} of Anna is a {colour} {thing}.",
            "".join(self._dice.choices("aé\u0301ß漢🐕\u200b\t\r \"'\\\n", k=self._dice.randint(0, 20))),
        )

    def _take(self) -> int:
        """Takes a memory that no other operation uses, now or later."""
        return self._free.pop(self._dice.randrange(len(self._free)))


COLOURS = ("red", "green", "blue", "yellow", "brown", "white")
THINGS = ("ball", "teapot", "bicycle", "scarf", "lamp", "boat", "violin")


def _drawing(dice: random.Random) -> bytes:
    image = Image.new("RGB", (96, 64), dice.choice(COLOURS))
    box = (dice.randint(0, 40), dice.randint(0, 20), dice.randint(50, 95), dice.randint(30, 63))
    ImageDraw.Draw(image).ellipse(box, fill=dice.choice(COLOURS))
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def child(folder: Path, seed: int, connection: Any, work: bool) -> None:
    """One process: starts, checks, reports its findings, and works until it is killed."""
    log = os.open(folder.with_suffix(".log"), os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    asyncio.run(_live(folder, random.Random(seed), connection, work))


async def _live(folder: Path, dice: random.Random, connection: Any, work: bool) -> None:
    journal = Journal(folder.with_suffix(".journal"))
    async with Assistant.open(load_settings(data_dir=folder), policy=CommandPolicy(journal, dice)) as assistant:
        bank = assistant.memory(assistant.local_owner)
        waiting = len(bank.replies.pending_updates())
        while bank.replies.pending_updates() or not all(done for _, done in assistant.loading()):
            await asyncio.sleep(0.01)
        check = Check(bank, assistant, journal, dice)
        found = await asyncio.to_thread(check.run)
        found.resumed = waiting
        journal.write("life")
        connection.send(asdict(found))
        if work:
            await Work(assistant, journal, dice, check.free).run()


@dataclass
class Result:
    """The totals of all trials."""

    trials: int = 0
    seconds: float = 0
    stages: Counter[str] = field(default_factory=Counter)
    resumed: int = 0
    repaired: int = 0
    unclean: int = 0
    losses: list[str] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    last: Checked = field(default_factory=Checked)
    log: str = ""

    def lines(self) -> Iterator[str]:
        last = self.last
        yield f"{self.trials} kills, {self.seconds / max(self.trials, 1):.2f} s each"
        yield "hit: " + ", ".join(f"{stage} {count}" for stage, count in self.stages.most_common())
        for name in ("messages", "photos", "replies", "updates", "memories", "deletions"):
            yield f"{name:<10} {getattr(last, name):>6}"
        yield f"updates that a start found pending and did: {self.resumed}"
        yield f"lost, undone or done twice: {len(self.losses)}"
        yield f"verify not clean: {self.repaired} times, after one repair: {self.unclean} times"
        for line in [*self.losses[:20], *(f"{fault} ({n} ×)" for fault, n in self.faults.most_common(20))]:
            yield f"  {line}"

    @property
    def is_clean(self) -> bool:
        return not self.losses and not self.unclean


def run_trials(folder: Path, trials: int, seed: int) -> Result:
    """Starts, checks and kills `trials` times; a last start is not killed."""
    dice = random.Random(seed)
    context = multiprocessing.get_context("forkserver")
    sys.warnoptions.append(
        "ignore:pkg_resources is deprecated:UserWarning"
    )  # milvus-lite's; the fork server inherits it
    context.set_forkserver_preload(PRELOADED)
    result = Result()
    began = time.monotonic()
    start_seconds = 1.0
    for trial in range(trials + 1):
        work = trial < trials
        ours, theirs = context.Pipe()
        process = context.Process(target=child, args=(folder, dice.getrandbits(32), theirs, work))
        started = time.monotonic()
        process.start()
        theirs.close()
        if work and dice.random() < 1 / 8:
            early = ours.poll(dice.uniform(0, start_seconds))
            process.kill()
            process.join()
            if not early:
                result.stages["while it started"] += 1
                continue
            # It was ready already: its report counts, and it was hardly at work.
            _add(result, ours)
        else:
            if not ours.poll(SECONDS):
                process.kill()
                raise AssertionError(f"The assistant did not start: {_log(folder)}")
            try:
                _add(result, ours)
            except EOFError:
                raise AssertionError(f"The assistant ended by itself: {_log(folder)}") from None
            if not work:
                process.join(SECONDS)
                break
            start_seconds = time.monotonic() - started
            process.join(dice.uniform(0, KILLED_WITHIN * start_seconds))
            assert process.is_alive(), f"The assistant ended by itself: {_log(folder)}"
            process.kill()
            process.join()
        result.stages.update(_stages(Journal(folder.with_suffix(".journal"))))
    result.trials = trials
    result.seconds = time.monotonic() - began
    result.log = _log(folder)
    return result


def _add(result: Result, connection: Any) -> None:
    checked = Checked(**connection.recv())
    result.last = checked
    result.resumed += checked.resumed
    result.losses += [loss for loss in checked.losses if loss not in result.losses]
    result.repaired += bool(checked.faults)
    result.unclean += bool(checked.faults_after_repair)
    result.faults.update(re.sub(r"[0-9a-f]{64}", "…", fault) for fault in checked.faults)


def _stages(journal: Journal) -> set[str]:
    """Returns the stages of the operations that were under way at the kill."""
    life: dict[str, str] = {}
    for line in journal.lines:
        if line["line"] == "life":
            life = {}
        elif line["line"] in ("ended", "deleted"):
            life.pop(_operation(line), None)
        elif line["line"] in STAGES:
            life[_operation(line)] = line["line"]
    journal.close()
    return {STAGES[operation] for operation in life.values()} or {"idle"}


def _operation(line: dict[str, Any]) -> str:
    return f"turn {line['turn']}" if "turn" in line else f"deletion {line['memory_id']}"


def _log(folder: Path) -> str:
    path = folder.with_suffix(".log")
    return path.read_text(errors="replace")[-3000:] if path.exists() else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory() as folder:
        result = run_trials(Path(folder) / "memory", options.trials, options.seed)
    print("\n".join(result.lines()))
    if result.log:
        print(f"The log of the killed processes:\n{result.log}")
    sys.exit(not result.is_clean)


if __name__ == "__main__":
    main()
