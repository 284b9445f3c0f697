"""A scripted OpenAI-compatible chat server: real HTTP on a free port of this machine, in a thread.

    with ChatServer(replies(status(503), call("search", {"query": "Rex"}), say("Rex is a dog."))) as server:
        model = load_chat_model("openai:any", base_url=server.base_url)
        …
        assert server.requests[-1].photos == [photo_bytes]

A script is any `callable(request_json) -> Reply`; `replies` plays a list and repeats its last item. `say`, `call`,
`status`, `hang` and `raw` make the common replies; the fields of `Reply` describe the rest. Every request is recorded.
What hangs is released when the server closes, or by `server.release()`. Nothing here sleeps.
"""

import asyncio
import base64
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

Fault = Literal[
    "hang before headers",
    "hang before the first piece",
    "hang after the first piece",
    "cut before headers",
    "cut before the first piece",
    "cut after the first piece",
    "cut before the end",
    "end without a finish",
]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the server. `tool_calls` are (name, arguments), the arguments an object or the raw string to send.

    `finish_reason` None means the usual one. `error` is the message of an answer whose status is not 200. `body`
    replaces the whole answer. `fault` is where the answer breaks.
    """

    text: str = ""
    tool_calls: tuple[tuple[str, Mapping[str, Any] | str], ...] = ()
    reasoning: str = ""
    finish_reason: str | None = None
    usage: tuple[int, int] | None = (11, 7)
    pieces: int = 3
    choices: bool = True
    status: int = 200
    error: str = "scripted"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str | None = None
    fault: Fault | None = None


Script = Callable[[dict[str, Any]], Reply]


def say(text: str, **rest: Any) -> Reply:
    """A reply in words."""
    return Reply(text=text, **rest)


def call(name: str, arguments: Mapping[str, Any] | str, **rest: Any) -> Reply:
    """A reply that calls one tool; a string is sent unchanged, valid or not."""
    return Reply(tool_calls=((name, arguments),), **rest)


def status(code: int, error: str = "scripted", *, retry_after: str | None = None) -> Reply:
    """An HTTP error."""
    return Reply(status=code, error=error, headers={} if retry_after is None else {"Retry-After": retry_after})


def hang(fault: Fault = "hang before headers", text: str = "never finished") -> Reply:
    """An answer that stalls; the connection stays open."""
    return Reply(text=text, fault=fault)


def raw(body: bytes, content_type: str = "text/event-stream", code: int = 200) -> Reply:
    """Any bytes as the body."""
    return Reply(body=body, content_type=content_type, status=code)


def replies(*script: Reply) -> Script:
    """Plays the replies in order, then repeats the last one."""
    waiting = list(script)
    return lambda request: waiting.pop(0) if len(waiting) > 1 else waiting[0]


def refusing(
    *features: Literal["tools", "json_schema", "json_object"], code: int = 400, then: Script | Reply
) -> Script:
    """A server that lacks the features: refuses such a request with an error, passes any other one to `then`."""

    def script(request: dict[str, Any]) -> Reply:
        mode = mode_of(request)
        if mode in features:
            return status(code, f"{mode} is not supported")
        return then if isinstance(then, Reply) else then(request)

    return script


def mode_of(request: Mapping[str, Any]) -> str:
    """Returns how a request asks for a tool call: tools, json_schema, json_object or text."""
    if request.get("tools"):
        return "tools"
    return request.get("response_format", {}).get("type", "text")


@dataclass(frozen=True, slots=True)
class Request:
    """One recorded request."""

    path: str
    headers: Mapping[str, str]
    json: dict[str, Any]

    @property
    def photos(self) -> list[bytes]:
        """The bytes of every photo, in prompt order."""
        return [
            base64.b64decode(part["image_url"]["url"].partition(",")[2])
            for part in self.parts
            if part["type"] == "image_url"
        ]

    @property
    def parts(self) -> list[dict[str, Any]]:
        """The content parts of all messages, in order; a plain string counts as one."""
        contents = [message.get("content") or [] for message in self.json["messages"]]
        return [
            part
            for content in contents
            for part in ([{"type": "text", "text": content}] if isinstance(content, str) else content)
        ]

    @property
    def text(self) -> str:
        """All words of the prompt."""
        return "\n".join(part["text"] for part in self.parts if part["type"] == "text")


class ChatServer:
    """The server; a context manager. `client_left` is set when a client closes a connection whose answer hangs."""

    def __init__(self, script: Script | Reply) -> None:
        self.script: Script = replies(script) if isinstance(script, Reply) else script
        self.requests: list[Request] = []
        self.facts: dict[str, Reply] = {}
        """What it says of its models, by path; the rest is not found. Such requests are not recorded."""
        self.client_left = threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="chat-server", daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def modes(self) -> list[str]:
        """How each request asked for a tool call."""
        return [mode_of(request.json) for request in self.requests]

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10), "the chat server did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(10)
        assert not self._thread.is_alive(), "the chat server did not stop"

    def release(self) -> None:
        """Cut every answer that hangs."""
        self._loop.call_soon_threadsafe(self._released.set)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped, self._released = asyncio.Event(), asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, limit=2**26)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopped.wait()
        self._released.set()
        server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {
                key.lower(): value.strip() for key, _, value in (line.partition(":") for line in head[1:] if line)
            }
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            request = Request(head[0].split()[1], headers, json.loads(body) if body else {})
            if request.path in ("/v1/models", "/api/show"):
                return await _send_whole(self.facts.get(request.path, status(404)), writer)
            self.requests.append(request)
            await self._answer(request, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if request.path != "/v1/chat/completions":
            reply = status(404, f"no such path: {request.path}")
        else:
            reply = self.script(request.json)
        if reply.fault == "cut before headers":
            return writer.transport.abort()
        if reply.fault == "hang before headers":
            return await self._hang(reader, writer)
        if reply.body is not None or reply.status != 200 or not request.json.get("stream"):
            return await _send_whole(reply, writer)
        await self._stream(reply, reader, writer)

    async def _stream(self, reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(_head(200, "text/event-stream", {"Transfer-Encoding": "chunked", **reply.headers}))
        events = list(_events(reply))
        done = 1 if reply.fault == "end without a finish" else 0
        for number, event in enumerate(events):
            last = number == len(events) - 1
            where = ("before the first piece", "after the first piece")[number] if number < 2 else ""
            for fault_at in (where, "before the end" if last else ""):
                if fault_at and reply.fault == f"cut {fault_at}":
                    await writer.drain()
                    return writer.transport.abort()
                if fault_at and reply.fault == f"hang {fault_at}":
                    return await self._hang(reader, writer)
            if done and event.get("final"):
                break
            data = json.dumps({key: value for key, value in event.items() if key != "final"})
            writer.write(_chunk(f"data: {data}\n\n".encode()))
        if not done:
            writer.write(_chunk(b"data: [DONE]\n\n"))
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async def _hang(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await writer.drain()
        disconnect = asyncio.ensure_future(reader.read(1))
        released = asyncio.ensure_future(self._released.wait())
        await asyncio.wait({disconnect, released}, return_when=asyncio.FIRST_COMPLETED)
        if disconnect.done():
            self.client_left.set()
        disconnect.cancel()
        released.cancel()
        writer.transport.abort()


def _head(code: int, content_type: str, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {code} Scripted", f"Content-Type: {content_type}", "Connection: close"]
    return "\r\n".join([*lines, *(f"{key}: {value}" for key, value in headers.items()), "", ""]).encode("latin-1")


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


async def _send_whole(reply: Reply, writer: asyncio.StreamWriter) -> None:
    if reply.body is not None:
        body = reply.body
    elif reply.status != 200:
        body = json.dumps({"error": {"message": reply.error, "type": "scripted", "code": None}}).encode()
    else:
        body = json.dumps(_completion(reply)).encode()
    headers = {"Content-Length": str(len(body)), **reply.headers}
    writer.write(_head(reply.status, reply.content_type or "application/json", headers) + body)
    await writer.drain()


def _written(arguments: Mapping[str, Any] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _finish(reply: Reply) -> str:
    return reply.finish_reason or ("tool_calls" if reply.tool_calls else "stop")


def _usage(reply: Reply) -> dict[str, int] | None:
    if reply.usage is None:
        return None
    prompt, completion = reply.usage
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _completion(reply: Reply) -> dict[str, Any]:
    calls = [
        {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": _written(arguments)}}
        for n, (name, arguments) in enumerate(reply.tool_calls)
    ]
    message = {"role": "assistant", "content": reply.text or None, "tool_calls": calls or None}
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
    common = {"id": "scripted", "object": "chat.completion", "created": 1, "model": "scripted"}
    return {**common, "choices": [choice] if reply.choices else [], "usage": _usage(reply)}


def _events(reply: Reply) -> Iterator[dict[str, Any]]:
    """The chunks of a streamed answer; the ones marked `final` carry the finish reason and the usage."""
    common = {"id": "scripted", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}

    def event(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}] if reply.choices else []
        return {**common, "choices": choices}

    for piece in _cut_up(reply.reasoning, reply.pieces):
        yield event({"role": "assistant", "reasoning_content": piece})
    for piece in _cut_up(reply.text, reply.pieces):
        yield event({"role": "assistant", "content": piece})
    for n, (name, arguments) in enumerate(reply.tool_calls):
        opening = {"index": n, "id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": ""}}
        yield event({"role": "assistant", "tool_calls": [opening]})
        for piece in _cut_up(_written(arguments), reply.pieces):
            yield event({"tool_calls": [{"index": n, "function": {"arguments": piece}}]})
    yield {**event({}, _finish(reply)), "final": True}
    if reply.usage is not None:
        yield {**common, "choices": [], "usage": _usage(reply), "final": True}


def _cut_up(text: str, pieces: int) -> Sequence[str]:
    size = max(1, -(-len(text) // pieces))
    return [text[start : start + size] for start in range(0, len(text), size)]
