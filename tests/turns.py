"""Helpers to run turns of an assistant, and to script its policy."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import BytesIO

from PIL import Image, ImageDraw

from m2a import Assistant
from m2a.types import Action, AddMemory, NamedConcept, QueryMemory, TurnEvent, UpdateMemory
from tests.scripted_policy import ScriptedPolicy

START = datetime(2026, 3, 12, 18, 0, tzinfo=UTC)


class Clock:
    """A clock that goes on by `step` whenever it is read."""

    def __init__(self, now: datetime = START, step: timedelta = timedelta(seconds=1)) -> None:
        self.now = now
        self.step = step

    def __call__(self) -> datetime:
        self.now += self.step
        return self.now


def standing_clock(now: datetime) -> Clock:
    """Returns a clock that only goes on when `now` is set."""
    return Clock(now, timedelta())


def photo(colour: str) -> bytes:
    image = Image.new("RGB", (320, 240), "white")
    ImageDraw.Draw(image).ellipse((60, 40, 260, 200), fill=colour)
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


async def turn(assistant: Assistant, text: str, *photos: bytes, conversation_id: str | None = None) -> list[TurnEvent]:
    return [event async for event in assistant.turn(assistant.local_owner, text, photos, conversation_id)]


def only(kind: type, events: list[TurnEvent]) -> list:
    return [event for event in events if isinstance(event, kind)]


def of_this_turn(make: Callable[..., Action], **values) -> Callable:
    """An action whose evidence is the user's message of the turn."""
    return lambda state: make(evidence_ids=((state.message.message_id, state.message.message_id),), **values)


def remember(policy: ScriptedPolicy, *writes: object) -> None:
    policy.steps["update"] = [UpdateMemory(request="remember this")]
    policy.steps["manage update"] = list(writes)


def recall(policy: ScriptedPolicy, *looks: object) -> None:
    policy.steps["query"] = [QueryMemory(query="Bobo's toys")]
    policy.steps["manage query"] = list(looks)


async def told_about_bobo(assistant: Assistant, policy: ScriptedPolicy) -> None:
    bobo = (NamedConcept(name="Bobo", kind="pet"),)
    remember(policy, of_this_turn(AddMemory, text="Bobo loves the blue ball.", photos=(1,), concepts=bobo))
    await turn(assistant, "My dog Bobo loves the blue ball", photo("brown"))
