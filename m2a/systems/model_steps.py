"""Steps in which a chat model fills in a form, that is, gives the arguments of a tool."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Collection, Coroutine, Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from m2a.agents.action_tools import read_form, tool_name
from m2a.agents.material import Boundary
from m2a.agents.material import render as render_of_agents
from m2a.agents.steps import GaveUpError
from m2a.systems.prompting import render
from m2a.systems.system import Meter, Usage
from models.chat_model import ChatMessage, ChatModel, ChatModelError, MalformedReplyError, PhotoPart, Tool

TRIES = 3
FAILURES_IN_A_ROW = 3

Result = TypeVar("Result")


class Form(BaseModel):
    """A form that a model fills in. A subclass is a tool, which its docstring and its fields describe."""

    model_config = ConfigDict(frozen=True, extra="ignore", str_strip_whitespace=True)


Filled = TypeVar("Filled", bound=Form)


async def ask_for(
    chat_model: ChatModel,
    form: type[Filled],
    prompt: str,
    *,
    material: Sequence[tuple[str, Sequence[str]]] = (),
    request: str = "",
    photos: Sequence[PhotoPart] = (),
    without: Collection[str] = (),
    style: str = "",
    **values: object,
) -> Filled:
    """Returns the form as the model filled it in. Fields in `without` are left out of the form.

    `prompt` names the prompt file, and `values` fill its placeholders. Material (titles and lines) is put inside a boundary,
    followed by the photos and the request. If an answer does not fit the form, the model is told why and asked again. Raises
    `GaveUpError` after `TRIES` such answers, and `ChatModelError`.
    """
    boundary = Boundary()
    fence = render_of_agents("boundary", fence=boundary.fence)
    system = "\n\n".join(filter(None, (render(prompt, **values), fence, style)))
    enclosed = [boundary.enclose(title, lines or ["nothing"]) + "\n\n" for title, lines in material]
    tool = _tool(form, frozenset(without))
    ending = f"{request}\n\nCall {tool.name}." if request else f"Call {tool.name}."
    messages = [ChatMessage("system", (system,)), ChatMessage("user", (*enclosed, *photos, ending))]
    fault = ""
    for _ in range(TRIES):
        complaint = ChatMessage("user", (f"Your answer before could not be used. {fault}",))
        try:
            call = await chat_model.choose([*messages, *([complaint] if fault else [])], [tool])
            arguments = {key: value for key, value in call.arguments.items() if key not in without}
            return read_form({tool.name: form}, replace(call, arguments=arguments))
        except MalformedReplyError as error:
            fault = str(error)
    raise GaveUpError(f"{chat_model.name} gave no usable answer to {tool.name} in {TRIES} tries. {fault}")


async def run_together(steps: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """Runs the steps side by side and returns their results in order. If one fails, cancels the others and raises its error."""
    tasks = [asyncio.ensure_future(step) for step in steps]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Attempts:
    """Runs steps that may fail while messages are taken in. Counts failures, and raises the third in a row of one kind.

    Otherwise a model that can route, but never fill in a record, would leave an empty memory.
    """

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._failures: Counter[str] = Counter()

    async def run(self, kind: str, step: Awaitable[Result]) -> Result | None:
        """Returns the result of the step, or None if it failed. Raises the third failure in a row."""
        try:
            result = await step
        except (ChatModelError, GaveUpError) as error:
            if isinstance(error, GaveUpError):  # the metered model counted failures of the service
                self._meter.usage += Usage(failures=1)
            self._failures[kind] += 1
            if self._failures[kind] >= FAILURES_IN_A_ROW:
                raise
            return None
        self._failures[kind] = 0
        return result


@cache
def _tool(form: type[Form], without: frozenset[str]) -> Tool:
    schema = form.model_json_schema()
    schema.pop("title", None)
    description = str(schema.pop("description", ""))
    for name in without:
        schema["properties"].pop(name)
    schema["required"] = [name for name in schema.get("required", ()) if name not in without]
    return Tool(tool_name(form), description, schema)
