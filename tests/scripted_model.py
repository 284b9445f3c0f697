"""A prompt read back into its parts, and a small deterministic model that acts on them over real HTTP.

Tests read prompts through `Prompt`: the text inside the announced fence, the text outside, and the stage that asks.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

from m2a.agents.consent_prompt import TOOL
from m2a.agents.found_lines import NOTHING_NEAR, TOGETHER
from tests.chat_server import Reply, mode_of, say

PromptStage = Literal[
    "query", "generate", "update", "manage query", "manage update", "consent", "consent shown", "caption", "probe"
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
_PROBE = "one colour and the right half another"
_FENCED = re.compile(r"<data-(\w+)>.*?</data-\1>", re.S)
_NEW_MESSAGE = re.compile(r"^The user's new message:$", re.M)
_ANNOUNCED = re.compile(r"Everything between <data-(\w+)> and </data-(\w+)> is material")


@dataclass(frozen=True)
class Block:
    """Material inside the fence, with its title."""

    title: str
    body: str


@dataclass(frozen=True)
class Prompt:
    """The text of a prompt, in order, without the earlier turns of the conversation, which are sent as turns."""

    text: str

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> Self:
        """The prompt of a request to a chat server."""
        turns = []
        for message in request["messages"]:
            content = message.get("content") or []
            parts = [content] if isinstance(content, str) else [p["text"] for p in content if p["type"] == "text"]
            for call in message.get("tool_calls") or ():
                arguments = json.loads(call["function"]["arguments"])
                parts.append(json.dumps({"tool": call["function"]["name"], "arguments": arguments}))
            turns.append((message["role"], parts))
        return cls.of_messages(turns)

    @classmethod
    def of_messages(cls, messages: Sequence[tuple[str, Sequence[str]]]) -> Self:
        """The prompt of messages, each a role and its parts; earlier steps become `Step 1, you: …`."""
        is_reply = any("Stage 2, Generate." in part for role, parts in messages for part in parts if role == "system")
        new = max((n for n, (role, parts) in enumerate(messages) if role == "user" and _asks(parts)), default=0)
        lines: list[str] = []
        step = 0
        for number, (role, parts) in enumerate(messages):
            if is_reply and role != "system" and number < new:
                continue
            if role == "assistant":
                step += 1
                lines.append(f"\nStep {step}, you: {' '.join(parts)}\n")
            else:
                lines += parts
        return cls("\n".join(lines))

    @cached_property
    def stage(self) -> PromptStage:
        """Recognised by the instructions, which are outside of every fence and end the prompt (or its system message)."""
        if _PROBE in self.text:
            return "probe"
        positions = {stage: self.outside.rfind(f"\n{words}") for words, stage in _STAGES.items()}
        stage = max(positions, key=lambda stage: positions[stage])
        return stage if positions[stage] >= 0 else "caption"

    @cached_property
    def fences(self) -> set[str]:
        """The words that the system message announces; exactly one if all is well."""
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
        """The memories in the material by id, in order of appearance."""
        return _memories([line for block in self.blocks for line in block.body.splitlines()])

    @cached_property
    def found(self) -> dict[int, dict[str, Any]]:
        """The memories without those that are only shown as the nearest."""
        lines = []
        for block in self.blocks:
            before, _, after = block.body.partition(NOTHING_NEAR)
            lines += before.splitlines() + after.partition(TOGETHER)[2].splitlines()
        return _memories(lines)

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
        match = re.search(r"^(?:Query|Update) request: (.*?)\n\n", self.outside, re.M | re.S)
        return match[1] if match else ""

    @property
    def steps(self) -> int:
        """The number of steps that this stage has done."""
        return len(re.findall(r"^Step \d+, you: ", self.outside, re.M))

    @property
    def may_look(self) -> bool:
        """Whether the model may search the memory before it replies."""
        return "Memory was searched with the new message already;" in self.outside

    @property
    def takes_one_call(self) -> bool:
        """Whether an answer is one call written as JSON, since the server has no tools."""
        return "Answer with one JSON object and nothing else" in self.outside

    @property
    def _said(self) -> re.Match[str]:
        """Matches the number of the new message, if the stage gives one, and its text."""
        match = re.search(
            r"^The user's new message:\n"
            r"(?:message (\d+), [^\n]*? user \([^)]*\)(?:, with (?:\d+ photos?|photos? [\d, ]+))?: )?(.*?)(?:\n\n|\Z)",
            self.outside,
            re.M | re.S,
        )
        assert match, self.text
        return match

    @staticmethod
    def _block(fence: str) -> re.Pattern[str]:
        return re.compile(rf"^([^\n]*):\n<data-{fence}>\n(.*?)\n</data-{fence}>$", re.M | re.S)


def _memories(lines: Sequence[str]) -> dict[int, dict[str, Any]]:
    memories = [json.loads(line) for line in lines if line.startswith('{"memory_id"')]
    by_id: dict[int, dict[str, Any]] = {}
    for memory in memories:
        by_id.setdefault(memory["memory_id"], memory)
    return by_id


def accept_all(prompt: Prompt) -> dict[str, Any]:
    """The answer of a consent check that finds every proposal in the user's new message."""
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


Call = tuple[str, Mapping[str, Any]]
Choose = Callable[[Prompt], Call | Sequence[Call]]
Look = Callable[[Prompt], Call | None]
Say = Callable[[Prompt], str]


class ScriptedModel:
    """A script for `ChatServer`: chooses tools by `choose`, replies by `say`, consents to all, captions every photo alike.

    Before it replies it may `look`, if it is offered tools. It answers in the requested format: with tool calls or, if the
    request has no tools, with JSON, which holds only the first of its calls.
    """

    def __init__(
        self, choose: Choose, say: Say, caption: str = "a photo", *, sees_photos: bool = True, look: Look | None = None
    ) -> None:
        self.sees_photos = sees_photos
        self.choose = choose
        self.say = say
        self.caption = caption
        self.look = look

    def __call__(self, request: dict[str, Any]) -> Reply:
        prompt = Prompt.of(request)
        if prompt.stage == "probe":
            return say("Yellow and blue." if self.sees_photos else "Grey, I think.")
        if prompt.stage == "caption":
            return say(self.caption)
        if prompt.stage == "generate":
            looks = self.look(prompt) if self.look and prompt.may_look else None
            return say(self.say(prompt), pieces=5) if looks is None else as_asked(request, looks)
        consent = prompt.stage in ("consent", "consent shown")
        chosen = (TOOL, accept_all(prompt)) if consent else self.choose(prompt)
        return as_asked(request, *([chosen] if isinstance(chosen, tuple) else chosen))


def as_asked(request: Mapping[str, Any], *calls: Call) -> Reply:
    """The calls as tool calls, or the first of them in words."""
    if mode_of(request) == "tools":
        return Reply(tool_calls=calls)
    name, arguments = calls[0]
    return say(json.dumps({"tool": name, "arguments": arguments}))


def _asks(parts: Sequence[str]) -> bool:
    """Returns whether the message contains the user's new message outside of quoted material."""
    return bool(_NEW_MESSAGE.search(_FENCED.sub("", "\n".join(parts))))
