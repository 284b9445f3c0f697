"""Serves the app in a process whose sockets reach only this machine; each attempt at another address is recorded.

Usage: python -m tests.blocked_server NOTES
"""

import ipaddress
import socket
import sys
from pathlib import Path
from typing import Any


class ForeignAddressError(OSError):
    pass


def block_other_hosts(notes: Path) -> None:
    """From now on, connecting to, sending to or looking up another host writes a line and fails."""
    notes.touch()

    def check(address: Any) -> None:
        host = address[0] if isinstance(address, tuple) else address
        if not _is_local(host):
            with notes.open("a") as file:
                file.write(f"{address}\n")
            raise ForeignAddressError(f"{address} is not on this machine")

    class LocalSocket(socket.socket):
        def connect(self, address: Any) -> None:
            check(address)
            super().connect(address)

        def connect_ex(self, address: Any) -> int:
            check(address)
            return super().connect_ex(address)

        def sendto(self, *arguments: Any) -> int:
            check(arguments[-1])
            return super().sendto(*arguments)

    look_up = socket.getaddrinfo

    def getaddrinfo(host: Any, *arguments: Any, **more: Any) -> Any:
        check((host,))
        return look_up(host, *arguments, **more)

    socket.socket = LocalSocket  # type: ignore[misc]
    socket.getaddrinfo = getaddrinfo


def _is_local(host: Any) -> bool:
    if isinstance(host, bytes):
        host = host.decode(errors="replace")
    if host in (None, "", "localhost") or not isinstance(host, str) or host.startswith("/"):
        return True  # this machine, a Unix socket
    try:
        return ipaddress.ip_address(host).is_loopback or ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


if __name__ == "__main__":
    block_other_hosts(Path(sys.argv[1]))

    from app import main

    main()
