"""Groups written by a chat model behind real HTTP: what is asked, what is repaired, what is given up, what it costs."""

import copy
import dataclasses
import io
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from typer.testing import CliRunner

from data_synthesis.answer_store import AnswerStore
from data_synthesis.check_group import faults_of
from data_synthesis.command import app
from data_synthesis.costs import BudgetReachedError, Costs
from data_synthesis.group import (
    Attribute,
    ConceptGroup,
    ConceptPhoto,
    GeneratedGroup,
    GenerationError,
    GroupRequest,
    PersonalConcept,
    Placement,
    SynthesisError,
    TurnPlace,
)
from data_synthesis.model_generator import ModelGenerator, ServiceError
from models.chat_model import ChatModel
from models.prices import per_million
from models.provider_chat_model import ProviderChatModel
from tests.chat_server import ChatServer, Reply, Script, call, refusing, replies, say, status
from tests.group_answers import Answer, GroupModel, GroupPrompt, good_answer, reply
from tests.synthesis_crash import make_sources

NAMES = ("Rosso", "Tick", "Mona Lu")


@pytest.fixture
def request_(tmp_path: Path) -> GroupRequest:
    start = datetime(2023, 5, 1, 9, 0)
    times = tuple(start + timedelta(days=6 * number) for number in range(1, 6))
    return GroupRequest(
        dialogue_id="conv-1",
        speakers=("Ann", "Bo"),
        group=ConceptGroup(1, tuple(concept(tmp_path, name) for name in NAMES)),
        placement=Placement(3, start, start + timedelta(days=36), times),
        seed=7,
    )


def concept(folder: Path, name: str) -> PersonalConcept:
    photos = []
    for number in range(2):
        path = folder / name / f"{number:02}.png"
        path.parent.mkdir(exist_ok=True)
        Image.new("RGB", (48, 48), (20 * NAMES.index(name), 90 * number, 9)).save(path)
        photos.append(ConceptPhoto(path, "kitchen table" if number else "", ""))
    return PersonalConcept(name.lower(), name, "bag", tuple(photos), attributes=(Attribute("colour", "dark red"),))


async def no_wait(seconds: float) -> None:
    pass


def chat_model(server: ChatServer, **settings: Any) -> ChatModel:
    return ProviderChatModel("openai:any", base_url=server.base_url, **{"sleep": no_wait, **settings})


async def generate(
    script: Script, request: GroupRequest, folder: Path, **settings: Any
) -> tuple[GeneratedGroup, ChatServer]:
    with ChatServer(script) as server:
        generator = ModelGenerator(chat_model(server, **settings), answers=AnswerStore(folder / "answers"))
        return await generator.generate(request), server


async def test_an_answer_may_be_as_long_as_the_context_of_the_server_allows(
    request_: GroupRequest, tmp_path: Path
) -> None:
    with ChatServer(GroupModel()) as server:
        entry = {"data": [{"id": "any", "max_model_len": 131_072}]}
        server.facts["/v1/models"] = Reply(body=json.dumps(entry).encode())
        generator = ModelGenerator(chat_model(server), answers=AnswerStore(tmp_path / "answers"))
        await generator.generate(request_)
    assert server.requests[0].json["max_tokens"] == 16_000


async def test_one_call_makes_a_group(request_: GroupRequest, tmp_path: Path) -> None:
    group, server = await generate(GroupModel(), request_, tmp_path)
    assert len(server.requests) == 1
    assert len(group.sessions) == 5 and all(len(session) == 7 for session in group.sessions)
    assert [sum(q.category == category for q in group.questions) for category in (6, 7, 8, 9)] == [4, 6, 2, 8]
    chosen = {photo.path for concept in request_.group.concepts for photo in concept.photos}
    assert {photo for session in group.sessions for turn in session for photo in turn.photos} == chosen
    when = group.questions[4]
    assert when.answer == "30 April 2023" and "2023-04-30" in when.accepted  # "a week ago", said on 7 May
    assert when.evidence[0] == TurnPlace(1, 2)
    assert group.notes["repairs"] == [] and group.notes["cost"] is None


async def test_the_prompt_holds_photos_names_and_dates(request_: GroupRequest, tmp_path: Path) -> None:
    _, server = await generate(GroupModel(), request_, tmp_path)
    [sent_request] = server.requests
    paths = [photo.path for concept in request_.group.concepts for photo in concept.photos]
    assert sent_request.photos == [path.read_bytes() for path in paths]
    for words in (
        "Photo P3 of Tick:",
        "<Mona Lu>, a bag",
        "- colour: dark red",
        "- photo P2: kitchen table",
        "- session 1: Sunday, 7 May 2023, 09:00; about",
        "4 of category 6",
        "last <weekday>",
    ):
        assert words in sent_request.text
    [tool] = sent_request.json["tools"]
    turn = tool["function"]["parameters"]["properties"]["sessions"]["items"]["properties"]["turns"]["items"]
    assert turn["properties"]["speaker"]["enum"] == ["Ann", "Bo"]
    assert turn["properties"]["photos"]["items"]["enum"] == ["P1", "P2", "P3", "P4", "P5", "P6"]
    assert str(tmp_path) not in json.dumps(sent_request.json)


async def test_a_model_without_eyes_reads_about_the_photos(request_: GroupRequest, tmp_path: Path) -> None:
    _, server = await generate(GroupModel(), request_, tmp_path, sees_photos=False)
    assert server.requests[0].photos == []
    assert "- photo P2: kitchen table" in server.requests[0].text


async def test_a_large_photo_is_sent_smaller(request_: GroupRequest, tmp_path: Path) -> None:
    large = request_.group.concepts[0].photos[0].path
    Image.effect_noise((1400, 1200), 90).convert("RGB").save(large)
    assert large.stat().st_size > 1_000_000
    _, server = await generate(GroupModel(), request_, tmp_path)
    assert len(server.requests[0].photos[0]) < 1_000_000


async def test_many_photos_go_on_a_sheet_for_each_concept(request_: GroupRequest, tmp_path: Path) -> None:
    """Three concepts of three photos: one picture each where a server may take no more than eight."""
    more = tuple(
        dataclasses.replace(
            concept,
            photos=(*concept.photos, dataclasses.replace(concept.photos[0], path=copied(concept.photos[0].path))),
        )
        for concept in request_.group.concepts
    )
    request = dataclasses.replace(request_, group=ConceptGroup(1, more))
    _, server = await generate(GroupModel(), request, tmp_path)
    [sent_request] = server.requests
    assert len(sent_request.photos) == 3 and "Photos P4, P5, P6 of Tick, from left to right:" in sent_request.text
    widths = {Image.open(io.BytesIO(photo)).size for photo in sent_request.photos}
    assert widths == {(3 * 512 + 2 * 16, 512)}


def copied(path: Path) -> Path:
    copy_ = path.with_name("more.png")
    copy_.write_bytes(path.read_bytes())
    return copy_


async def test_a_missing_photo_is_named(request_: GroupRequest, tmp_path: Path) -> None:
    lost = request_.group.concepts[1].photos[1].path
    lost.unlink()
    with pytest.raises(SynthesisError, match=str(lost)):
        await generate(GroupModel(), request_, tmp_path)


# Bad answers

Spoil = Callable[[Answer], object]


def spoilt(change: Callable[[Answer], object]) -> Spoil:
    """Returns a function that applies the change to a copy of the good answer."""

    def spoil(answer: Answer) -> object:
        changed = copy.deepcopy(answer)
        change(changed)
        return changed

    return spoil


def turn(answer: Answer, session: int = 2, number: int = 3) -> dict[str, Any]:
    entry: dict[str, Any] = answer["sessions"][session - 1]["turns"][number - 1]
    return entry


def question(answer: Answer, category: int) -> dict[str, Any]:
    entry: dict[str, Any] = next(candidate for candidate in answer["questions"] if candidate["category"] == category)
    return entry


def german(answer: Answer) -> object:
    return {"sitzungen": answer["sessions"], "fragen": answer["questions"]}


def huge(answer: Answer) -> None:
    answer["sessions"][1]["turns"] *= 300


CHANGED: dict[str, tuple[Spoil, str]] = {
    "an array": (lambda answer: [answer], "must be a JSON object"),
    "null": (lambda answer: None, "must be a JSON object"),
    "a number": (lambda answer: 7, "JSON"),
    "an empty object": (lambda answer: {}, "At sessions: field required"),
    "no questions": (spoilt(lambda answer: answer.pop("questions")), "At questions: field required"),
    "keys of another language": (german, "At sessions: field required"),
    "sessions as text": (lambda answer: {**answer, "sessions": "five sessions"}, "At sessions: input should be"),
    "a turn as text": (
        spoilt(lambda answer: answer["sessions"][0]["turns"].__setitem__(1, "hello")),
        "At sessions 1, turns 2",
    ),
    "no speaker": (spoilt(lambda answer: turn(answer).pop("speaker")), "At sessions 2, turns 3, speaker"),
    "text null": (spoilt(lambda answer: turn(answer).update(text=None)), "At sessions 2, turns 3, text"),
    "half a character": (
        spoilt(lambda answer: turn(answer).update(text="Nice one \ud83d really.")),
        "At sessions 2, turns 3, text",
    ),
    "a control character": (spoilt(lambda answer: turn(answer).update(text="Nice\x00 one.")), "control character"),
    "a message without end": (
        spoilt(lambda answer: turn(answer).update(text="and " * 5000)),
        "2000",
    ),
    "category a word": (spoilt(lambda answer: question(answer, 9).update(category="single-hop")), "category"),
    "category of LoCoMo": (spoilt(lambda answer: question(answer, 9).update(category=4)), "category"),
    "evidence as text": (spoilt(lambda answer: question(answer, 9).update(evidence="S1T3")), "evidence"),
    "thousands of turns": (spoilt(huge), "more than 1000 turns"),
    "a name without brackets": (
        spoilt(lambda answer: turn(answer, 1, 1).update(text="Meet Rosso, Tick and Mona Lu, all mine now.")),
        "in angle brackets",
    ),
    "a photo by its file": (spoilt(lambda answer: turn(answer).update(photos=["00.png"])), "not chosen"),
    "a photo never shown": (
        spoilt(
            lambda answer: [
                turn["photos"].remove("P2")
                for session in answer["sessions"]
                for turn in session["turns"]
                if "P2" in turn["photos"]
            ]
        ),
        "The photo P2 of Rosso",
    ),
    "evidence that is not there": (
        spoilt(lambda answer: question(answer, 9).update(evidence=["S9T1"])),
        "does not exist",
    ),
    "an id twice": (spoilt(lambda answer: turn(answer).update(id="S2T2")), "id S2T2 is given to two turns"),
    "a photo in words": (
        spoilt(lambda answer: turn(answer, 2, 4).update(text="Rosso lay about on the kitchen table.")),
        "S2T4: it says 'kitchen table', which its photo shows",
    ),
}

SAID = {
    "brackets without end": (call("write_group", "[" * 100_000), "not valid JSON"),
    "braces without end": (say('{"a":' * 50_000), "broken or was cut off"),
}


@pytest.mark.parametrize("kind", CHANGED)
async def test_a_bad_group_goes_back_with_the_reasons(kind: str, request_: GroupRequest, tmp_path: Path) -> None:
    spoil, reason = CHANGED[kind]
    answered = 0

    def script(request: dict[str, Any]) -> Reply:
        nonlocal answered
        answered += 1
        good = good_answer(GroupPrompt.of(request))
        return reply(request, spoil(good) if answered == 1 else good)

    faults = await repaired(script, reason, request_, tmp_path)
    assert any(reason in fault for fault in faults)


@pytest.mark.parametrize("kind", SAID)
async def test_what_is_no_group_goes_back_with_the_reason(kind: str, request_: GroupRequest, tmp_path: Path) -> None:
    bad, reason = SAID[kind]
    waiting = [bad]
    faults = await repaired(
        lambda request: waiting.pop() if waiting else GroupModel()(request), reason, request_, tmp_path
    )
    assert any(reason in fault for fault in faults)


async def repaired(script: Script, reason: str, request: GroupRequest, folder: Path) -> list[str]:
    """The second answer is good and becomes the group. The faults of the first one, with the reason sent back."""
    group, server = await generate(script, request, folder)
    assert len(server.requests) == 2 and reason in server.requests[1].text
    good = good_answer(GroupPrompt.of(server.requests[0].json))
    assert [[turn.text for turn in session] for session in group.sessions] == [
        [turn["text"] for turn in session["turns"]] for session in good["sessions"]
    ]
    assert [(q.text, q.answer) for q in group.questions] == [(q["question"], q["answer"]) for q in good["questions"]]
    [faults] = group.notes["repairs"]  # type: ignore[misc]
    return faults


async def test_a_service_that_stumbles_is_asked_again(request_: GroupRequest, tmp_path: Path) -> None:
    waiting = [status(503), status(503)]
    group, server = await generate(
        lambda request: waiting.pop() if waiting else GroupModel()(request), request_, tmp_path
    )
    assert len(server.requests) == 3 and group.notes["repairs"] == [] and group.notes["calls"] == 1


@pytest.mark.parametrize(
    ("fault", "words", "calls"),
    [
        (status(401), "refuses the key", 1),
        (status(503), "try again later", 4),
        (status(429), "accepts no more", 4),
        (status(400, "no parameter named 'stream'"), "refuses the request", 4),
    ],
    ids=["authentication", "outage", "rate limit", "a server that takes nothing"],
)
async def test_an_outage_stops_and_the_next_run_goes_on(
    fault: Reply, words: str, calls: int, request_: GroupRequest, tmp_path: Path
) -> None:
    """The bad answer that had been received before the outage is not asked for again."""
    script = replies(say("Sorry?"), fault)
    with ChatServer(script) as server:
        generator = ModelGenerator(chat_model(server), answers=AnswerStore(tmp_path / "answers"))
        with pytest.raises(ServiceError, match=words) as stopped:
            await generator.generate(request_)
        assert not isinstance(stopped.value, GenerationError)
        assert len(server.requests) == 1 + calls
    group, server = await generate(GroupModel(), request_, tmp_path)
    assert len(server.requests) == 1 and group.notes["calls"] == 2


FILTERED = (
    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    "Your request was rejected as a result of our safety system.",
    "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
)


@pytest.mark.parametrize("words", FILTERED)
async def test_a_refusal_by_a_content_filter_fails_its_group(
    words: str, request_: GroupRequest, tmp_path: Path
) -> None:
    with pytest.raises(GenerationError, match=words.rstrip(".")):
        await generate(replies(status(400, words)), request_, tmp_path)


def test_a_content_filter_sets_its_group_aside_and_the_others_are_made(tmp_path: Path) -> None:
    make_sources(tmp_path)
    words = FILTERED[0]

    def script(request: dict[str, Any]) -> Reply:
        prompt = GroupPrompt.of(request)
        return status(400, words) if "Cy" in prompt.speakers else reply(request, good_answer(prompt))

    with ChatServer(script) as server:
        assert synthesize(tmp_path, server) == 1
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["finished"] and [(group["sample_id"], group["group"]) for group in record["set_aside"]] == [
        ("c2", 1),
        ("c2", 2),
    ]
    assert all(words.rstrip(".") in group["reason"] and "(400)" in group["reason"] for group in record["set_aside"])
    assert [group["state"] for group in record["groups"]] == ["made", "made", "set aside", "set aside"]


async def test_only_what_is_wrong_is_written_anew(request_: GroupRequest, tmp_path: Path) -> None:
    """A turn by its id and a question by its number; the rest of the first answer stays."""
    good = {}

    def script(request: dict[str, Any]) -> Reply:
        if "mend_group" not in json.dumps(request):
            good.update(good_answer(GroupPrompt.of(request)))
            bad = copy.deepcopy(good)
            turn(bad).update(text="And who is <Zorro> then?")
            bad["questions"][3].update(answer="")
            return reply(request, bad)
        change = {"turns": [turn(good)], "sessions": [], "questions": [{"number": 4, **good["questions"][3]}]}
        return call("mend_group", json.dumps(change))

    group, server = await generate(script, request_, tmp_path)
    assert "S2T3: <Zorro> is no concept" in server.requests[1].text
    assert [q.text for q in group.questions] == [q["question"] for q in good["questions"]]
    texts = [[turn.text for turn in session] for session in group.sessions]
    assert texts == [[turn["text"] for turn in session["turns"]] for session in good["sessions"]]


async def test_a_change_of_what_is_not_there_goes_back(request_: GroupRequest, tmp_path: Path) -> None:
    answers = [
        {"turns": [{"id": "S9T9", "speaker": "Ann", "text": "Hm?", "photos": []}], "sessions": [], "questions": []},
        {"turns": [], "sessions": [], "questions": [{"number": 40, "category": 9, "question": "?", "answer": "a",
                                                     "accepted": [], "evidence": [], "derivation": None}]},
    ]  # fmt: skip

    def script(request: dict[str, Any]) -> Reply:
        good = good_answer(GroupPrompt.of(request))
        if "mend_group" not in json.dumps(request):
            turn(good).update(text=" ")
            return reply(request, good)
        return call("mend_group", json.dumps(answers.pop(0))) if answers else reply(request, good)

    group, _ = await generate(script, request_, tmp_path)
    assert [fault for faults in group.notes["repairs"] for fault in faults][-2:] == [  # type: ignore[attr-defined]
        "There is no turn S9T9 to change.",
        "There is no number 40 among the questions, and it is not the next.",
    ]


async def test_after_three_repeats_the_group_is_given_up(request_: GroupRequest, tmp_path: Path) -> None:
    def script(request: dict[str, Any]) -> Reply:
        bad = good_answer(GroupPrompt.of(request))
        bad["sessions"].pop()
        return reply(request, bad)

    with ChatServer(script) as server:
        generator = ModelGenerator(chat_model(server), answers=AnswerStore(tmp_path / "answers"))
        with pytest.raises(GenerationError, match=r"conv-1, group 1: none of 4 answers.*There are 4 sessions"):
            await generator.generate(request_)
        assert len(server.requests) == 4
        with pytest.raises(GenerationError):
            await generator.generate(request_)
        assert len(server.requests) == 4  # the bad answers are paid for, and kept


async def test_questions_that_stay_wrong_are_left_out_of_a_paid_group(request_: GroupRequest, tmp_path: Path) -> None:
    def script(request: dict[str, Any]) -> Reply:
        bad = good_answer(GroupPrompt.of(request))
        question(bad, 9).update(answer="")
        question(bad, 7).update(answer="6 May 2023")
        return reply(request, bad)

    group, server = await generate(script, request_, tmp_path)
    assert len(server.requests) == 4 and len(group.questions) == 18 and sorted(group.dropped) == [7, 9]
    assert faults_of(group, request_) == []
    assert "must be '30 April 2023'" in " ".join(group.notes["left out"])


async def test_an_answer_once_received_is_not_asked_for_again(request_: GroupRequest, tmp_path: Path) -> None:
    waiting = [say("Sorry?")]
    group, _ = await generate(lambda request: waiting.pop() if waiting else GroupModel()(request), request_, tmp_path)
    again, server = await generate(replies(status(500)), request_, tmp_path)
    assert again == group and not server.requests


async def test_the_cost_is_known_with_a_price_and_never_0_without(request_: GroupRequest, tmp_path: Path) -> None:
    for price, cost in ((per_million(2.0, 10.0), 0.013), (None, None)):
        with ChatServer(GroupModel()) as server:
            store = AnswerStore(tmp_path / f"answers-{cost}", Costs(price))
            group = await ModelGenerator(chat_model(server), answers=store).generate(request_)
        assert (group.notes["input_tokens"], group.notes["output_tokens"]) == (2000, 900)
        assert group.notes["cost"] == cost == store.costs.spent


async def test_tokens_that_nobody_counted_are_unknown(request_: GroupRequest, tmp_path: Path) -> None:
    def script(request: dict[str, Any]) -> Reply:
        return dataclasses.replace(GroupModel()(request), usage=None)

    with ChatServer(script) as server:
        store = AnswerStore(tmp_path / "answers", Costs(per_million(2.0, 10.0)))
        group = await ModelGenerator(chat_model(server), answers=store).generate(request_)
    assert group.notes["input_tokens"] is None and group.notes["cost"] is None
    assert store.costs.uncounted == 1


async def test_no_call_beyond_the_budget(request_: GroupRequest, tmp_path: Path) -> None:
    """The first answer uses the budget up; it is kept, and a later run with more money goes on after it."""

    def bad(request: dict[str, Any]) -> Reply:
        return reply(request, {})

    with ChatServer(bad) as server:
        store = AnswerStore(tmp_path / "answers", Costs(per_million(2.0, 10.0), budget=0.014))
        with pytest.raises(BudgetReachedError):
            await ModelGenerator(chat_model(server), answers=store).generate(request_)
        assert len(server.requests) == 1
    group, server = await generate(GroupModel(), request_, tmp_path)
    assert len(server.requests) == 1 and group.notes["calls"] == 2


async def test_an_endless_answer_is_not_sent_back(request_: GroupRequest, tmp_path: Path) -> None:
    spoil, reason = CHANGED["thousands of turns"]
    waiting = [spoil]

    def script(request: dict[str, Any]) -> Reply:
        good = good_answer(GroupPrompt.of(request))
        return reply(request, waiting.pop()(good) if waiting else good)

    _, server = await generate(script, request_, tmp_path)
    assert reason in server.requests[1].text and len(server.requests[1].text) < 20_000


async def test_a_group_of_a_server_without_tools(request_: GroupRequest, tmp_path: Path) -> None:
    group, server = await generate(refusing("tools", then=GroupModel()), request_, tmp_path)
    assert server.modes == ["tools", "json_schema"] and len(group.questions) == 20
    assert server.requests[1].json["response_format"]["json_schema"]["schema"]["properties"]["arguments"]


async def test_another_place_or_photo_is_another_question(request_: GroupRequest, tmp_path: Path) -> None:
    """Answers are kept by all that determines them."""
    await generate(GroupModel(), request_, tmp_path)
    for other in (
        dataclasses.replace(request_, dialogue_id="conv-2"),
        dataclasses.replace(request_, speakers=("Ann", "Cy")),
    ):
        _, server = await generate(GroupModel(), other, tmp_path)
        assert len(server.requests) == 1
    Image.new("RGB", (48, 48), "white").save(request_.group.concepts[2].photos[0].path)
    _, server = await generate(GroupModel(), request_, tmp_path)
    assert len(server.requests) == 1


# The whole run


def synthesize(folder: Path, server: ChatServer) -> int:
    """Runs the command. Returns its exit code."""
    arguments = ["--locomo", folder / "locomo.json", "--concepts", folder / "concepts", "--out", folder / "out"]
    arguments += ["--groups", 2, "--chat-model", "openai:any", "--chat-base-url", server.base_url]
    return CliRunner().invoke(app, [str(argument) for argument in arguments]).exit_code


def test_the_run_goes_on_without_a_group_that_cannot_be_had(tmp_path: Path) -> None:
    make_sources(tmp_path)

    def script(request: dict[str, Any]) -> Reply:
        prompt = GroupPrompt.of(request)
        return say("I would rather not.") if "Cy" in prompt.speakers else reply(request, good_answer(prompt))

    with ChatServer(script) as server:
        assert synthesize(tmp_path, server) == 1
        assert len(server.requests) == 2 + 2 * 4
        assert synthesize(tmp_path, server) == 1
        assert len(server.requests) == 2 + 2 * 4
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert [(group["sample_id"], group["group"]) for group in record["set_aside"]] == [("c2", 1), ("c2", 2)]
    assert all("not a tool call" in group["reason"] for group in record["set_aside"])
    merged = json.loads((tmp_path / "out" / "benchmark.json").read_text())
    assert [len(sample["groups"]) for sample in merged] == [2, 0]


def test_a_refused_key_stops_the_run_and_another_resumes_it(tmp_path: Path) -> None:
    make_sources(tmp_path)
    answered = 0

    def script(request: dict[str, Any]) -> Reply:
        nonlocal answered
        answered += 1
        return GroupModel()(request) if answered == 1 else status(401)

    with ChatServer(script) as server:
        assert synthesize(tmp_path, server) == 1
        assert len(server.requests) <= 1 + 4  # those under way; none is asked again
    assert not (tmp_path / "out" / "benchmark.json").exists()
    with ChatServer(GroupModel()) as server:
        assert synthesize(tmp_path, server) == 0
        assert len(server.requests) == 3
