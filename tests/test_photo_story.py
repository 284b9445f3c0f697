"""A photo that is shown first and named later, with a model over HTTP."""

from pathlib import Path

from m2a.types import MemoryChanged, MessageRecorded, ReplyFinished
from tests.browser import DREAMBOOTH
from tests.drawings import draw_dog, draw_teapot
from tests.model_talk import talk
from tests.photo_story import ANOTHER, NAMING, QUESTION, REQUEST, answer, keep_names
from tests.scripted_model import ScriptedModel
from tests.turns import only


async def test_a_photo_first_and_its_name_later(tmp_path: Path) -> None:
    dogs = [DREAMBOOTH / "dog6" / f"0{number}.jpg" for number in (0, 3)]
    if not DREAMBOOTH.is_dir():
        dogs = [draw_dog(tmp_path / f"dog-{number}.png", number) for number in range(2)]
    model = ScriptedModel(keep_names, answer)
    async with talk(tmp_path / "data", model) as chat:
        [recorded] = only(MessageRecorded, await chat.say("", dogs[0]))
        [change] = only(MemoryChanged, await chat.say(NAMING))
        assert change.entry.text == NAMING and change.entry.photo_ids == recorded.message.photos
        await chat.say(ANOTHER, draw_teapot(tmp_path / "teapot.png", 0))
        [shown] = only(ReplyFinished, await chat.say(REQUEST))
        assert shown.message.photos == recorded.message.photos
    async with talk(tmp_path / "data", model) as chat:
        [reply] = only(ReplyFinished, await chat.say(QUESTION, dogs[1]))
        assert reply.message.text == "Mango!"
