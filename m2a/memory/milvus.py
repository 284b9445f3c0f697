"""A connection to Milvus: to Milvus Lite, which keeps a file in a process of its own, or to a server."""

import fcntl
import logging
import os
import signal
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from m2a.types.errors import UserError

if TYPE_CHECKING:
    from pymilvus import MilvusClient

_OPEN_ATTEMPTS = 4
_STARTING = 0.5  # seconds that Milvus Lite waits for its process to start
_KILLED = 60  # seconds until a process that was killed has ended, however busy the machine is
_CONNECT_TIMEOUT = 8  # seconds
_LITE_CONNECT_TIMEOUT = 30  # long enough for a busy machine, so that the file is not taken for damaged
# Milvus Lite disconnects clients that ping while idle, and gRPC then prints complaints.
_WITHOUT_PINGS = {"grpc.keepalive_time_ms": 2**31 - 1, "grpc.keepalive_permit_without_calls": False}
_SOCKET_PATH = 103  # bytes that a socket's path may have on macOS; Linux takes four more
_SOCKET_ENDING = len("_.sock") + 36  # what Milvus Lite appends, including the file's name
TIMEOUT = 20  # seconds; without a limit, pymilvus retries for minutes
SLOW_TIMEOUT = 300  # for creating and loading collections, and for writing


class IndexUnavailableError(UserError):
    """The index cannot be opened or does not answer; the message says why and what to do."""


def is_lite(uri: str) -> bool:
    """Returns whether the URI is the path of a Milvus Lite file, and not the address of a server."""
    return "://" not in uri


def open_client(uri: str, *, again: bool = False) -> "MilvusClient":
    """Opens a client. Raises `IndexUnavailableError`.

    With `again`, this process had the file open before, so nobody else can have it.
    """
    lite = is_lite(uri)
    with suppress(ImportError):
        import scipy.sparse  # noqa: F401  # otherwise pymilvus imports it in its first search, where two threads can deadlock
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # milvus-lite's use of pkg_resources
        from pymilvus import MilvusClient
        from pymilvus.exceptions import MilvusException

        for name in ("pymilvus", "milvus_lite"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # failures are raised anyway
        if lite:
            _start_quietly()
            with suppress(OSError):
                os.chmod(uri, 0o600)
    attempts = (2 if again else _OPEN_ATTEMPTS) if lite else 1
    for attempt in range(attempts):
        if attempt:
            time.sleep(attempt / 2)  # an earlier process may still be closing the file
        try:
            options = _WITHOUT_PINGS if lite else {}
            timeout = _LITE_CONNECT_TIMEOUT if lite else _CONNECT_TIMEOUT
            client = MilvusClient(uri, timeout=timeout, grpc_options=options)
            if lite:
                _make_private(Path(uri))
            return client
        except (MilvusException, RuntimeError, OSError) as error:
            failure: Exception = error
            end_lite(uri)
    reason = getattr(failure, "message", None) or str(failure)
    remedy = " If this persists, delete that file; the index is rebuilt from the database." if lite else ""
    raise IndexUnavailableError(f"Cannot open the index {uri}: {reason.rstrip('.')}.{remedy}") from failure


def _make_private(file: Path) -> None:
    """Makes the file and Milvus Lite's lock file readable only by this user."""
    for made in (file, file.with_name(f".{file.name}.lock")):
        with suppress(OSError):
            made.chmod(0o600)


def end_lite(uri: str) -> None:
    """Ends Milvus Lite's process, if there is one."""
    if is_lite(uri):
        from milvus_lite.server_manager import server_manager_instance

        if str(Path(uri).resolve()) in server_manager_instance._servers:  # otherwise it logs a complaint
            server_manager_instance.release_server(uri)


@contextmanager
def answering(uri: str) -> Iterator[None]:
    """Turns a failure of Milvus into `IndexUnavailableError`."""
    from grpc import RpcError
    from pymilvus.exceptions import MilvusException

    try:
        yield
    except (MilvusException, RpcError, ValueError) as error:
        if isinstance(error, ValueError) and "channel" not in str(
            error
        ):  # grpc: "Cannot invoke RPC on closed channel!"
            raise
        reason = getattr(error, "message", None) or str(error)
        raise IndexUnavailableError(f"The index {uri} does not answer: {reason}") from error


class FileLock:
    """A lock that is held while the index is open, and released by the system when the process ends.

    Milvus Lite has a lock of its own, but a process that it refuses deletes that lock when it exits, so the next one gets in.
    """

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(0o600)
            self._file = path.open("a")
        except OSError as error:
            raise IndexUnavailableError(f"Cannot open the index {path.with_suffix('')}: {error.strerror}.") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise IndexUnavailableError(
                f"Cannot open the index {path.with_suffix('')}: another process has it open."
            ) from error

    def release(self) -> None:
        self._file.close()


def _start_quietly() -> None:
    """Keeps Milvus Lite's process from writing to our standard output and into /tmp, and from receiving Ctrl-C."""
    import subprocess
    from types import SimpleNamespace

    import milvus_lite.server

    class LiteProcess(subprocess.Popen[bytes]):
        """Milvus Lite's process with shorter and longer waits.

        Milvus Lite waits half a second to see whether its process fails to start; here the wait ends as soon as the process
        listens. And after killing it Milvus Lite waits three seconds, which is too short on a busy machine.
        """

        is_killed = False

        def __init__(self, *, env: dict[str, str], **options: Any) -> None:
            # Otherwise each start leaves log files in /tmp. What it writes to standard error goes nowhere.
            super().__init__(env={**env, "GLOG_logtostderr": "1"}, **options)

        def send_signal(self, sig: int) -> None:
            self.is_killed = self.is_killed or sig == signal.SIGKILL
            super().send_signal(sig)

        def wait(self, timeout: float | None = None) -> int:
            if self.is_killed:
                return super().wait(_KILLED)
            socket = str(self.args[2]).removeprefix("unix:")  # type: ignore[index]
            deadline = time.monotonic() + (timeout or 0)
            while timeout == _STARTING and time.monotonic() < deadline:
                if self.poll() is None and os.path.exists(socket):
                    raise subprocess.TimeoutExpired(self.args, timeout)
                if self.poll() is not None:
                    break
                time.sleep(0.005)
            return super().wait(timeout)

    popen = partial(
        LiteProcess,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        umask=0o077,  # the file contains the words of all owners
    )
    milvus_lite.server.subprocess = SimpleNamespace(Popen=popen, TimeoutExpired=subprocess.TimeoutExpired)
    milvus_lite.server.tempfile = SimpleNamespace(mktemp=_socket_start)


def _socket_start() -> str:
    """Returns the beginning of the socket's path: in the temporary folder, or in /tmp if that path is too long for a socket."""
    inside = tempfile.mktemp()
    return inside if len(os.fsencode(inside)) + _SOCKET_ENDING <= _SOCKET_PATH else tempfile.mktemp(dir="/tmp")
