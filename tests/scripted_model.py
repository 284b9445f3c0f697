"""A prompt read back into its parts, and a small deterministic model that acts on them over real HTTP.

Tests look at prompts through `Prompt`: what stands inside the announced fence, what stands outside, and which stage asks.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

from m2a.agents.consent_prompt import TOOL
from tests.chat_server import Reply, call, mode_of, say

PromptStage = Literal[
    "query", "generate", "update", "manage query", "manage update", "consent", "consent shown", "caption"
]

_STAGES: dict[str, PromptStage] = {
    "Stage 1, Query.": "query",
    "Stage 2, Generate.": "generate",
    "Stage 3, Update.": "update",
    "Query request:": "manage query",
    "Update request:": "manage update",
    "Consent check. Say": "consent",
    "Consent check, photos": "consent shown",
}
_ANNOUNCED = re.compile(r"Everything between <data-(\w+)> and </data-(\w+)> is material")


@dataclass(frozen=True)
class Block:
    """Material inside the fence, under its title."""

    title: str
    body: str


@dataclass(frozen=True)
class Prompt:
    """The words of a prompt, in order, less the earlier turns of the conversation that go along as turns."""

    text: str

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> Self:
        """The prompt of a request to a chat server."""
        said = []
        for message in request["messages"]:
            content = message.get("content") or []
            parts = [content] if isinstance(content, str) else [p["text"] for p in content if p["type"] == "text"]
            for made in message.get("tool_calls") or ():
                arguments = json.loads(made["function"]["arguments"])
                parts.append(json.dumps({"tool": made["function"]["name"], "arguments": arguments}))
            said.append((message["role"], parts))
        return cls.of_messages(said)

    @classmethod
    def of_messages(cls, messages: Sequence[tuple[str, Sequence[str]]]) -> Self:
        """The prompt of messages, each its role and its parts; earlier steps are told as `Step 1, you: …`."""
        is_reply = any("Stage 2, Generate." in part for role, parts in messages for part in parts if role == "system")
        lines: list[str] = []
        step = 0
        for number, (role, parts) in enumerate(messages):
            if role == "assistant" and not is_reply:
                step += 1
                lines.append(f"Step {step}, you: {' '.join(parts)}\n")
            elif role == "system" or not is_reply or number == len(messages) - 1:
                lines += parts
        return cls("\n".join(lines))

    @cached_property
    def stage(self) -> PromptStage:
        """By the instructions, which stand outside of every fence and close the prompt (or its system message)."""
        found = {stage: self.outside.rfind(f"\n{words}") for words, stage in _STAGES.items()}
        stage = max(found, key=lambda stage: found[stage])
        return stage if found[stage] >= 0 else "caption"

    @cached_property
    def fences(self) -> set[str]:
        """The words that the system message announces: one, where all is well."""
        return {word for match in _ANNOUNCED.finditer(self.text) for word in match.groups()}

    @cached_property
    def blocks(self) -> list[Block]:
        return [Block(*match) for match in re.findall(self._block(*self.fences), self.text)]

    @cached_property
    def outside(self) -> str:
        """The prompt without its material."""
        return re.sub(self._block(*self.fences), r"\1: …", self.text) if self.fences else self.text

    @property
    def material(self) -> str:
        return "\n".join(block.body for block in self.blocks)

    @cached_property
    def memories(self) -> dict[int, dict[str, Any]]:
        """The memories among the material by id, the first met first."""
        found: dict[int, dict[str, Any]] = {}
        for block in self.blocks:
            for line in block.body.splitlines():
                if line.startswith('{"memory_id"'):
                    memory = json.loads(line)
                    found.setdefault(memory["memory_id"], memory)
        return found

    @property
    def message_id(self) -> int:
        """The number of the user's new message."""
        return int(self._said[1])

    @property
    def said(self) -> str:
        """What the user said in the new message."""
        return self._said[2].strip()

    @property
    def photos(self) -> list[int]:
        """The numbers of the photos of the new message."""
        return [int(number) for number in re.findall(r"^Photo (\d+) of the user's new message", self.text, re.M)]

    @property
    def request(self) -> str:
        found = re.search(r"^(?:Query|Update) request: (.*?)\n\n", self.outside, re.M | re.S)
        return found[1] if found else ""

    @property
    def steps(self) -> int:
        """How many steps this stage has behind it."""
        return len(re.findall(r"^Step \d+, you: ", self.outside, re.M))

    @property
    def _said(self) -> re.Match[str]:
        """Its number, where the stage gives one, and its words."""
        found = re.search(
            r"^The user's new message:\n(?:message (\d+), [^\n]*? user \([^)]*\)(?: \[\d+ photos?\])?: )?(.*?)(?:\n\n|\Z)",
            self.outside,
            re.M | re.S,
        )
        assert found, self.text
        return found

    @staticmethod
    def _block(fence: str) -> re.Pattern[str]:
        return re.compile(rf"^([^\n]*):\n<data-{fence}>\n(.*?)\n</data-{fence}>$", re.M | re.S)


def accept_all(prompt: Prompt) -> dict[str, Any]:
    """What a consent check says that finds every proposal in the user's new message."""
    verdict = {
        "reason": "You said so.",
        "words": prompt.said,
        "supported": True,
        "rests_on": "shown" if prompt.stage == "consent shown" else "stated",
        "user_says_so": True,
        "nothing_lost": True,
        "asked_for": True,
    }
    count = sum(block.title.startswith("Proposal ") for block in prompt.blocks)
    return {"verdicts": [{**verdict, "proposal": number} for number in range(1, count + 1)]}


Choose = Callable[[Prompt], tuple[str, Mapping[str, Any]]]
Say = Callable[[Prompt], str]


class ScriptedModel:
    """A script for `ChatServer`: chooses tools by `choose`, replies by `say`, consents to all, captions every photo alike.

    It answers as it is asked: with a tool call, or with JSON where the request knows no tools.
    """

    def __init__(self, choose: Choose, say: Say, caption: str = "a photo", *, sees_photos: bool = True) -> None:
        self.sees_photos = sees_photos
        self.choose = choose
        self.say = say
        self.caption = caption

    def __call__(self, request: dict[str, Any]) -> Reply:
        prompt = Prompt.of(request)
        if "one colour and the right half another" in prompt.text:
            return say("Yellow and blue." if self.sees_photos else "Grey, I think.")
        if prompt.stage == "caption":
            return say(self.caption)
        if prompt.stage == "generate":
            return say(self.say(prompt), pieces=5)
        consent = prompt.stage in ("consent", "consent shown")
        name, arguments = (TOOL, accept_all(prompt)) if consent else self.choose(prompt)
        if mode_of(request) == "tools":
            return call(name, arguments)
        return say(json.dumps({"tool": name, "arguments": arguments}))
