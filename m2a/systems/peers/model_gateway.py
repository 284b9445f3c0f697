"""A local server between a peer's package and the chat model, which passes requests on and counts them.

Packages swallow failed model calls and continue with empty memories, so failures are counted here. The endpoint's key stays in
this process; the package gets a key that is only valid for this gateway.
"""

import asyncio
import contextlib
import hashlib
import json
import secrets
import socket
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import httpx

from m2a.systems.metered import tokens_of

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response


@dataclass(frozen=True, slots=True)
class GatewayCounts:
    """The counts of a gateway.

    - `requests` counts every attempt, including repeated ones.
    - `failures` counts attempts without a usable reply, by kind ("status 500", "time limit", "no connection", "unreadable body",
      "refused here").
    - `lost` counts requests whose last attempt failed, so that the package went on without a reply.
    - Tokens are the server's own counts, or estimates if it gave none; `estimated` counts those replies.
    """

    requests: int = 0
    failures: Mapping[str, int] = field(default_factory=dict)
    lost: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: int = 0


class ModelGateway:
    """An OpenAI-compatible chat endpoint at `base_url`, for callers that have the `key`; an async context manager.

    It passes on `chat/completions` without streaming and refuses everything else. Like all systems, it asks with temperature 0,
    unless the endpoint refuses that. It never repeats a request, since repeating is up to the package and part of the
    comparison. `time_limit` is in seconds for one attempt.
    """

    def __init__(self, upstream_base_url: str, upstream_key: str | None, *, time_limit: float = 120) -> None:
        self.key = f"gateway-{secrets.token_urlsafe(16)}"
        self._upstream = upstream_base_url.rstrip("/")
        self._upstream_key = upstream_key
        self._time_limit = time_limit
        self._greedy = True
        self._lost: Counter[str] = Counter()
        self._counts = GatewayCounts()

    @property
    def counts(self) -> GatewayCounts:
        """The counts so far."""
        return replace(self._counts, lost=self._lost.total())

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    async def __aenter__(self) -> Self:
        import uvicorn

        class Server(uvicorn.Server):
            @contextlib.contextmanager
            def capture_signals(self) -> Iterator[None]:
                yield  # the program that runs this server handles Ctrl-C

        self._client = httpx.AsyncClient(timeout=self._time_limit, trust_env=False)
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        self._port: int = listener.getsockname()[1]
        self._server = Server(
            uvicorn.Config(self._app(), log_level="error", lifespan="off", timeout_graceful_shutdown=1)
        )
        self._serving = asyncio.create_task(self._server.serve(sockets=[listener]))
        while not self._server.started and not self._serving.done():
            await asyncio.sleep(0.01)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()  # ends open requests at once, so that the server need not cut them off
        self._server.should_exit = True
        await self._serving

    def _app(self) -> "FastAPI":
        from fastapi import FastAPI, HTTPException, Request, Response

        app = FastAPI(openapi_url=None)

        async def any_path(request: Request) -> Response:
            authorization = request.headers.get("authorization", "")
            if not secrets.compare_digest(authorization.encode(), f"Bearer {self.key}".encode()):
                raise HTTPException(401)  # it is not our package, so it is not counted
            return await self._pass_on(request)

        app.add_api_route("/{path:path}", any_path, methods=["GET", "POST", "PUT", "DELETE"], response_model=None)
        return app

    async def _pass_on(self, request: "Request") -> "Response":
        from fastapi.responses import JSONResponse, Response

        self._counts = replace(self._counts, requests=self._counts.requests + 1)
        body = await request.body()
        request_id = hashlib.sha256(body).hexdigest()
        payload = _object(body)
        if (
            request.method != "POST"
            or request.url.path != "/v1/chat/completions"
            or payload is None
            or payload.get("stream")
        ):
            self._fail(request_id, "refused here", is_retry=False)
            return JSONResponse({"error": {"message": "Only chat completions without streaming pass here."}}, 400)

        # The header of OpenAI's client, which both packages use: 0 for a first attempt.
        is_retry = request.headers.get("x-stainless-retry-count", "0") != "0"
        headers = {"Content-Type": "application/json"}
        if self._upstream_key is not None:
            headers["Authorization"] = f"Bearer {self._upstream_key}"
        try:
            async with asyncio.timeout(self._time_limit):
                reply = await self._send(payload, headers)
        except (TimeoutError, httpx.TimeoutException):
            self._fail(request_id, "time limit", is_retry=is_retry)
            return JSONResponse({"error": {"message": "The chat model did not answer in time."}}, 504)
        except httpx.HTTPError as error:
            self._fail(request_id, "no connection", is_retry=is_retry)
            return JSONResponse({"error": {"message": f"The chat model cannot be reached: {error}"}}, 502)
        reply_body = _object(reply.content)
        content = None if reply_body is None else _content(reply_body)
        if reply.status_code >= 400:
            self._fail(request_id, f"status {reply.status_code}", is_retry=is_retry)
        elif reply_body is None or content is None:
            self._fail(request_id, "unreadable body", is_retry=is_retry)
        else:
            if is_retry and self._lost[request_id]:
                self._lost[request_id] -= 1
            self._count(payload, reply_body, content)
        reply_headers = {
            key: value for key in ("content-type", "retry-after") if (value := reply.headers.get(key)) is not None
        }
        return Response(reply.content, reply.status_code, reply_headers)

    async def _send(self, payload: dict[str, Any], headers: dict[str, str]) -> httpx.Response:
        address = f"{self._upstream}/chat/completions"
        without_temperature = {name: value for name, value in payload.items() if name != "temperature"}
        if self._greedy:
            reply = await self._post(address, {**without_temperature, "temperature": 0}, headers)
            if reply.status_code != 400 or "temperature" not in reply.text.lower():
                return reply
            self._greedy = False
        return await self._post(address, without_temperature, headers)

    async def _post(self, address: str, payload: dict[str, Any], headers: dict[str, str]) -> httpx.Response:
        if self._client.is_closed:  # a package may try again while the gateway closes
            raise httpx.ConnectError("the gateway is closing")
        return await self._client.post(address, json=payload, headers=headers)

    def _fail(self, request_id: str, kind: str, *, is_retry: bool) -> None:
        failures = Counter(self._counts.failures) + Counter([kind])
        self._counts = replace(self._counts, failures=dict(failures))
        if not is_retry:
            self._lost[request_id] += 1

    def _count(self, payload: dict[str, Any], reply_body: dict[str, Any], content: str) -> None:
        usage = reply_body.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
        estimated = 0
        if not isinstance(prompt, int) or not isinstance(completion, int):
            estimated = 1
            prompt = tokens_of(json.dumps(payload.get("messages"), ensure_ascii=False))
            completion = tokens_of(content)
        self._counts = replace(
            self._counts,
            prompt_tokens=self._counts.prompt_tokens + prompt,
            completion_tokens=self._counts.completion_tokens + completion,
            estimated=self._counts.estimated + estimated,
        )


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(body)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _content(body: dict[str, Any]) -> str | None:
    """Returns the model's words and its tool calls as JSON, or None if the body is not a reply."""
    try:
        message = body["choices"][0]["message"]
        content, calls = message.get("content"), message.get("tool_calls")
    except (KeyError, IndexError, TypeError, AttributeError):
        return None
    if isinstance(content, str) and content:
        return content
    return json.dumps(calls) if calls else None
