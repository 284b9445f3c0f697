"""Serves the page with a policy that follows keywords in the message, for the tests of the page.

Everything but the policy is the product. `slowly` writes a long answer piece by piece, `fail` breaks the model's
service, `later` lets the update take a second, `echo` answers with the rest of the message, `correct` and `forget`
change and delete the last search's hits. Anything else is remembered; a question mark makes it a question.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Collection

from app import serve
from m2a.agents.state import Decision, Searched, Stage, TurnState
from m2a.assistant import Assistant
from m2a.settings import load_settings
from m2a.types import (
    Action,
    AddMemory,
    Answer,
    DeleteMemory,
    Finish,
    MemoryEntry,
    QueryMemory,
    ReplaceMemory,
    SearchSemanticMemories,
    UpdateMemory,
)
from models.chat_model import ChatModelError, TokenUsage


class TellPolicy:
    judges_hits = True
    follow = None
    published_stages = True
    searches_messages_in: Collection[Stage] = frozenset()
    consent = None
    name = "test"

    async def sees_photos(self) -> bool:
        return False

    async def decide(self, state: TurnState) -> Decision:
        await asyncio.sleep(1.5 if state.stage == "update" and "later" in state.message.text else 0)
        return Decision(self._action(state))

    def _action(self, state: TurnState) -> Action:
        words = state.message.text
        hits = [
            hit.record.memory_id
            for step in state.steps
            if isinstance(step.observation, Searched)
            for hit in step.observation.hits
            if isinstance(hit.record, MemoryEntry)
        ]
        match state.stage:
            case "query":
                return QueryMemory(query=words) if words.endswith("?") and not state.steps else Answer()
            case "manage query":
                if state.steps:
                    return Finish(context="Found.", memory_ids=tuple(hits[:3]))
                return SearchSemanticMemories(query=state.request, use_photos=bool(state.photos))
            case "update":
                return Finish() if words.endswith("?") or "fail" in words else UpdateMemory(request=words or "a photo")
            case _:
                return self._write(state, hits)

    def _write(self, state: TurnState, hits: list[int]) -> Action:
        message_id = state.message.message_id
        words = state.message.text
        if not state.steps:
            return SearchSemanticMemories(query=words or "photo")
        if len(state.steps) > 1:
            return Finish()
        if words.startswith("forget") and hits:
            return DeleteMemory(memory_id=hits[0], reason="asked", evidence_ids=((message_id, message_id),))
        values = {
            "text": words or "A photo without words.",
            "evidence_ids": ((message_id, message_id),),
            "photos": tuple(photo.number for photo in state.photos),
        }
        if words.startswith("correct") and hits:
            return ReplaceMemory(memory_id=hits[0], reason="corrected", **values)
        return AddMemory(**values)

    async def reply(self, state: TurnState) -> AsyncGenerator[str | TokenUsage, None]:
        words = state.message.text
        if "fail" in words:
            raise ChatModelError("The chat model at http://127.0.0.1:11434 does not answer; is it running?")
        if "slowly" in words:
            for number in range(200):
                yield f"Word {number}. "
                await asyncio.sleep(0.05)
        elif words.startswith("echo"):
            yield words.removeprefix("echo").strip()
        elif words.endswith("?") and any(context.hits for context in state.context):
            yield "You told me this.\n\n" + "".join(f"[photo {view.number}]" for view in state.recalled)
        elif words.endswith("?"):
            yield "I don't have that in memory."
        else:
            yield "Noted."


def main() -> None:
    settings = load_settings()
    serve(settings, Assistant.open(settings, policy=TellPolicy()))


if __name__ == "__main__":
    sys.path.insert(0, "")
    main()
