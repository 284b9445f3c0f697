"""Sessions and questions written by a chat model: one call for a whole group, and further calls to repair its faults."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from data_synthesis.answer_store import Answer, AnswerStore, answer_key
from data_synthesis.costs import Costs
from data_synthesis.group import GeneratedGroup, GenerationError, GroupRequest, SynthesisError
from data_synthesis.group_answer import FaultyAnswerError, read_group, with_changes
from data_synthesis.group_prompt import (
    LONGEST_ANSWER,
    VERSION,
    answer_tool,
    change_tool,
    first_messages,
    repair_messages,
)
from models.chat_model import ChatMessage, ChatModel, ChatModelError, MalformedReplyError, PhotoPart, TokenUsage, Tool

# Messages of services about a filter that stops a prompt or an answer. Another group may well pass.
_REFUSED = re.compile(
    r"content.{0,12}\b(?:filter|management|policy|violation)|(?:usage|safety|content) polic|safety system|moderation"
    r"|responsible ?ai|flagged",
    re.IGNORECASE,
)
_REPEATS = 3  # calls for changes, after the one for the group
_FAULTS_SHOWN = 5
_LONGEST_FAULT = 300


class ServiceError(SynthesisError):
    """The chat model cannot be reached or refuses requests. The run stops; the same command resumes it."""


class ModelGenerator:
    """Asks for a whole group in one answer, and up to three times for changes where it has faults.

    If faults remain, the answer with the fewest questions to leave out is used; without such an answer the group fails.

    Each answer is stored in `answers` before it is read. A failing service raises ServiceError and an exhausted budget
    raises BudgetReachedError; neither counts as an answer. A refusal by a content filter makes the group fail.
    """

    name = "model"
    version = VERSION

    def __init__(self, chat_model: ChatModel, *, answers: AnswerStore) -> None:
        self._chat_model = chat_model
        self._answers = answers

    async def generate(self, request: GroupRequest) -> GeneratedGroup:
        """Returns a valid group. Raises GenerationError with the faults of the last answer or the filter's refusal."""
        costs, repairs = Costs(self._answers.costs.price), list[list[str]]()
        abilities = await self._chat_model.abilities()  # a server of one's own says how long an answer may be
        prompt = first_messages(request, abilities.photos_per_prompt)
        messages, whole = prompt, None
        usable_groups: list[GeneratedGroup] = []
        for number in range(1, _REPEATS + 2):
            tool = answer_tool(request) if whole is None else change_tool(request)
            answer = await self._answer(request, messages, tool, number)
            costs.add(answer.input_tokens, answer.output_tokens)
            text, arguments, faults = _read(answer)
            if arguments is not None:
                try:
                    current = arguments if whole is None else with_changes(whole, arguments)
                    whole, text = None, _as_text(current)
                    return replace(read_group(current, request), notes=_notes(costs, repairs))
                except FaultyAnswerError as error:
                    faults = error.faults
                    usable_groups += [error.usable_group] if error.usable_group else []
                    if error.can_be_changed and len(text) <= LONGEST_ANSWER:
                        whole = current
            repairs.append([_cut(fault) for fault in faults])
            text = text if whole is None else _as_text(whole)
            messages = [*prompt, *repair_messages(text, faults, changes_only=whole is not None)]
        if usable_groups:
            best = max(usable_groups, key=lambda group: len(group.questions))
            return replace(best, notes=_notes(costs, repairs) | best.notes)
        raise GenerationError(
            f"{request.dialogue_id}, group {request.group.number}: none of {_REPEATS + 1} answers of the model "
            f"was a valid group. The last one: {_first_faults(repairs[-1])}"
        )

    async def _answer(self, request: GroupRequest, messages: Sequence[ChatMessage], tool: Tool, number: int) -> Answer:
        async def ask() -> Answer:
            try:
                call = await self._chat_model.choose(messages, [tool])
            except MalformedReplyError as error:
                return _stored({"fault": str(error), "text": error.text}, error.usage)
            except ChatModelError as error:
                if _REFUSED.search(str(error)):
                    raise GenerationError(
                        f"{request.dialogue_id}, group {request.group.number}: the service refuses it. {error}"
                    ) from error
                raise ServiceError(f"{error} The same command continues from here.") from error
            return _stored({"arguments": dict(call.arguments)}, call.usage)

        parts = [[message.role, *(_part_key(part) for part in message.parts)] for message in messages]
        group = [request.dialogue_id, request.group.number, number]
        return await self._answers.get_or_ask(answer_key(self._chat_model.name, group, parts, tool.parameters), ask)


def _notes(costs: Costs, repairs: list[list[str]]) -> dict[str, object]:
    """Returns the notes on a group in `run.json`. They follow from stored answers alone, so that a resumed run gives the same."""
    counted = not costs.uncounted
    return {
        "calls": costs.answers,
        "input_tokens": costs.input_tokens if counted else None,
        "output_tokens": costs.output_tokens if counted else None,
        "cost": round(costs.spent, 6) if counted and costs.spent is not None else None,
        "repairs": repairs,
    }


def _stored(answer: Mapping[str, Any], usage: TokenUsage) -> Answer:
    # ASCII, because models write halves of characters that no file can hold.
    return Answer(json.dumps(answer), usage.input_tokens, usage.output_tokens)


def _read(answer: Answer) -> tuple[str, Mapping[str, Any] | None, list[str]]:
    """Returns the text of the answer for a repair, and the arguments of its call, or else the fault that it is not a call."""
    stored = json.loads(answer.text)
    if "arguments" in stored:
        return _as_text(stored["arguments"]), stored["arguments"], []
    return _encodable(stored["text"]), None, [stored["fault"]]


def _as_text(arguments: object) -> str:
    """Returns the arguments of a call as the model sees them again."""
    return _encodable(json.dumps(arguments, ensure_ascii=False))


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _part_key(part: object) -> object:
    if not isinstance(part, PhotoPart):
        return part
    return [part.label, part.media_type, hashlib.sha256(part.data).hexdigest()]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_FAULT else text[:_LONGEST_FAULT] + "…"


def _first_faults(faults: Sequence[str]) -> str:
    rest = len(faults) - _FAULTS_SHOWN
    return " ".join(faults[:_FAULTS_SHOWN]) + (f" And {rest} more." if rest > 0 else "")
