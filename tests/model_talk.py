"""A conversation with a scripted model behind a real HTTP server."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from m2a import Assistant
from m2a.agents.language_policy import LanguagePolicy
from m2a.memory.owners import owner_named
from m2a.settings import load_settings
from m2a.types import ReplyFinished, TurnEvent
from models.chat_model import REPLY_TOKENS
from models.provider_chat_model import ProviderChatModel
from tests.chat_server import ChatServer, Reply, Request, raw, say
from tests.scripted_model import Prompt

Script = Callable[[dict[str, Any]], Reply]


class Talk:
    """One conversation with a scripted model."""

    def __init__(self, assistant: Assistant, server: ChatServer) -> None:
        self.assistant, self.server = assistant, server
        self.conversation: str | None = None

    async def say(self, text: str, *photos: Path) -> list[TurnEvent]:
        self.server.requests.clear()
        owner = self.assistant.local_owner
        events = [event async for event in self.assistant.turn(owner, text, photos, self.conversation)]
        [self.conversation] = [e.message.conversation_id for e in events if isinstance(e, ReplyFinished)]
        return events

    def prompts(self, stage: str) -> list[Request]:
        return [request for request in self.server.requests if Prompt.of(request.json).stage == stage]


Begin = Callable[[Script], Talk]


@asynccontextmanager
async def talk(
    folder: Path,
    script: Script,
    *,
    window: int | None = None,
    reply_tokens: int = REPLY_TOKENS,
    published_stages: bool = False,
    style: str = "",
) -> AsyncIterator[Talk]:
    with ChatServer(script) as server:
        if window:
            entry = {"data": [{"id": "small", "max_model_len": window}]}
            server.facts["/v1/models"] = raw(json.dumps(entry).encode(), "application/json")
        model = ProviderChatModel(
            "openai:small", base_url=server.base_url, sees_photos=None, reply_tokens=reply_tokens, backoff=0
        )
        policy = LanguagePolicy(model, published_stages=published_stages, style=style)
        async with Assistant.open(load_settings(data_dir=folder), policy=policy) as assistant:
            yield Talk(assistant, server)


@asynccontextmanager
async def talks(folder: Path) -> AsyncIterator[Begin]:
    """Opens one assistant and its server for any number of users, each of whom begins with a script of their own."""
    async with talk(folder, lambda request: say("")) as chat:

        def begin(script: Script) -> Talk:
            chat.server.script = script
            chat.assistant.local_owner = owner_named(chat.assistant.stores.database, uuid4().hex)
            return Talk(chat.assistant, chat.server)

        yield begin


def keep_and_find(prompt: Prompt) -> tuple[str, dict[str, Any]]:
    """Keeps statements, searches for questions, and finishes without naming its hits."""
    asks = prompt.said.endswith("?")
    if prompt.stage == "query":
        return ("query_memory", {"query": "Bobo"}) if asks and not prompt.steps else ("answer", {})
    if prompt.stage == "update":
        return ("finish", {}) if asks else ("update_memory", {"request": prompt.said})
    if prompt.stage == "manage query":
        return ("finish", {}) if prompt.steps else ("search_semantic_memories", {"query": "Bobo"})
    return ("finish", {}) if asks else keep(prompt)


def keep(prompt: Prompt) -> tuple[str, dict[str, Any]]:
    evidence = [[prompt.message_id, prompt.message_id]]
    return "add_memory", {"text": prompt.said, "evidence_ids": evidence, "photos": prompt.photos}
