"""Lets a command reach the process that owns the data folder: over loopback, with the token from the lock file."""

import json
import logging
import secrets
from collections.abc import AsyncIterator, Generator
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from m2a.data_folder import Holder
from m2a.sentences import known_sentence, location_of, unexpected_sentence
from m2a.types.errors import UserError

if TYPE_CHECKING:
    import httpx
    from fastapi import APIRouter

    from m2a.assistant import Assistant

PATH = "/local"

_log = logging.getLogger(__name__)


class LocalApiError(UserError):
    """The process that owns the data folder could not execute the command. The message says why."""


def router(assistant: "Assistant", token: str) -> "APIRouter":
    """Returns the route POST /local/NAME, which takes a command's arguments as JSON and streams its pieces as JSON lines."""
    from fastapi import APIRouter, Header, HTTPException, Request
    from fastapi.responses import StreamingResponse

    from m2a.commands import COMMANDS

    routes = APIRouter()

    @routes.post(PATH + "/{name}")
    async def command(name: str, request: Request, authorization: str = Header("")) -> StreamingResponse:
        if not secrets.compare_digest(authorization.encode(), f"Bearer {token}".encode()):
            raise HTTPException(401)
        if name not in COMMANDS:
            raise HTTPException(404, f"There is no command {name!r}; there are {', '.join(COMMANDS)}.")
        try:
            arguments = _arguments_of(name).model_validate_json(await request.body(), strict=True)
        except ValidationError as error:
            faults = "; ".join(
                f"{'.'.join(map(str, fault['loc'])) or 'body'}: {fault['msg']}" for fault in error.errors()
            )
            raise HTTPException(422, f"The arguments of {name} are wrong: {faults}.") from None
        pieces = COMMANDS[name](assistant, **dict(arguments))
        return StreamingResponse(_lines(pieces), media_type="application/x-ndjson")

    return routes


async def _lines(pieces: AsyncIterator[dict[str, Any]]) -> AsyncIterator[str]:
    try:
        async for piece in pieces:
            yield json.dumps(piece) + "\n"
    except Exception as error:  # the status line is already sent, so the error becomes the last piece
        sentence = known_sentence(error)
        if sentence is None:
            _log.error("A command sent to /local failed: %s", location_of(error))
            sentence = unexpected_sentence(error)
        yield json.dumps({"error": sentence}) + "\n"


@cache
def _arguments_of(name: str) -> type[BaseModel]:
    """Returns a model of the command's arguments besides the assistant: all are required, and no others are allowed."""
    from m2a.commands import COMMANDS

    types = get_type_hints(COMMANDS[name])
    fields = {argument: (types[argument], ...) for argument in list(signature(COMMANDS[name]).parameters)[1:]}
    model: type[BaseModel] = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)  # type: ignore[call-overload]
    return model


def call(holder: Holder, name: str, arguments: dict[str, Any]) -> Generator[dict[str, Any], None, None]:
    """Executes a command in the process that owns the data folder. Raises `LocalApiError` if that fails."""
    import httpx

    headers = {"Authorization": f"Bearer {holder.token}"}
    try:
        with (
            # The address is published a moment before the app listens, so a refused connection is tried again.
            httpx.Client(
                timeout=httpx.Timeout(10, read=None), transport=httpx.HTTPTransport(retries=5), trust_env=False
            ) as client,
            client.stream("POST", f"{holder.address}{PATH}/{name}", json=arguments, headers=headers) as response,
        ):
            if response.status_code != 200:
                raise LocalApiError(f"The app at {holder.address} answered {_status_and_detail(response)}; restart it.")
            for line in response.iter_lines():
                yield json.loads(line)
    except httpx.HTTPError as error:
        raise LocalApiError(f"The app at {holder.address} does not answer ({error}); restart it.") from error


def _status_and_detail(response: "httpx.Response") -> str:
    """Returns the status code, with the sentence in the response if there is one."""
    try:
        detail = json.loads(response.read())["detail"]
    except (ValueError, KeyError, TypeError):
        return str(response.status_code)
    return f"{response.status_code} ({str(detail).rstrip('.')})"
