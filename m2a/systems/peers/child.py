"""A peer memory system in a child process of its own environment.

    async with ModelGateway(base_url, key) as gateway:            # only if there is a chat model
        chat = PeerChat(gateway.base_url, "gpt-4.1-mini", gateway.key)
        async with await PeerChild.open("mem0", folder, encoder_folder, chat=chat) as child:
            await child.observe(messages)
            memories = await child.retrieve("Where does Rex sleep?", k=10)

Without `chat`, messages are stored as they are. A package may swallow a failed model call: `Observed.failed` holds only what it
reported, and `gateway.counts.lost` counts the rest. A child uses one folder; open a new one for each case.
"""

import asyncio
import contextlib
import json
import os
import signal
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from m2a.systems.peers.environment import PeerName, ensure
from m2a.types.errors import UserError

PeerMode = Literal["store-only", "chat model"]

_LONGEST_LINE = 64 * 1024 * 1024
_KEPT_LINES = 12
_OPEN_LIMIT = 300.0
_CLOSE_LIMIT = 20.0
_EXIT_LIMIT = 5.0


class PeerError(UserError):
    """The child failed in a call or has ended; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class PeerChat:
    """The chat model as the child sees it: the address and the key of the gateway, never those of the endpoint."""

    base_url: str
    model: str
    key: str


@dataclass(frozen=True, slots=True)
class PeerAbout:
    """What tables say about the peer. `notes` are differences from how its authors run the package."""

    name: PeerName
    package: str
    version: str
    mode: PeerMode
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PeerMessage:
    """A message for a peer, which sees photos only by their captions."""

    message_id: int
    speaker: str
    role: Literal["user", "assistant"]
    said_at: datetime
    text: str
    captions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PeerMemory:
    """A memory that was found, in the peer's own wording."""

    memory: str
    message_ids: tuple[int, ...]
    linked: tuple["PeerMemory", ...] = ()


@dataclass(frozen=True, slots=True)
class Observed:
    """The result of `observe`.

    `stored` is the number of memories, which for mem0 with a model is not the number of messages. `failed` holds message ids and
    errors of what the package refused.
    """

    stored: int
    failed: tuple[tuple[tuple[int, ...], str], ...]


class PeerChild:
    """A running child. Calls wait for each other. If a `PeerError` says that the child has ended, open another one."""

    def __init__(self, name: PeerName, process: asyncio.subprocess.Process, time_limit: float) -> None:
        self._name = name
        self._process = process
        self._time_limit = time_limit
        self._about: PeerAbout | None = None
        self._turn = asyncio.Lock()
        self._last_lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._errors = asyncio.create_task(self._read_errors())
        self.refused: tuple[str, ...] = ()
        """After `close`: the addresses outside this machine that the child tried to reach."""

    @classmethod
    async def open(
        cls,
        name: PeerName,
        folder: Path,
        encoder_folder: Path,
        *,
        chat: PeerChat | None = None,
        time_limit: float = 600,
        command: Sequence[str] | None = None,
    ) -> Self:
        """Starts a child on a folder, which is created if it is missing.

        `time_limit` is in seconds for one call; opening may take at least five minutes. `command` replaces Python and the
        program. Raises `PeerMissingError` if the environment is missing, and `PeerError` if the child does not start.
        """
        if command is None:
            program = Path(__file__).parent / f"{name.replace('-', '_')}_child.py"
            command = (str(ensure(name)), str(program))
        folder.mkdir(parents=True, exist_ok=True)
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=_environment(folder),
            cwd=folder,
            limit=_LONGEST_LINE,
            start_new_session=True,
        )
        child = cls(name, process, time_limit)
        try:
            answer = await child._call(
                "open",
                max(_OPEN_LIMIT, time_limit),
                folder=str(folder.resolve()),
                encoder_folder=str(encoder_folder),
                chat_base_url=chat and chat.base_url,
                chat_model=chat and chat.model,
                chat_key=chat and chat.key,
            )
        except BaseException:
            await child._stop()
            raise
        child._about = PeerAbout(name, answer["package"], answer["version"], answer["mode"], tuple(answer["notes"]))
        return child

    @property
    def about(self) -> PeerAbout:
        assert self._about is not None
        return self._about

    async def observe(self, messages: Sequence[PeerMessage]) -> Observed:
        """Gives the messages to the peer, in order."""
        answer = await self._call("observe", messages=[_as_json(message) for message in messages])
        return Observed(
            answer["stored"],
            tuple((tuple(failure["message_ids"]), failure["error"]) for failure in answer["failed"]),
        )

    async def retrieve(self, question: str, k: int) -> list[PeerMemory]:
        """Returns at most k memories, best first. Raises `PeerError` if the package fails."""
        answer = await self._call("retrieve", question=question, k=k)
        return [_as_memory(memory) for memory in answer["memories"]]

    async def close(self) -> None:
        """Ends the child. Its data stays in the folder. Closing twice, or after a crash, does nothing."""
        if self._process.returncode is None:
            with contextlib.suppress(PeerError):
                self.refused = tuple((await self._call("close", _CLOSE_LIMIT))["refused"])
                self._input.close()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._process.wait(), _CLOSE_LIMIT)
        await self._stop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _call(self, call: str, time_limit: float | None = None, **arguments: Any) -> dict[str, Any]:
        limit = self._time_limit if time_limit is None else time_limit
        async with self._turn:
            if self._process.returncode is not None:
                raise PeerError(await self._ended(call))
            try:
                async with asyncio.timeout(limit):
                    line = await self._exchange(json.dumps({"call": call, **arguments}).encode() + b"\n")
            except TimeoutError:
                await self._stop()
                raise PeerError(f"{self._name} did not answer {call!r} within {limit:g} s and was stopped.") from None
            except BaseException:  # a late answer would be read as the answer to the next call
                await self._stop()
                raise
            if not line:
                raise PeerError(await self._ended(call))
            try:
                answer: dict[str, Any] = json.loads(line)
            except ValueError:
                await self._stop()
                raise PeerError(f"{self._name} answered {call!r} with {line[:80]!r}, which is not JSON.") from None
        if not answer["ok"]:
            raise PeerError(f"{self._name} failed in {call!r}: {answer['error']}")
        return answer

    async def _exchange(self, request: bytes) -> bytes:
        """Returns the line of the answer, which is empty if the child ended."""
        assert self._process.stdout is not None
        with contextlib.suppress(ConnectionError):  # the child has ended; `_ended` finds the reason
            self._input.write(request)
            await self._input.drain()
        return await self._process.stdout.readline()

    async def _ended(self, call: str) -> str:
        """Returns a sentence about a child that ended before it answered."""
        with contextlib.suppress(TimeoutError):  # to get its own exit code, not that of our signal
            await asyncio.wait_for(self._process.wait(), _EXIT_LIMIT)
        await self._stop()
        last_lines = " | ".join(self._last_lines) or "nothing"
        return (
            f"The process of {self._name} ended with code {self._process.returncode} before it answered {call!r}; "
            f"its last lines: {last_lines}"
        )

    async def _stop(self) -> None:
        """Ends the child and whatever it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        if not self._errors.done():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._errors, _EXIT_LIMIT)

    async def _read_errors(self) -> None:
        assert self._process.stderr is not None
        rest = b""
        while piece := await self._process.stderr.read(65536):
            *lines, rest = (rest + piece).split(b"\n")
            rest = rest[-4096:]
            self._last_lines.extend(text for line in lines if (text := _readable(line)))
        if text := _readable(rest):
            self._last_lines.append(text)

    @property
    def _input(self) -> asyncio.StreamWriter:
        assert self._process.stdin is not None
        return self._process.stdin


def _environment(folder: Path) -> Mapping[str, str]:
    """Returns an environment without our keys, proxies and settings, whose home folder is the child's folder."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR", "SYSTEMROOT") if name in os.environ}
    return {**kept, "HOME": str(folder.resolve()), "NO_PROXY": "*", "PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1"}


def _as_json(message: PeerMessage) -> dict[str, Any]:
    return {
        "message_id": message.message_id,
        "speaker": message.speaker,
        "role": message.role,
        "said_at": message.said_at.isoformat(),
        "text": message.text,
        "captions": list(message.captions),
    }


def _as_memory(memory: Mapping[str, Any]) -> PeerMemory:
    return PeerMemory(memory["memory"], tuple(memory["message_ids"]), tuple(map(_as_memory, memory.get("linked", ()))))


def _readable(line: bytes) -> str:
    return line.decode(errors="replace").strip()[:500]
