"""Photos in whole turns without a language model: named late, known again, asked, denied, shown twice, found without words."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from m2a.agents.offline.photo_statements import one_photo_a_sentence
from m2a.agents.prompting import stage_messages
from m2a.agents.state import SearchScope
from m2a.assistant import Assistant
from m2a.memory.bank import MemoryBank
from m2a.settings import Settings
from m2a.types import (
    AddMemory,
    Concept,
    Finish,
    MessageRecorded,
    NamedConcept,
    Query,
    ReplaceMemory,
)
from m2a.wiring import offline_rules
from models.abilities import Abilities
from tests.bench.recognition import DREAMBOOTH
from tests.drawings import draw_dog, draw_teapot
from tests.offline_talk import Talk
from tests.requirements import needs
from tests.scripted_policy import ScriptedPolicy
from tests.turns import of_this_turn, only, remember, turn

pytestmark = pytest.mark.asyncio(loop_scope="module")  # the assistant is the module's


class Album:
    """A new user who shows photos, an hour between two messages."""

    def __init__(self, talk: Talk, folder: Path) -> None:
        self.talk = talk
        self.folder = folder
        talk.clock.now = datetime(2026, 3, 2, 9, tzinfo=UTC)  # a Monday

    @property
    def bank(self) -> MemoryBank:
        return self.talk.memory

    @property
    def reply_id(self) -> int:
        assert self.talk.last is not None
        return self.talk.last.message.message_id

    async def say(self, text: str = "", *photos: Path | bytes, anew: bool = False, days: int = 0) -> str:
        if anew:
            self.talk.conversation = None
        data = [photo.read_bytes() if isinstance(photo, Path) else photo for photo in photos]
        return await self.talk.say(text, data, pause=timedelta(days=days, hours=1))

    def dog(self, view: int) -> Path:
        return draw_dog(self.folder / f"dog{view}.png", view)

    def teapot(self, view: int) -> Path:
        return draw_teapot(self.folder / f"teapot{view}.png", view)

    def concept(self, name: str) -> Concept:
        return next(concept for concept in self.bank.concepts() if concept.name == name)


@pytest.fixture
def album(talk: Talk, tmp_path: Path) -> Album:
    return Album(talk, tmp_path)


async def test_a_name_given_later_joins_the_photo_and_its_message(album):
    assert "I don't recognise" in await album.say("", album.dog(0))
    await album.say("that's Bobo")
    [entry] = album.bank.entries()
    shown = album.bank.messages_in_ranges(entry.evidence_ids)
    assert [bool(message.photos) for message in shown] == [True, False] and len(entry.photo_ids) == 1
    assert album.concept("Bobo").photo_ids == entry.photo_ids
    assert (await album.say("who is this?", album.dog(1), anew=True)).startswith("That's Bobo. On 2 March 2026")
    assert not (await album.say("", album.teapot(0))).startswith("That's")


@pytest.mark.parametrize(
    ("words", "later", "name"),
    [
        ("Look who came home", "His name is Mango.", "Mango"),
        ("", "his name is Mango", "Mango"),
        ("What do you think?", "It's called Greta", "Greta"),
        ("", "This is the Professor", "the Professor"),
        ("", "that's my aunt's", "my aunt's"),
    ],
)
async def test_ways_to_name_a_photo_later(album, words, later, name):
    await album.say(words, album.dog(0))
    await album.say(later)
    assert len(album.concept(name).photo_ids) == 1


async def test_one_of_several_photos_is_named_by_its_place(album):
    await album.say("", album.dog(0), album.teapot(0))
    await album.say("the second one is my aunt's")
    assert (await album.say("", album.teapot(1))).startswith("That's your aunt's.")
    assert not (await album.say("", album.dog(1))).startswith("That's")


async def test_photos_are_named_by_their_numbers_in_the_message(album):
    await album.say("Photo 1 is my dog Rosi. Number 2 is my cat Luna.", album.dog(0), album.teapot(0))
    rosi, luna = album.concept("Rosi"), album.concept("Luna")
    assert len(rosi.photo_ids) == len(luna.photo_ids) == 1 and rosi.photo_ids != luna.photo_ids


TWO_NAMES = [
    "Left is Rosi, right is Luna.",
    "the left one is my dog Rosi and the right one is our cat Luna",
    "First is Rosi, second is Luna",
    "photo 1 is Rosi and photo 2 is Luna",
    "Rosi on the left, Luna on the right",
    "My dog Rosi (left) and our cat Luna (right)",
    "Luna is on the right and Rosi is on the left.",
]


@pytest.mark.parametrize(
    ("words", "with_photos"),
    [*((words, True) for words in TWO_NAMES), *((words, False) for words in (*TWO_NAMES[:2], TWO_NAMES[3]))],
)
async def test_two_photos_are_named_in_one_sentence(album, words, with_photos):
    await album.say(words if with_photos else "", album.dog(0), album.teapot(0))
    if not with_photos:
        await album.say(words)
    [message, *_] = album.bank.messages_in_ranges(album.bank.entries()[0].evidence_ids)
    left, right = message.photos
    assert album.concept("Rosi").photo_ids == (left,) and album.concept("Luna").photo_ids == (right,)
    assert sorted(entry.text for entry in album.bank.entries()) == ["The photo shows Luna.", "The photo shows Rosi."]


@pytest.mark.parametrize("words", TWO_NAMES)
def test_photos_of_an_earlier_message_are_named_in_the_same_ways(words: str) -> None:
    for_each = one_photo_a_sentence(words, (), with_photos=False)
    assert for_each.count(".") == 2 and for_each == one_photo_a_sentence(words, (), with_photos=True)


async def test_a_thing_with_a_name_is_shown_as_one_of_two_photos(album):
    await album.say("Look! Left is Rosi, right is my teapot Greta", album.dog(0), album.teapot(0))
    assert (await album.say("", album.teapot(1), anew=True)).startswith("That's Greta.")
    assert (await album.say("show me Greta", anew=True)).startswith("Here it is.")


@pytest.mark.parametrize(
    "words",
    ["Left is our dog Pepper, right is my favourite teapot", "The first one is Pepper. The second is my teapot"],
)
async def test_of_two_photos_the_one_of_a_thing_without_a_name_is_shown(album, words):
    await album.say(words, album.dog(0), album.teapot(0))
    await album.say("show me the teapot", anew=True)
    [message, *_] = album.bank.messages_in_ranges(album.bank.entries()[0].evidence_ids)
    assert album.talk.last.message.photos == message.photos[1:]


@pytest.mark.parametrize(
    "words", ["What is left is the sofa, right is where Luna sleeps.", "I stood on the left, she sat on the right."]
)
async def test_left_and_right_may_be_no_places_of_photos(album, words):
    await album.say(words, album.dog(0), album.teapot(0))
    assert not any("photo" in entry.text for entry in album.bank.entries())


async def test_a_photo_among_several_does_not_show_who_gave_it(album):
    await album.say("", album.dog(0), album.teapot(0))
    await album.say("The second one is from my friend Carla.")
    assert all(not concept.photo_ids for concept in album.bank.concepts())


@pytest.mark.parametrize("words", ["That was Greta.", "It shows Greta."])
async def test_a_photo_takes_a_known_name(album, words):
    await album.say("This is my teapot, I call it Greta.", album.teapot(0))
    await album.say("", album.dog(0), anew=True)
    await album.say(words)
    assert len(album.concept("Greta").photo_ids) == 2


async def test_what_is_named_after_one_of_several_photos_is_that_one(album):
    await album.say("", album.dog(0), album.teapot(0))
    await album.say("the second one is an heirloom of mine")
    await album.say("Its name is Greta")
    await album.say("that's Bobo, my neighbour's dog, in the first one")
    greta, bobo = album.concept("Greta"), album.concept("Bobo")
    assert len(greta.photo_ids) == len(bobo.photo_ids) == 1 and greta.photo_ids != bobo.photo_ids
    texts = [entry.text for entry in album.bank.entries()]
    assert "The photo shows Bobo, my neighbour's dog." in texts and "The photo shows Greta." in texts


@pytest.mark.parametrize(
    "words", ["Who's this on the grass?", "and who is that handsome fellow?", "Who are these two rascals?"]
)
async def test_whoever_is_asked_of_under_a_photo_is_known_again(album, words):
    await album.say("This is my dog Bobo.", album.dog(0))
    assert (await album.say(words, album.dog(1), anew=True)).startswith("That's Bobo.")


@pytest.mark.parametrize("words", ["Look what I bought", "see what we made!", "Check out what my aunt gave me"])
async def test_what_is_shown_with_such_words_is_kept_and_asks_nothing(album, words):
    assert await album.say(words, album.teapot(0)) == "Got it."
    (entry,) = album.bank.entries()
    assert entry.photo_ids and entry.text == f"{words.rstrip('!')[0].upper()}{words.rstrip('!')[1:]}."


@pytest.mark.parametrize(
    ("words", "pictured", "spoken_of"),
    [
        ("Got this for my nephew Theo's birthday", [], ["Theo"]),
        ("My sister Anna painted this", [], ["Anna"]),
        ("This is my dog Bobo in front of my friend Carl's car", ["Bobo"], ["Carl"]),
        ("Das ist ein Geschenk für meinen Neffen Jonas", [], ["Jonas"]),
        ("My cat Mimi's asleep on the sofa", ["Mimi"], []),
    ],
)
async def test_a_photo_takes_the_names_of_what_it_shows_and_of_nobody_only_spoken_of(album, words, pictured, spoken_of):
    await album.say(words, album.dog(0))
    named = {concept.name: len(concept.photo_ids) for concept in album.bank.concepts()}
    assert {name: count for name, count in named.items() if name in (*pictured, *spoken_of)} == (
        dict.fromkeys(pictured, 1) | dict.fromkeys(set(spoken_of) & set(named), 0)
    )
    answer = await album.say("Who is this?", album.dog(1), anew=True)
    assert not any(f"That's {name}" in answer for name in spoken_of)


async def test_a_conversation_that_went_on_names_no_photo(album):
    await album.say("", album.dog(0))
    await album.say("My sister Ana moved to Oslo last week and started a new job there")
    await album.say("Her name is Ana Maria")
    assert all(not concept.photo_ids for concept in album.bank.concepts())


@pytest.mark.parametrize(
    "words",
    [
        "My best friend Carla lives in Lyon, she's expecting twins",
        "He's moving in with my brother Tom",
        "That's what my uncle Bert always says",
        "It's where my daughter Mia goes to school",
        "This was the day my son Paul was born",
    ],
)
async def test_a_sentence_after_a_photo_that_only_speaks_of_somebody_is_kept_as_told(album, words):
    """ "The photo shows Carla." was kept in place of what was told of her."""
    await album.say("look at my new boots!!", album.teapot(0))
    await album.say(words)
    assert all(not concept.photo_ids for concept in album.bank.concepts())
    assert f"{words[0].upper()}{words[1:]}." in [entry.text for entry in album.bank.entries()]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("that's our old cat Minka, she died in May", "Minka"),
        ("It's my neighbour Hans and his dog Rex", "Hans"),
        ("that's Bobo in Lisbon", "Bobo"),
    ],
)
async def test_what_is_told_beside_a_name_for_a_photo_is_kept_with_it(album, words, name):
    await album.say("", album.dog(0))
    await album.say(words)
    (entry,) = album.bank.entries()
    assert entry.text.casefold().startswith(words.casefold()) and entry.photo_ids
    assert album.concept(name).photo_ids == entry.photo_ids


async def test_what_is_known_of_a_photo_is_not_declined_first(album):
    await album.say("", album.teapot(0))
    await album.say("it's my grandfather's")
    assert await album.say("whose teapot is this?", album.teapot(1), anew=True) == "That's your grandfather's."


async def test_whose_dog_a_photo_shows_is_not_who_it_shows(album):
    await album.say("My sister Jo is getting married in York.")
    await album.say("", album.dog(0))
    await album.say("that's Jo's dog Biscuit, he's a rescue")
    assert album.concept("Biscuit").photo_ids and not album.concept("Jo").photo_ids
    assert (await album.say("who is this?", album.dog(1), anew=True)).startswith("That's Biscuit.")


async def test_a_denial_removes_the_name_is_heeded_and_can_be_undone(album):
    await album.say("", album.dog(0))
    await album.say("that's Bobo")
    await album.say("", album.dog(3))
    await album.say("that's not Bobo")
    assert "Bobo" not in await album.say("", album.dog(3), anew=True)
    assert (await album.say("", album.dog(1))).startswith("That's Bobo.")
    await album.say("", album.dog(0), anew=True)
    await album.say("No, that's not Bobo")
    assert album.concept("Bobo").photo_ids == () and len(album.concept("Bobo").denied_photo_ids) == 2
    album.bank.undo(album.reply_id, 0)
    assert len(album.concept("Bobo").photo_ids) == 1 and len(album.concept("Bobo").denied_photo_ids) == 1


async def test_a_wrong_name_is_replaced_by_the_right_one(album):
    await album.say("This is my cat Rosi", album.dog(1))
    await album.say("Sorry, it's Luna, not Rosi")
    assert not album.concept("Rosi").photo_ids and len(album.concept("Luna").photo_ids) == 1


async def test_a_long_denial_leaves_the_photo_to_be_named(album):
    await album.say("This is my dog Bobo", album.dog(0))
    await album.say("", album.teapot(0), anew=True)
    await album.say("no no, that one is not Bobo at all of course")
    await album.say("It's called Greta")
    assert len(album.concept("Greta").photo_ids) == 1


async def test_what_was_shown_before_is_said_to_be_so(album):
    await album.say("Our trip", album.teapot(0))
    again = BytesIO()
    Image.open(album.teapot(0)).resize((440, 330)).save(again, "JPEG", quality=70)
    assert "You showed me this on 2 March 2026." in await album.say("", again.getvalue(), days=2)
    assert "You showed me" not in await album.say("", album.dog(0))
    assert "You showed me this earlier today." in await album.say("", album.dog(0), anew=True)


async def test_photos_without_words_are_found_by_day_and_by_what_they_show(album):
    await album.say("", album.teapot(0))
    await album.say("", album.dog(0), days=1)
    [teapot] = [m for m in album.bank.messages(range(1, 9)).values() if m.photos and m.said_at.day == 2]
    while album.bank.photos.uncaptioned():
        await asyncio.sleep(0.05)
    album.bank.photos.set_caption(teapot.photos[0], "a blue teapot on a table")
    assert [message.message_id for message in album.bank.find_messages("teapot")] == [teapot.message_id]
    hits = album.bank.search(Query("a teapot"), {"message"}, 1)
    assert [hit.record.message_id for hit in hits] == [teapot.message_id]
    hits = album.bank.search(Query("", teapot.photos), {"message"}, 1)
    assert [hit.record.message_id for hit in hits] == [teapot.message_id]
    reply = await album.say("What did I show you on Monday?", days=1)
    assert reply == "On 2 March 2026 you showed me a blue teapot on a table."
    assert "teapot" not in await album.say("What did I show you of the teapot on Sunday?")
    assert "a blue teapot on a table" in await album.say("Show me the photo of the teapot")
    assert album.bank.messages([album.reply_id])[album.reply_id].photos == teapot.photos


@pytest.mark.parametrize(
    "question",
    [
        "What did I show you?",
        "Which photos have I sent you so far?",
        "do you have any pictures?",
        "show me all my photos",
    ],
)
async def test_the_newest_photos_are_shown_where_neither_a_day_nor_a_subject_is_named(album, question):
    assert "I don't have that in memory" in await album.say(question)
    await album.say("This is my dog Bobo", album.dog(0))
    await album.say("I had soup for lunch")
    await album.say("my gran's teapot", album.teapot(0), days=3)
    await album.say("who is this?", album.dog(1))
    reply = await album.say(question, days=40)
    assert reply.index("you showed me Bobo") < reply.index("my gran's teapot") and "soup" not in reply
    assert "Bobo" not in await album.say("What did I show you yesterday?")


async def test_a_photo_shown_twice_is_described_once_and_without_the_question_beside_it(album):
    await album.say("Do you know what this is?", album.teapot(0))
    await album.say("And this?", album.teapot(0))
    reply = await album.say("What did I show you on Monday?", days=1)
    assert reply.count("you showed me") == 1 and "?" not in reply


async def test_captions_that_a_process_left_are_made_at_the_next_start(tmp_path):
    settings = Settings(data_dir=tmp_path / "data", chat_model="offline")
    assistant = Assistant.open(settings, policy=offline_rules())
    photo = draw_dog(tmp_path / "dog.png", 0).read_bytes()
    bank = assistant.memory(assistant.local_owner)
    bank.record(None, role="user", speaker="You", text="", photos=[photo])
    await assistant.close()
    async with Assistant.open(settings, policy=offline_rules()) as assistant:
        photos = assistant.memory(assistant.local_owner).photos
        assert len(photos.uncaptioned()) == 1
        while photos.uncaptioned():
            await asyncio.sleep(0.05)


def photos_of(subject: str, numbers: Sequence[int]) -> list[Path]:
    return [DREAMBOOTH / subject / f"{number:02}.jpg" for number in numbers]


@needs(DREAMBOOTH)
async def test_a_nearly_sure_match_is_asked_and_learned_from_the_answer(album):
    first, alike = photos_of("clock", (0, 2))
    await album.say("", first)
    await album.say("I call it the Professor")
    assert (await album.say("", alike, anew=True)).startswith("Is this the Professor?")
    await album.say("yes")
    assert len(album.concept("the Professor").photo_ids) == 2
    album.bank.undo(album.reply_id, 0)
    assert len(album.concept("the Professor").photo_ids) == 1
    assert "Is this the Professor?" in await album.say("", alike, anew=True)
    await album.say("no")
    assert len(album.concept("the Professor").denied_photo_ids) == 1
    assert "Professor" not in await album.say("", alike, anew=True)


async def test_a_model_names_an_earlier_photo_by_its_number_and_is_told_what_is_known_of_it(tmp_path):
    policy = ScriptedPolicy()
    settings = Settings(data_dir=tmp_path / "data", chat_model="offline")
    async with Assistant.open(settings, policy=policy) as assistant:
        bank = assistant.memory(assistant.local_owner)
        dog = draw_dog(tmp_path / "dog.png", 0).read_bytes()
        [recorded] = only(MessageRecorded, await turn(assistant, "", dog))
        mango = (NamedConcept(name="Mango", kind="pet"),)
        naming = of_this_turn(AddMemory, text="The dog is called Mango.", photos=(1,), concepts=mango)
        beyond = of_this_turn(AddMemory, text="The cat is called Miso.", photos=(2,))
        remember(policy, naming, beyond, Finish())
        conversation = recorded.message.conversation_id
        await turn(assistant, "his name is Mango", conversation_id=conversation)
        [concept] = bank.concepts()
        assert concept.photo_ids == recorded.message.photos
        assert [entry.text for entry in bank.entries()] == ["The dog is called Mango."]
        again = draw_dog(tmp_path / "again.png", 1).read_bytes()
        remember(policy)
        await turn(assistant, "Look", again, conversation_id=conversation)
        state = policy.seen[-1]
        prompt = stage_messages(state, Abilities(sees_photos=False), SearchScope())
        lines = [part for message in prompt for part in message.parts]
        assert any("It looks like Mango, whom the user named" in line for line in lines)
        assert any("Photo 1, from message 1" in line for line in lines)
        assert any("Photo 2 of the user's new message" in line for line in lines)


async def test_a_model_says_which_photo_shows_whom_and_who_is_only_spoken_of(tmp_path):
    policy = ScriptedPolicy()
    settings = Settings(data_dir=tmp_path / "data", chat_model="offline")
    async with Assistant.open(settings, policy=policy) as assistant:
        bank = assistant.memory(assistant.local_owner)
        dog, pot = (draw(tmp_path / f"{draw.__name__}.png", 0).read_bytes() for draw in (draw_dog, draw_teapot))
        names = (
            NamedConcept(name="Rex", kind="pet", photos=(1,)),
            NamedConcept(name="Greta", kind="thing", photos=(2,)),
            NamedConcept(name="Theo", kind="person", photos=()),
        )
        text = "Theo's dog Rex, and the teapot Greta."
        remember(policy, of_this_turn(AddMemory, text=text, photos=(1, 2), concepts=names), Finish())
        [recorded] = only(MessageRecorded, await turn(assistant, "Theo's dog Rex and my teapot Greta", dog, pot))
        first, second = recorded.message.photos
        shown = {"Rex": (first,), "Greta": (second,), "Theo": ()}
        assert {concept.name: concept.photo_ids for concept in bank.concepts()} == shown
        text = "Theo's dog Rex, who is five, and the teapot Greta."
        replacing = of_this_turn(ReplaceMemory, text=text, memory_id=1, reason="told", concepts=(names[2],))
        remember(policy, replacing, Finish())
        await turn(assistant, "Rex is five", conversation_id=recorded.message.conversation_id)
        assert {concept.name: concept.photo_ids for concept in bank.concepts()}["Theo"] == ()
        [entry] = bank.entries()
        assert set(entry.photo_ids) == {first, second}


def test_a_row_of_commas_between_two_photos_is_read_at_once() -> None:
    row = ", " * 200
    one_photo_a_sentence(f"Left is Rex{row}x, right is Greta", (), with_photos=True)  # once took hours
