"""The parts that child programs share: the protocol of JSON lines, the text of a message, and the ban on other hosts.

The child programs run in the peer's own environment and import only this file of ours, which needs only the standard library. A
request is one JSON line on standard input, `{"call": NAME, …}`, and its answer is one JSON line on standard output,
`{"ok": true, …}` or `{"ok": false, "error": SENTENCE}`. Anything that a package prints goes to standard error.
"""

import ipaddress
import json
import logging
import os
import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol

Request = dict[str, Any]
Answer = dict[str, Any]


class Peer(Protocol):
    """A memory system that is open on one folder."""

    def observe(self, messages: list[dict[str, Any]]) -> Answer:
        """Returns `{"stored": number of memories, "failed": [{"message_ids", "error"}, …]}`. One failure stops no other."""
        ...

    def retrieve(self, question: str, k: int) -> Answer:
        """Returns `{"memories": [{"memory", "message_ids"}, …]}`, best first."""
        ...

    def close(self) -> None: ...


def serve(open_peer: Callable[[Request], tuple[Peer, Answer]]) -> None:
    """Answers requests until `close` or the end of standard input.

    `open_peer` takes the `open` request and returns the peer with its package, version, mode (`store-only` or `chat model`) and
    notes. The answer to `close` lists, as `refused`, the addresses outside this machine that were tried.
    """
    # Otherwise the peer could import our files as modules.
    sys.path[:] = [folder for folder in sys.path if folder != os.path.dirname(os.path.abspath(__file__))]
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    refused = refuse_other_hosts()

    peer: Peer | None = None
    for line in requests:
        request = json.loads(line)
        call = request["call"]
        try:
            if call == "open":
                peer, answer = open_peer(request)
            elif call == "close":
                if peer is not None:
                    peer.close()
                answer = {"refused": refused}
            elif peer is None:
                raise ValueError("Send `open` first.")
            elif call == "observe":
                answer = peer.observe(request["messages"])
            elif call == "retrieve":
                answer = peer.retrieve(request["question"], request["k"])
            else:
                raise ValueError(f"There is no call {call!r}.")
            reply = {"ok": True, **answer}
        except Exception as error:
            logging.getLogger(__name__).warning("%s failed", call, exc_info=True)
            reply = {"ok": False, "error": in_words(error)}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()
        if call == "close":
            return


def message_text(message: dict[str, Any]) -> str:
    """Returns the text of a message for a peer: speaker, day, words, and captions of its photos."""
    day = datetime.fromisoformat(message["said_at"]).strftime("%-d %B %Y")
    pieces = [
        f"{message['speaker']} ({day}):",
        message["text"],
        *(f"[photo: {words}]" for words in message["captions"]),
    ]
    return " ".join(piece for piece in pieces if piece)


def in_words(error: Exception) -> str:
    """Returns the error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def refuse_other_hosts() -> list[str]:
    """Limits Python's sockets to this machine from now on. Returns a list to which it adds other addresses that are tried."""
    refused: list[str] = []

    def check(host: Any) -> None:
        if not _is_local(host):
            refused.append(str(host))
            raise ConnectionRefusedError(f"{host} is not on this machine.")

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
            address = arguments[1]
            check(address[0] if isinstance(address, tuple) else None)
        elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
            check(arguments[0])

    sys.addaudithook(hook)
    return refused


def _is_local(host: Any) -> bool:
    if isinstance(host, bytes):
        host = host.decode(errors="replace")
    if host in (None, "", "localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified
