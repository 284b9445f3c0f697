"""What a turn costs in calls of a language model, and whether its prompt held the evidence: `python -m tests.bench calls`.

Ten fixed turns with a scripted model behind a real HTTP server, over a memory of other people's statements: once as M2A asks
by default, once stage by stage as the system `m2a-paper` does. The script is an ordinary model in both: it keeps what the user
tells it, and searches when its prompt lacks the words that an answer rests on. What it would search for is written beside each
turn, and does not depend on the protocol.

Tokens are estimates (`CHARACTERS_PER_TOKEN`, with the tools; a photo is `PHOTO_TOKENS`). The consent check accepts everything.
Captions (one per photo) and the probe whether the model sees photos (one per model) are counted separately.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from m2a import Assistant
from m2a.agents.language_policy import LanguagePolicy
from m2a.settings import load_settings
from m2a.systems.metered import PHOTO_TOKENS, tokens_of
from m2a.systems.variants import VARIANTS, Variant
from m2a.types import Addition, EntryDraft, EvidenceRange, Failed, MessageRecorded
from models.provider_chat_model import ProviderChatModel
from tests.bench.corpus import LEARNED_CASES
from tests.chat_server import ChatServer, Reply, mode_of
from tests.drawings import draw_dog
from tests.integrity_cases import read_cases
from tests.scripted_model import Call, Prompt, PromptStage, ScriptedModel

APART: tuple[PromptStage, ...] = ("caption", "probe")
POLICIES = {"default": VARIANTS["m2a"], "as published": VARIANTS["m2a-paper"]}


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of the user, and what an ordinary model does with it.

    `keeps` are the memories to write; the first replaces the memory that holds the words `replaces`. `needs` are the words
    that an answer rests on, and `searches` are the queries of a model that lacks them, in order.
    """

    kind: str
    text: str
    keeps: tuple[str, ...] = ()
    replaces: str = ""
    needs: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    view: int | None = None
    opens: bool = False


BEFORE = (
    "Our car has to go to the inspection in October.",
    "Mrs Berger next door looks after our cat when we travel.",
    "Mrs Berger collects old thimbles.",
)
TURNS = (
    Turn(
        "tells, with a photo",
        "This is my dog Bobo. He loves his red ball.",
        keeps=("The user's dog Bobo loves his red ball.",),
        view=0,
        opens=True,
    ),
    Turn(
        "tells",
        "My sister Anna moved to Porto in May. She works there as a nurse.",
        keeps=("The user's sister Anna moved to Porto in May and works there as a nurse.",),
    ),
    Turn(
        "tells two things",
        "I am allergic to peanuts, and I take the 7:40 train to work.",
        keeps=("The user is allergic to peanuts.", "The user takes the 7:40 train to work."),
    ),
    Turn(
        "corrects",
        "Actually, Bobo loves his green frisbee now, not the red ball.",
        keeps=("The user's dog Bobo loves his green frisbee.",),
        replaces="red ball",
    ),
    Turn("thanks", "Thanks!"),
    Turn("asks", "What does Bobo love to play with?", needs=("green frisbee",), opens=True),
    Turn("asks", "Where does Anna work now?", needs=("nurse",), searches=("my sister Anna",)),
    Turn("asks", "When does the car have to go to the inspection?", needs=("October",)),
    Turn(
        "asks further",
        "What would please the neighbour who looks after our cat as a present?",
        needs=("Berger next door", "thimbles"),
        searches=("what Mrs Berger likes",),
    ),
    Turn("asks, with a photo", "Who is this?", needs=("dog Bobo",), searches=("my pets",), view=3, opens=True),
)
_BY_TEXT = {turn.text: turn for turn in TURNS}


def choose(prompt: Prompt) -> Call | list[Call]:
    """Plays an ordinary model in the stages that choose a step."""
    turn = _BY_TEXT[prompt.said]
    searches = (turn.text, *turn.searches)
    if prompt.stage == "query":
        looks = lacks(prompt, turn) and prompt.steps < len(searches)
        return ("query_memory", {"query": searches[prompt.steps]}) if looks else ("answer", {})
    if prompt.stage == "manage query":
        if not prompt.steps or (lacks(prompt, turn) and prompt.steps < len(searches)):
            words = prompt.request if not prompt.steps else searches[prompt.steps]
            return "search_semantic_memories", {"query": words, "use_photos": bool(prompt.photos)}
        return "finish", {"memory_ids": resting_on(prompt, turn.needs)}
    if prompt.stage == "update":
        return ("update_memory", {"request": turn.text}) if turn.keeps else ("finish", {})
    if not turn.keeps or any(f'"tool": "{write}' in prompt.outside for write in ("add_memory", "replace_memory")):
        return "finish", {}
    to_look_first = "First search for what is already known" in prompt.outside
    if not prompt.steps and (to_look_first or (turn.replaces and not resting_on(prompt, (turn.replaces,)))):
        return "search_semantic_memories", {"query": turn.text}
    return [write(prompt, turn, text) for text in turn.keeps]


def write(prompt: Prompt, turn: Turn, text: str) -> Call:
    memory = {"text": text, "evidence_ids": [[prompt.message_id] * 2], "photos": prompt.photos}
    if turn.replaces and text == turn.keeps[0]:
        [replaced] = resting_on(prompt, (turn.replaces,))
        return "replace_memory", {**memory, "memory_id": replaced, "reason": "the user says that it changed"}
    return "add_memory", memory


def look(prompt: Prompt) -> Call | None:
    """Returns the search before the reply, or None if none is needed."""
    turn = _BY_TEXT[prompt.said]
    if not lacks(prompt, turn) or prompt.steps >= len(turn.searches):
        return None
    return "search_semantic_memories", {"query": turn.searches[prompt.steps]}


def reply(prompt: Prompt) -> str:
    turn = _BY_TEXT[prompt.said]
    if not turn.needs:
        return "You are welcome!" if not turn.keeps else "Good to know."
    if lacks(prompt, turn):
        return "I do not have that in memory."
    sentences = [f"{prompt.memories[number]['text']} [memory {number}]" for number in resting_on(prompt, turn.needs)]
    return " ".join(sentences) or f"You told me of {', '.join(turn.needs)}."


def lacks(prompt: Prompt, turn: Turn) -> bool:
    return any(words not in prompt.material for words in turn.needs)


def resting_on(prompt: Prompt, words: Sequence[str]) -> list[int]:
    """Returns the numbers of the memories in the prompt that contain any of the phrases."""
    return [number for number, memory in prompt.memories.items() if any(phrase in memory["text"] for phrase in words)]


@dataclass(frozen=True, slots=True)
class Request:
    """One call of the model; `words` tells whether it replied to the user in words."""

    stage: PromptStage
    tokens_in: int
    tokens_out: int
    words: bool
    material: str


@dataclass(frozen=True, slots=True)
class Cost:
    """The calls of one turn. `recall` is the share of the evidence in the prompt of its reply; None if it needs none."""

    turn: Turn
    calls: tuple[Request, ...]

    @property
    def to_first_word(self) -> int:
        return next(number for number, call in enumerate(self.calls, start=1) if call.words)

    @property
    def updates(self) -> int:
        """The number of calls after the reply, with the consent check."""
        return len(self.calls) - self.to_first_word

    @property
    def tokens_in(self) -> int:
        return sum(call.tokens_in for call in self.calls)

    @property
    def tokens_out(self) -> int:
        return sum(call.tokens_out for call in self.calls)

    @property
    def recall(self) -> float | None:
        needs, prompt = self.turn.needs, self.calls[self.to_first_word - 1].material
        return sum(words in prompt for words in needs) / len(needs) if needs else None


class CountedModel:
    """The scripted model, which records its calls."""

    def __init__(self) -> None:
        self.calls: list[Request] = []
        self._model = ScriptedModel(choose, reply, caption="a brown dog on grass", look=look)

    def __call__(self, request: dict[str, Any]) -> Reply:
        assert mode_of(request) != "json_object", "the server knows tools"
        prompt, answer = Prompt.of(request), self._model(request)
        tokens_out = tokens_of(answer.text + "".join(f"{name}{json.dumps(args)}" for name, args in answer.tool_calls))
        words = prompt.stage == "generate" and not answer.tool_calls
        material = "" if prompt.stage in APART else prompt.material
        self.calls.append(Request(prompt.stage, _tokens_in(request), tokens_out, words, material))
        return answer


def _tokens_in(request: Mapping[str, Any]) -> int:
    """Returns the tokens of everything that a server shows the model: messages, the calls in them, and tools."""
    parts: list[str] = [json.dumps(request["tools"])] if request.get("tools") else []
    photos = 0
    for message in request["messages"]:
        content = message.get("content") or []
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if part["type"] == "text":
                parts.append(part["text"])
            else:
                photos += 1
        parts += [json.dumps(call["function"]) for call in message.get("tool_calls") or ()]
    return sum(map(tokens_of, parts)) + photos * PHOTO_TOKENS


async def measure(folder: Path, variant: Variant, *, others: int) -> tuple[list[Cost], int]:
    """Returns the cost of each turn, and the number of calls that are counted separately."""
    model = CountedModel()
    settings = load_settings(data_dir=folder, fusion=variant.fusion, relevance_floor=variant.relevance_floor)
    with ChatServer(model) as server:
        chat_model = ProviderChatModel("openai:scripted", base_url=server.base_url, sees_photos=None)
        policy = LanguagePolicy(chat_model, published_stages=variant.published_stages, scope=variant.scope)
        async with Assistant.open(settings, policy=policy) as assistant:
            await asyncio.to_thread(_tell_before, assistant, others)
            costs, conversation = [], None
            for turn in TURNS:
                photos = [] if turn.view is None else [draw_dog(folder / f"dog-{turn.view}.png", turn.view)]
                conversation = None if turn.opens else conversation
                begin = len(model.calls)
                async for event in assistant.turn(assistant.local_owner, turn.text, photos, conversation):
                    if isinstance(event, MessageRecorded):
                        conversation = event.message.conversation_id
                    elif isinstance(event, Failed):
                        raise RuntimeError(event.reason)
                costs.append(Cost(turn, tuple(call for call in model.calls[begin:] if call.stage not in APART)))
    return costs, sum(call.stage in APART for call in model.calls)


def _tell_before(assistant: Assistant, others: int) -> None:
    """Store the statements that the questions are about, among `others` statements of other people."""
    pairs = read_cases(LEARNED_CASES)["pairs"]
    texts = list(dict.fromkeys(text for first, second, *_ in pairs for text in (first, second)))[:others]
    bank = assistant.memory(assistant.local_owner)
    for place, text in enumerate(BEFORE):
        texts.insert((place + 1) * len(texts) // (len(BEFORE) + 1), text)
    messages = [bank.record(None, role="user", speaker="You", text=text) for text in texts]
    evidence = [(EvidenceRange(message.message_id, message.message_id),) for message in messages]
    drafts = map(EntryDraft, texts, evidence)
    bank.write([Addition(draft, "seeded") for draft in drafts], who="bench")
    bank.index()


def table(measured: Mapping[str, Sequence[Cost]]) -> list[str]:
    """Returns a row for each turn and one for all, with calls to the first word, all calls, tokens in and out, and recall."""
    names = list(measured)
    columns = " | ".join(f"{name}: first word | calls | tokens in | out | recall" for name in names)
    lines = [f"| turn | {columns} |", "| --- |" + " --- |" * (5 * len(names))]
    for number, turn in enumerate(TURNS):
        cells = [_cells([measured[name][number]]) for name in names]
        lines.append(f"| {number + 1}. {turn.kind} | {' | '.join(cells)} |")
    lines.append(f"| in all | {' | '.join(_cells(measured[name]) for name in names)} |")
    return lines


def _cells(costs: Sequence[Cost]) -> str:
    recalls = [cost.recall for cost in costs if cost.recall is not None]
    return " | ".join(
        (
            str(sum(cost.to_first_word for cost in costs)),
            str(sum(len(cost.calls) for cost in costs)),
            f"{sum(cost.tokens_in for cost in costs):,}",
            f"{sum(cost.tokens_out for cost in costs):,}",
            f"{sum(recalls) / len(recalls):.2f}" if recalls else "–",
        )
    )


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench calls")
    parser.add_argument("--others", type=int, default=300, help="how many other statements the memory holds")
    options = parser.parse_args(list(arguments))
    measured, apart = {}, {}
    for name, variant in POLICIES.items():
        with tempfile.TemporaryDirectory() as folder:
            measured[name], apart[name] = asyncio.run(measure(Path(folder), variant, others=options.others))
    print("\n".join(table(measured)))
    for name, costs in measured.items():
        stages = "; ".join(
            f"{number}: {', '.join(c.stage for c in cost.calls)}" for number, cost in enumerate(costs, 1)
        )
        print(f"\n{name}: {apart[name]} calls apart for photos. {stages}")


if __name__ == "__main__":
    main()
