"""How a command reaches the process that owns the data folder: over loopback, with the token of the lock file."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Generator
from typing import TYPE_CHECKING, Any

from m2a.data_folder import Holder

if TYPE_CHECKING:
    from fastapi import APIRouter

    from m2a.assistant import Assistant

PATH = "/local"


class LocalApiError(Exception):
    """The process that owns the data folder could not do the command; the message is a sentence."""


def router(assistant: "Assistant", token: str) -> "APIRouter":
    """POST /local/NAME with the command's arguments as JSON; the pieces come as JSON lines."""
    from fastapi import APIRouter, Header, HTTPException, Request
    from fastapi.responses import StreamingResponse

    from m2a.commands import COMMANDS

    routes = APIRouter()

    @routes.post(PATH + "/{name}")
    async def command(name: str, request: Request, authorization: str = Header("")) -> StreamingResponse:
        if not secrets.compare_digest(authorization.encode(), f"Bearer {token}".encode()):
            raise HTTPException(401)
        if name not in COMMANDS:
            raise HTTPException(404)
        pieces = COMMANDS[name](assistant, **await request.json())
        return StreamingResponse(_lines(pieces), media_type="application/x-ndjson")

    return routes


async def _lines(pieces: AsyncIterator[dict[str, Any]]) -> AsyncIterator[str]:
    try:
        async for piece in pieces:
            yield json.dumps(piece) + "\n"
    except asyncio.CancelledError:
        raise
    except Exception as error:  # the status line is long sent: the error is the last piece
        yield json.dumps({"error": str(error)}) + "\n"


def call(holder: Holder, name: str, arguments: dict[str, Any]) -> Generator[dict[str, Any], None, None]:
    """Have the owning process do a command. Raises `LocalApiError` where it cannot."""
    import httpx

    if holder.address is None:
        raise LocalApiError(f"Process {holder.pid} uses the data folder and serves no commands; wait for it to end.")
    headers = {"Authorization": f"Bearer {holder.token}"}
    try:
        with (
            # The address is known a moment before the app listens: a connection that is refused is tried again.
            httpx.Client(
                timeout=httpx.Timeout(10, read=None), transport=httpx.HTTPTransport(retries=5), trust_env=False
            ) as client,
            client.stream("POST", f"{holder.address}{PATH}/{name}", json=arguments, headers=headers) as response,
        ):
            if response.status_code != 200:
                raise LocalApiError(f"The app at {holder.address} answered {response.status_code}; restart it.")
            for line in response.iter_lines():
                yield json.loads(line)
    except httpx.HTTPError as error:
        raise LocalApiError(f"The app at {holder.address} does not answer ({error}); restart it.") from error
