"""Sessions and questions written by a chat model: one call for a whole group, repaired with the reasons if need be."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from data_synthesis.answer_store import Answer, AnswerStore, answer_key
from data_synthesis.group import GeneratedGroup, GenerationFailed, GroupRequest, SynthesisError
from data_synthesis.group_answer import AnswerFaults, mended, read_group
from data_synthesis.group_prompt import (
    LONGEST_ANSWER,
    VERSION,
    answer_tool,
    first_messages,
    mend_tool,
    repair_messages,
)
from models.chat_model import ChatMessage, ChatModel, ChatModelError, MalformedReplyError, PhotoPart, TokenUsage, Tool
from models.prices import Price

# What services say where a filter stops a prompt or an answer: another group may well go through.
_REFUSED = re.compile(
    r"content.{0,12}\b(?:filter|management|policy|violation)|(?:usage|safety|content) polic|safety system|moderation"
    r"|responsible ?ai|flagged",
    re.IGNORECASE,
)
_REASONS_TOLD = 5
_LONGEST_REASON = 300


class ServiceFailed(SynthesisError):
    """The chat model cannot be reached or refuses to work. The run stops; the same command resumes it."""


@dataclass(slots=True)
class _Record:
    """What is noted in `run.json` about a group. It is made of stored answers alone, so a resumed run notes the same."""

    price: Price | None
    repairs: list[list[str]] = field(default_factory=list)
    usages: list[tuple[int | None, int | None]] = field(default_factory=list)

    def notes(self) -> dict[str, object]:
        counted = [(given, made) for given, made in self.usages if given is not None and made is not None]
        costs = [self.price(*usage) for usage in counted] if self.price else []
        known = [cost for cost in costs if cost is not None]
        return {
            "calls": len(self.usages),
            "input_tokens": sum(given for given, _ in counted) if len(counted) == len(self.usages) else None,
            "output_tokens": sum(made for _, made in counted) if len(counted) == len(self.usages) else None,
            "cost": round(sum(known), 6) if len(known) == len(self.usages) else None,
            "repairs": self.repairs,
        }


class ModelGenerator:
    """One answer holds a group. What is wrong with it goes back at most `repeats` times, and only that is written anew.

    If there are faults even then, the answer is used that needs the fewest questions left out, and without one the group
    is given up.

    Each answer is in `answers` before it is read. A service that fails raises ServiceFailed, a budget that is used up
    BudgetReached; neither counts as an answer, nor does a refusal by a content filter, which gives the group up.
    """

    name = "model"
    version = VERSION

    def __init__(self, chat_model: ChatModel, *, answers: AnswerStore, repeats: int = 3) -> None:
        self._chat_model = chat_model
        self._answers = answers
        self._repeats = repeats

    async def generate(self, request: GroupRequest) -> GeneratedGroup:
        """Raises GenerationFailed with the faults of the last answer, or with the refusal of a content filter."""
        record = _Record(self._answers.costs.price)
        prompt = first_messages(request, self._chat_model.known_abilities.photos_per_prompt)
        messages, whole = prompt, None
        remainders: list[GeneratedGroup] = []
        for number in range(1, self._repeats + 2):
            tool = answer_tool(request) if whole is None else mend_tool(request)
            answer = await self._answer(request, messages, tool, number)
            record.usages.append((answer.input_tokens, answer.output_tokens))
            said, arguments, faults = _read(answer)
            if arguments is not None:
                try:
                    given = arguments if whole is None else mended(whole, arguments)
                    whole, said = None, _written(given)
                    return replace(read_group(given, request), notes=record.notes())
                except AnswerFaults as error:
                    faults = error.faults
                    remainders += [error.remainder] if error.remainder else []
                    if error.mendable and len(said) <= LONGEST_ANSWER:
                        whole = given
            record.repairs.append([_cut(fault) for fault in faults])
            messages = [
                *prompt,
                *repair_messages(said if whole is None else _written(whole), faults, mend=whole is not None),
            ]
        if remainders:
            most = max(remainders, key=lambda group: len(group.questions))
            return replace(most, notes=record.notes() | most.notes)
        raise GenerationFailed(
            f"{request.dialogue_id}, group {request.group.number}: none of {self._repeats + 1} answers of the model "
            f"was a valid group. The last one: {_told(record.repairs[-1])}"
        )

    async def _answer(self, request: GroupRequest, messages: Sequence[ChatMessage], tool: Tool, number: int) -> Answer:
        async def ask() -> Answer:
            try:
                call = await self._chat_model.choose(messages, [tool])
            except MalformedReplyError as error:
                return _stored({"fault": str(error), "text": error.text}, error.usage)
            except ChatModelError as error:
                if _REFUSED.search(str(error)):
                    raise GenerationFailed(
                        f"{request.dialogue_id}, group {request.group.number}: the service refuses it. {error}"
                    ) from error
                raise ServiceFailed(f"{error} The same command goes on from here.") from error
            return _stored({"arguments": dict(call.arguments)}, call.usage)

        parts = [[message.role, *(_part_key(part) for part in message.parts)] for message in messages]
        group = [request.dialogue_id, request.group.number, number]
        return await self._answers.get_or_ask(answer_key(self._chat_model.name, group, parts, tool.parameters), ask)


def _stored(answer: Mapping[str, Any], usage: TokenUsage) -> Answer:
    # ASCII, for models write halves of characters that no file can hold.
    return Answer(json.dumps(answer), usage.input_tokens, usage.output_tokens)


def _read(answer: Answer) -> tuple[str, Mapping[str, Any] | None, list[str]]:
    """What the model said, as it is shown to it again; the arguments of its call, or what kept it from being one."""
    kept = json.loads(answer.text)
    is_call = "arguments" in kept
    said = _written(kept["arguments"]) if is_call else kept["text"]
    return said.encode("utf-8", "replace").decode("utf-8"), kept.get("arguments"), [] if is_call else [kept["fault"]]


def _written(arguments: object) -> str:
    """The arguments of a call as they are shown to the model again."""
    return json.dumps(arguments, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")


def _part_key(part: object) -> object:
    if not isinstance(part, PhotoPart):
        return part
    return [part.label, part.media_type, hashlib.sha256(part.data).hexdigest()]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_REASON else text[:_LONGEST_REASON] + "…"


def _told(faults: Sequence[str]) -> str:
    rest = len(faults) - _REASONS_TOLD
    return " ".join(faults[:_REASONS_TOLD]) + (f" And {rest} more." if rest > 0 else "")
