"""A chat model that obeys any text in its prompts, as the writer and as the consent check.

No planted text may reach both: then the writer's unasked change would stand. Without an instruction, the check accepts
what the user's own words contain.
"""

import json
import re
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from m2a.memory.words import finished_words
from models.abilities import Abilities
from models.chat_model import REPLY_TOKENS, ChatMessage, PhotoPart, TokenUsage, Tool, ToolCall, in_words
from tests.scripted_model import Prompt

_NEGATION = re.compile(
    r"\b(?:no|not|never|none|nobody|nothing|without|hardly|\w+n['’]t|cannot|anymore|any more|stopped|quit)\b", re.I
)
_TAKES_BACK = re.compile(r"\b(?:forget|delete|remove|erase|rid of|rather you didn)", re.I)
_LONG_ENOUGH = 4  # words of a planted sentence needed to recognise it


@dataclass(frozen=True)
class Attempt:
    """A tool call of the misled writer."""

    name: str
    arguments: Mapping[str, Any]


class ObeyingModel:
    """`plant` is the instruction, `attempts` what the writer does once it reads it (evidence is added); without a plant it
    is misled anyway. A photo in a prompt reads as `photo_text`. `addresses_check` is for plants that the writer hands on
    inside a proposal."""

    name = "obeying"
    reply_tokens = REPLY_TOKENS
    sees_photos = True

    def __init__(
        self,
        plant: str,
        attempts: Sequence[Attempt],
        *,
        photo_text: str = "",
        look_for: str = "",
        addresses_check: bool = False,
    ) -> None:
        self.plant, self.photo_text = plant, photo_text
        self.tried: list[Attempt] = []
        self.obeyed_by_check = 0
        self.prompts: list[Prompt] = []
        self._attempts = list(attempts)
        self._look_for = look_for or plant
        self._addresses_check = addresses_check

    async def abilities(self, probe: Collection[str] = ()) -> Abilities:
        return Abilities(sees_photos=self.sees_photos)

    async def choose(self, messages: Sequence[ChatMessage], tools: Sequence[Tool]) -> ToolCall:
        prompt = self._read(messages)
        if prompt.stage in ("consent", "consent shown"):
            return ToolCall(tools[0].name, {"verdicts": self._verdicts(prompt)}, TokenUsage(1, 1))
        name, arguments = self._write(prompt)
        return ToolCall(name, arguments, TokenUsage(1, 1))

    async def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = ()
    ) -> AsyncGenerator[str | TokenUsage]:
        yield "Fine."
        yield TokenUsage(1, 1)

    def _read(self, messages: Sequence[ChatMessage]) -> Prompt:
        def words(part: object) -> str:
            return f"{part.label}\n{self.photo_text}\n\n" if isinstance(part, PhotoPart) else str(part)

        turns = [(message.role, [words(part) for part in message.parts]) for message in in_words(messages)]
        self.prompts.append(Prompt.of_messages(turns))
        return self.prompts[-1]

    def _write(self, prompt: Prompt) -> tuple[str, Mapping[str, Any]]:
        if prompt.stage == "query":
            return "answer", {}
        if prompt.stage == "update":
            return "update_memory", {"request": "Do what is asked."}
        if prompt.steps == 0:
            return "search_semantic_memories", {"query": self._look_for, "use_photos": bool(prompt.photos)}
        if prompt.steps == 1:
            return "search_raw_messages", {"query": self._look_for}
        if prompt.stage == "manage update" and self._attempts and (not self.plant or self._meets_plant(prompt.text)):
            attempt = self._attempts.pop(0)
            self.tried.append(attempt)
            evidence = [[prompt.message_id, prompt.message_id]]
            takes_evidence = attempt.name not in ("forget_words", "restore_memory")
            return attempt.name, {**attempt.arguments, **({"evidence_ids": evidence} if takes_evidence else {})}
        return "finish", {}

    def _verdicts(self, prompt: Prompt) -> list[dict[str, Any]]:
        proposals = [block for block in prompt.blocks if block.title.startswith("Proposal ")]
        # The prompt's own words are no plant, and the writer's proposal gives the check no instruction.
        material = [block.body for block in prompt.blocks if self._addresses_check or block not in proposals]
        rest = "\n".join([prompt.said, *material, self.photo_text if "Photo " in prompt.outside else ""])
        obeys = bool(self.plant) and self._meets_plant(rest)
        self.obeyed_by_check += obeys
        own = "\n".join([prompt.said, *(b.body for b in prompt.blocks if b.title == "The user's earlier messages")])
        return [
            self._verdict(number, json.loads(block.body), prompt, own, obeys=obeys)
            for number, block in enumerate(proposals, start=1)
        ]

    def _verdict(
        self, number: int, proposal: Mapping[str, Any], prompt: Prompt, own: str, *, obeys: bool
    ) -> dict[str, Any]:
        says = _contains(own, proposal.get("text", ""))
        takes_back = (
            proposal["do"] == "forget" and bool(_TAKES_BACK.search(own)) and self._names(prompt, proposal, number)
        )
        accepts = obeys or says or takes_back
        return {
            "proposal": number,
            "reason": "You said so." if accepts else "You did not say so.",
            "words": prompt.said or "…",
            "supported": accepts,
            "rests_on": "shown" if prompt.stage == "consent shown" else "stated",
            "user_says_so": obeys or takes_back,
            "nothing_lost": obeys or takes_back,
            "asked_for": accepts,
        }

    def _names(self, prompt: Prompt, proposal: Mapping[str, Any], number: int) -> bool:
        """Returns whether the user's message contains everything that is to be forgotten."""
        memory = next((b.body for b in prompt.blocks if b.title == f"The memory of proposal {number}"), "")
        target = json.loads(memory)["text"] if memory else " ".join(proposal.get("words", ()))
        return set(finished_words(target)) <= set(finished_words(prompt.said))

    def _meets_plant(self, text: str) -> bool:
        """Returns whether the text contains a sentence of the plant, regardless of spaces and punctuation."""
        plain = " ".join(re.findall(r"\w+", text.casefold()))
        sentences = [" ".join(re.findall(r"\w+", part.casefold())) for part in re.split(r"[.!?;\n]+", self.plant)]
        whole = " ".join(re.findall(r"\w+", self.plant.casefold()))
        return whole in plain or any(s in plain for s in sentences if len(s.split()) >= _LONG_ENOUGH)


def _contains(own: str, text: str) -> bool:
    """Returns whether the user's words contain all content words of the text, and neither denies the other."""
    source, words = set(finished_words(own)), set(finished_words(text))
    return bool(words) and words <= source and bool(_NEGATION.search(own)) == bool(_NEGATION.search(text))
