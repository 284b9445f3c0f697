"""A scripted chat model for systems whose steps are forms: it fills in each form by a script, and records the prompts."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from m2a.benchmarks import read_locomo
from m2a.systems import registry
from m2a.systems.shared import Parts, Utterance
from m2a.types import Message
from tests.chat_server import ChatServer, Reply, call, mode_of, say
from tests.dialogues import write_dialogues
from tests.placed_systems import Place
from tests.scripted_model import Prompt

Fill = Callable[[Prompt], Mapping[str, Any] | Reply]


class StepsModel:
    """A script for `ChatServer`. `asked` holds each step with the name of its form, `answer` if there was none."""

    def __init__(self, forms: Mapping[str, Fill], answer: str = "Lisbon") -> None:
        self.forms = dict(forms)
        self.answer = answer
        self.asked: list[tuple[str, Prompt]] = []

    def __call__(self, request: dict[str, Any]) -> Reply:
        prompt = Prompt.of(request)
        if not request.get("tools"):
            assert mode_of(request) == "text"
            self.asked.append(("answer", prompt))
            return say(self.answer)
        [tool] = request["tools"]
        form = tool["function"]["name"]
        self.asked.append((form, Prompt(prompt.text + "\n" + json.dumps(tool["function"]["parameters"]))))
        filled = self.forms[form](prompt)
        return filled if isinstance(filled, Reply) else call(form, filled)

    @property
    def steps(self) -> list[str]:
        """The names of the steps so far, in order."""
        return [name for name, _ in self.asked]

    def prompts(self, form: str) -> list[Prompt]:
        return [prompt for name, prompt in self.asked if name == form]

    def forget(self) -> None:
        self.asked.clear()


def steps_of(server: ChatServer) -> StepsModel:
    """The script of a server that has one."""
    assert isinstance(server.script, StepsModel)
    return server.script


def said_in(prompt: Prompt, title: str) -> str:
    """Returns the material with this title, or ""."""
    return next((block.body for block in prompt.blocks if block.title == title), "")


async def told(
    folder: Path, name: str, parts: Parts, sessions: Sequence[Sequence[Utterance]] | None = None, **options: Any
) -> Place:
    """The system with a dialogue in it: that of `tests.dialogues`, or these sessions."""
    folder.mkdir(exist_ok=True)
    if sessions is None:
        dialogue = read_locomo(write_dialogues(folder, **options)).dialogues[0]
        sessions = [
            [
                Utterance(t.reference, t.role, t.speaker, t.text, t.said_at, tuple(p.path for p in t.photos if p.path))
                for t in session.turns
            ]
            for session in dialogue.sessions
        ]
    memory = parts.stores.fresh_memory(name)
    system = await registry.open_system(name, memory, parts)
    messages: list[Message] = []
    for session in sessions:
        recorded = memory.record(session)
        await system.observe(recorded)
        messages += recorded
    return Place(parts, memory, system, messages)


async def opened_again(place: Place) -> Place:
    """The same system on the same memory, as another start would open it."""
    memory = place.parts.stores.memory(place.memory.owner)
    system = await registry.open_system(place.system.name, memory, place.parts)
    return Place(place.parts, memory, system, memory.messages())
