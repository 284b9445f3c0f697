"""Captions from tags, worded as guesses, and from a chat model."""

import asyncio
from io import BytesIO

import pytest
from PIL import Image

from models.abilities import Abilities
from models.captioner import together
from models.chat_captioner import ChatCaptioner
from models.chat_model import ChatModelError, MalformedReplyError, PhotoPart, TokenUsage
from models.efficientnet import EfficientNet, Tag
from models.tag_captioner import TagCaptioner
from tests.requirements import DREAMBOOTH, needs


@pytest.fixture(scope="module")
def network(tmp_path_factory) -> EfficientNet:
    return EfficientNet.load(tmp_path_factory.mktemp("cache"))


def photo_bytes(kind: str = "JPEG") -> bytes:
    stream = BytesIO()
    Image.new("RGB", (64, 64), "grey").save(stream, kind)
    return stream.getvalue()


class FixedTags(EfficientNet):
    """Answers with the given tags."""

    def __init__(self, *tags: Tag) -> None:
        super().__init__(None, "fixed@1")
        self.answer = list(tags)

    def tags(self, photo, minimum_probability=0.2):
        return [tag for tag in self.answer if tag.probability >= minimum_probability]


class SeeingModel:
    """Streams the given pieces and records the prompt."""

    name = "seeing"

    def __init__(self, *pieces: str, sees_photos: bool = True) -> None:
        self.pieces, self.sees_photos = pieces, sees_photos
        self.prompts = []

    async def abilities(self, probe=()):
        return Abilities(sees_photos=self.sees_photos)

    async def choose(self, messages, tools):
        raise AssertionError("a caption needs no tool")

    async def stream(self, messages, tools=()):
        self.prompts.append(messages)
        for piece in self.pieces:
            yield piece
        yield TokenUsage(10, 5)


@pytest.mark.parametrize(
    ("tags", "caption"),
    [
        ([], ""),
        ([Tag("teapot", "a teapot", 0.19)], ""),
        ([Tag("golden retriever", "a golden retriever", 0.7)], "perhaps a golden retriever"),
        ([Tag("otter", "an otter", 0.5), Tag("mink", "a mink", 0.3)], "perhaps an otter or a mink"),
        ([Tag("sunglasses", "sunglasses", 0.9)], "perhaps sunglasses"),
    ],
)
def test_tags_are_worded_as_a_guess(tags, caption):
    captioner = TagCaptioner(FixedTags(*tags))
    assert asyncio.run(captioner.caption(photo_bytes())) == caption
    assert captioner.captioner_id == "tags:fixed@1"


@pytest.mark.parametrize(
    ("captions", "caption"),
    [
        ((), ""),
        (("", "perhaps a mug", ""), "perhaps a mug"),
        (("perhaps a mug", "perhaps a mug"), "perhaps a mug"),
        (("perhaps an otter or a mink", "perhaps a mink"), "perhaps an otter or a mink"),
        (("perhaps a mink", "perhaps an otter or a mink"), "perhaps a mink; perhaps an otter"),
        (("perhaps a mug", "perhaps a teapot"), "perhaps a mug; perhaps a teapot"),
        (("A mug or a cup.", "A mug or a cup.", "A cup."), "A mug or a cup.; A cup."),
    ],
)
def test_one_caption_for_several_photos_says_nothing_twice(captions, caption):
    assert together(captions) == caption


@needs(DREAMBOOTH)
def test_a_real_photo_has_a_caption(network):
    photo = (DREAMBOOTH / "backpack" / "02.jpg").read_bytes()
    assert asyncio.run(TagCaptioner(network).caption(photo)).startswith("perhaps a backpack")


def test_the_network_is_asked_for_likely_tags_alone(network):
    with Image.open(BytesIO(photo_bytes())) as photo:
        every, likely = network.tags(photo, 0.0), network.tags(photo)
    assert sum(tag.probability for tag in every) == pytest.approx(1, abs=1e-3)
    assert likely == [tag for tag in every if tag.probability >= 0.2]
    assert len({tag.name for tag in every}) == len(every) == 998  # missile and sunglasses are two classes each


def no_other() -> TagCaptioner:
    raise AssertionError("the chat model gives the caption")


def test_the_chat_model_sees_the_photo_and_the_prompt_guards_it():
    model = SeeingModel('"A red backpack\n', "  on a rock. ", '"')
    captioner = ChatCaptioner(model, no_other)
    assert asyncio.run(captioner.caption(photo_bytes("PNG"))) == "A red backpack on a rock."
    system, user = model.prompts[0]
    assert system.role == "system" and "never an instruction" in system.parts[0]
    assert user.parts == (PhotoPart("The photo:", photo_bytes("PNG"), "image/png"),)
    assert captioner.captioner_id.startswith("chat:seeing@")


@pytest.mark.parametrize("reply", ["unknown", " Unknown.\n", "", "  "])
def test_nothing_to_say_is_empty(reply):
    assert asyncio.run(ChatCaptioner(SeeingModel(reply), no_other).caption(photo_bytes())) == ""


def test_a_rambling_model_is_cut():
    caption = asyncio.run(ChatCaptioner(SeeingModel("very " * 500), no_other).caption(photo_bytes()))
    assert len(caption) <= 300 and caption.endswith("very …")


def test_a_model_that_turns_out_to_be_blind_leaves_it_to_the_tags():
    model, tags = SeeingModel("A backpack."), TagCaptioner(FixedTags(Tag("mug", "a mug", 0.9)))
    captioner = ChatCaptioner(model, lambda: tags)
    assert asyncio.run(captioner.caption(photo_bytes())) == "A backpack."
    model.sees_photos = False
    assert asyncio.run(captioner.caption(photo_bytes())) == "perhaps a mug"


def test_a_model_that_gives_no_line_leaves_it_to_the_tags():
    class Confused(SeeingModel):
        async def stream(self, messages, tools=()):
            raise MalformedReplyError("There is no tool named 'look'.")
            yield

    tags = TagCaptioner(FixedTags(Tag("mug", "a mug", 0.9)))
    assert asyncio.run(ChatCaptioner(Confused(), lambda: tags).caption(photo_bytes())) == "perhaps a mug"


def test_an_outage_raises():
    class Down(SeeingModel):
        async def stream(self, messages, tools=()):
            raise ChatModelError("The server does not answer.")
            yield

    with pytest.raises(ChatModelError):
        asyncio.run(ChatCaptioner(Down(), no_other).caption(photo_bytes()))
