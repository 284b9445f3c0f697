"""A scripted chat model for systems whose steps are forms: it fills in each form by a script, and records the prompts."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.chat_server import ChatServer, Reply, call, mode_of, say
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
