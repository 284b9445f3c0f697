"""`--validate`: a good folder is clean, every planted fault is named with its place, and nothing makes it crash."""

import copy
import json
import random
import shutil
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from data_synthesis.command import app
from data_synthesis.dates import EXPRESSIONS, contains_expression, date_text, resolve
from data_synthesis.group import SynthesisError
from data_synthesis.leak_check import blind_answers
from data_synthesis.leakage import AskedQuestion, leakage
from data_synthesis.validation import validate
from data_synthesis.wording import answer_given_away, bracketed_names, options_of
from m2a.benchmarks import BenchmarkError, read_locomo, read_visual
from models.load import load_chat_model
from tests import planted_content_faults, planted_host_faults
from tests.chat_server import ChatServer, Reply, call
from tests.merged_folder import FILES, MergedFolder, write_json, write_locomo, write_merged_folder
from tests.planted_faults import FAULTS
from tests.planted_untruths import FURTHER, LATER, NEEDLESS, UNTRUTHS, make_consistent, say, write_source
from tests.requirements import DREAMBOOTH, needs

PLANTED = (planted_content_faults, planted_host_faults)  # these enter theirs in FAULTS too
RUBBISH: tuple[Any, ...] = (
    None,
    True,
    -1,
    1e308,
    "",
    "\ud800",
    "D1:1",
    "photos/\0",
    [],
    [None],
    {},
    {"session_1": 3},
    10**40,
)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `out`, the good set, and `locomo.json`, its hosts."""
    folder = tmp_path_factory.mktemp("good")
    write_merged_folder(folder / "out")
    write_locomo(folder / "locomo.json")
    return folder


@pytest.fixture
def copied(good: Path, tmp_path: Path) -> MergedFolder:
    shutil.copytree(good / "out", tmp_path / "out")
    return MergedFolder(tmp_path / "out")


@pytest.fixture(scope="module")
def sources(good: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_source(tmp_path_factory.mktemp("concepts"), MergedFolder(good / "out"))


def test_a_good_folder_agrees_with_its_source(copied: MergedFolder, sources: Path) -> None:
    for sample in copied.benchmark:
        for concept in sample["groups"][0]["concepts"]:
            concept["questions"] = []  # no concepts.json has any, and each has a class
            concept["class_name"] = concept["class_name"] or concept["subject"]
        sample["qa"] = [question for question in sample["qa"] if question["source"] != "hand-vqa"]
    make_consistent(copied)
    report = validate(copied.path, None, sources)
    assert not report.faults, str(report)


def test_a_good_folder_is_clean(good: Path) -> None:
    report = validate(good / "out", good / "locomo.json")
    assert not report.faults, str(report)
    assert str(report).endswith("No faults.")
    assert {rate.total for rate in report.figures[:-1]} == {26, 4, 6, 2, 8, 24}
    assert [rate.name for rate in report.figures if rate.limit is not None] == [
        "answered by BM25 over the text",
        "answered by a guess from the question alone",
        "answered by always taking the same of two options",
        "long sentences of more than one dialogue",
    ]


def test_dialogues_that_talk_alike_are_reported(copied: MergedFolder) -> None:
    assert "they repeat each other" not in str(validate(copied.path))
    for sample in copied.benchmark:
        turns = [
            turn for number in sample["groups"][0]["sessions"] for turn in sample["conversation"][f"session_{number}"]
        ]
        for number, turn in enumerate(turns):
            turn["text"] += f" I counted {number} turtles near the old mill today."
    copied.save()
    assert "they repeat each other" in str(validate(copied.path))


def test_readers_read_the_good_folder(good: Path) -> None:
    merged, host = read_visual(good / "out"), read_locomo(good / "locomo.json")
    assert [len(dialogue.sessions) for dialogue in merged.dialogues] == [8, 8]
    assert [len(dialogue.questions) for dialogue in host.dialogues] == [4, 2]


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_named_with_its_place(name: str, copied: MergedFolder, good: Path) -> None:
    plant, words = FAULTS[name]
    before = {path.name: path.read_bytes() for path in copied.path.glob("*.json")}
    plant(copied)
    touched = {path.name: path.read_bytes() for path in copied.path.glob("*.json")}
    if touched == before:  # else the plant wrote or removed a file itself
        copied.save()
    report = validate(copied.path, good / "locomo.json")
    assert report.faults
    lines = [line for line in map(str, report.faults) if all(word in line for word in words)]
    assert lines, str(report)
    assert lines[0] in str(report) or "more against the rule" in str(report)


def test_a_fault_of_the_set_is_named_without_locomo(copied: MergedFolder) -> None:
    copied.question("conv-1/g1/3")["answer"] = "1 May 2023"
    copied.save()
    report = validate(copied.path, None)
    assert [fault.rule for fault in report.faults if fault.place.startswith("benchmark")] == ["temporal"]
    assert "not compared with LoCoMo" in str(report)


@needs(DREAMBOOTH)
def test_a_folder_of_the_pipeline_is_clean_until_something_in_it_changes(good: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    settings = ["--locomo", good / "locomo.json", "--concepts", DREAMBOOTH, "--out", out, "--seed", 3]
    result = CliRunner().invoke(app, list(map(str, settings)))
    assert result.exit_code == 0, result.output
    report = validate(out, good / "locomo.json")
    assert not report.faults, str(report)
    folder = MergedFolder(out)
    question = next(question for question in folder.benchmark[1]["qa"] if question["category"] == 7)
    question["answer"] = "1 January 2001"
    folder.save()
    faults = {(fault.rule, fault.place.split(" ")[-1]) for fault in validate(out, good / "locomo.json").faults}
    assert faults == {("temporal", question["question_id"]), ("records", "questions.jsonl")}


def test_no_content_makes_it_crash(good: Path, copied: MergedFolder) -> None:
    """Parts of every file are replaced by rubbish, removed or doubled."""
    whole = {name: json.loads((copied.path / name).read_text(encoding="utf-8")) for name in FILES}
    drawn = random.Random(7)
    for name in FILES:
        for _ in range(60 if name == "benchmark.json" else 10):
            content = copy.deepcopy(whole[name])
            holder, key = drawn.choice(list(places(content)))
            match drawn.randrange(4):
                case 0:
                    del holder[key]
                case 1 if isinstance(holder, list):
                    holder.append(holder[key])
                case _:
                    holder[key] = drawn.choice(RUBBISH)
            (copied.path / name).write_text(json.dumps(content), encoding="utf-8")
            assert str(validate(copied.path, good / "locomo.json")).encode("utf-8")
        write_json(copied.path / name, whole[name])


def places(content: Any) -> Iterator[tuple[Any, Any]]:
    """Yields every part of a JSON value as its container and key; shallow parts as often as deep ones."""
    layer = [content]
    while layer:
        held = [
            (holder, key) for holder in layer for key in (holder if isinstance(holder, dict) else range(len(holder)))
        ]
        yield from held[:: max(1, len(held) // 40)]
        layer = [holder[key] for holder, key in held if isinstance(holder[key], dict | list)]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"3",
        b"[]",
        b"{}",
        b"[[]]",
        b"\xff\xfe",
        b"[" * 100_000,
        b"9" * 5000,
        b'[{"a": 1, "a": NaN}]',
        b'"\\ud800"',
    ],
    ids=lambda content: repr(content[:12]),
)
def test_files_that_are_no_set(content: bytes, copied: MergedFolder, good: Path) -> None:
    for name in (*FILES, "questions.jsonl", "conversations.jsonl", "README.md"):
        (copied.path / name).write_bytes(content)
    assert validate(copied.path, good / "locomo.json").faults


def test_folders_and_links_in_place_of_files(copied: MergedFolder) -> None:
    photo = copied.path / copied.session(2)[0]["photos"][0]
    photo.rename(copied.path.parent / "elsewhere.jpg")
    photo.symlink_to(copied.path.parent / "elsewhere.jpg")
    for name in ("run.json", "README.md"):
        (copied.path / name).unlink()
        (copied.path / name).mkdir()
    assert "it is not a plain file" in str(validate(copied.path, None))
    shutil.rmtree(copied.path / "photos")
    (copied.path / "photos").write_text("a file")
    report = validate(copied.path, None)
    assert sum(fault.rule == "photos" for fault in report.faults) >= 12


def test_an_empty_folder_has_faults_and_a_missing_one_is_refused(tmp_path: Path, good: Path) -> None:
    report = validate(tmp_path, None)
    assert {fault.place for fault in report.faults} == {*FILES, "README.md"}, str(report)
    with pytest.raises(SynthesisError, match="is not a folder"):
        validate(tmp_path / "nowhere", None)
    with pytest.raises(BenchmarkError):
        validate(good / "out", tmp_path / "nowhere.json")


def test_many_faults_are_reported_in_short(copied: MergedFolder) -> None:
    for turn in (turn for number in range(2, 7) for turn in copied.session(number)):
        turn["caption"] = "x"
    copied.save()
    report = validate(copied.path, None)
    assert "… and 5 more against the rule 'schema'." in str(report)


SAID_ON = date(2023, 5, 10)  # a Wednesday


@pytest.mark.parametrize(
    ("expression", "day"),
    [
        ("", "10 May 2023"),
        ("this morning", "10 May 2023"),
        ("Yesterday", "9 May 2023"),
        ("last night", "9 May 2023"),
        ("the day before yesterday", "8 May 2023"),
        ("tomorrow", "11 May 2023"),
        ("3 days ago", "7 May 2023"),
        ("a couple of days ago", "8 May 2023"),
        ("two weeks ago", "26 April 2023"),
        ("a fortnight ago", "26 April 2023"),
        ("a week ago", "3 May 2023"),
        ("in five days", "15 May 2023"),
        ("in a week", "17 May 2023"),
        ("two weeks from now", "24 May 2023"),
        ("last Tuesday", "9 May 2023"),
        ("last Wednesday", "3 May 2023"),
        ("last Thursday", "4 May 2023"),
        ("this Wednesday", "10 May 2023"),
        ("this Sunday", "14 May 2023"),
        ("next Monday", "15 May 2023"),
        ("next Friday", "19 May 2023"),
        ("on 7 May", "7 May 2023"),
        ("on the 30th of December", "30 December 2022"),
        ("on May 7th, 2021", "7 May 2021"),
    ],
)
def test_an_expression_has_one_date(expression: str, day: str) -> None:
    assert date_text(resolve(expression, SAID_ON)) == day
    assert contains_expression(expression, f"So it was {expression}, you know.")


@pytest.mark.parametrize(
    "expression", ["last week", "this Monday", "on 31 June", "some days ago", "in spring", "999 weeks"]
)
def test_an_expression_without_a_date_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        resolve(expression, SAID_ON)


def test_the_longest_expression_is_what_a_text_says() -> None:
    assert not contains_expression("yesterday", "It was the day before yesterday.")
    assert not contains_expression("two days ago", "It was twenty-two days ago.")
    assert contains_expression("two days ago", "Two days  ago it rained.")
    assert len(EXPRESSIONS) == len(set(EXPRESSIONS))


def test_answers_within_questions() -> None:
    assert answer_given_away("What is the red bag called?", ["A red bag"]) == "A red bag"
    assert answer_given_away("What is the reddest bag called?", ["red"]) is None
    assert answer_given_away("What does Bo resemble? (Cat or Dog?)", ["Dog"]) is None
    assert answer_given_away("What does the dog resemble? (Cat or Dog?)", ["Dog"]) == "Dog"
    assert options_of("Is it tea or coffee?") is None
    assert bracketed_names("<3 and <Doctor Marmalade>, not <sks>") == ["Doctor Marmalade"]


def test_leakage_counts_what_words_and_habits_give() -> None:
    turns = [("Ann", f"The lamp number {number} is green.") for number in range(30)] + [("Ben", "Rosso is crimson.")]
    asked_question = AskedQuestion("visual single-hop", "What colour is Rosso?", ("crimson",), turns)
    seen = AskedQuestion("visual single-hop", "What shape has Rosso?", ("round", "a ball"), turns)
    choice = AskedQuestion("visual retrieval", "Which lamp is it? (green or purple?)", ("purple",), turns)
    rates = {rate.name: (rate.count, rate.total) for rate in leakage([asked_question, seen, choice])}
    assert rates["answered by BM25 over the text"] == (1, 3)
    assert rates["answered by a guess from the question alone"] == (0, 2)
    habit = [AskedQuestion("visual single-hop", f"What colour is thing {n}?", ("red",), turns) for n in range(10)]
    assert [rate.count for rate in leakage(habit) if rate.too_high] == [10]
    assert leakage([AskedQuestion("visual single-hop", "", ("",), [("", "")])])[0].count == 0


@pytest.mark.parametrize("name", [*UNTRUTHS, *FURTHER, *LATER, *NEEDLESS])
def test_an_untruth_is_found_though_all_files_agree(name: str, copied: MergedFolder, sources: Path) -> None:
    plant, words = (UNTRUTHS | FURTHER | LATER | NEEDLESS)[name]
    plant(copied)
    make_consistent(copied)
    report = validate(copied.path, None, sources)
    assert any(words in str(fault) for fault in report.faults), str(report)
    assert not {fault.rule for fault in report.faults} & {"schema", "records", "id map"}, str(report)


@pytest.mark.parametrize(
    "turns",
    [
        {"D3:3": "+My mother and I talked.", "D5:3": "+My husband and I talked."},  # no name follows
        {"D3:4": "Thanks, Benny! He says sorry."},
    ],
)
def test_what_people_may_say_is_no_fault(turns: dict[str, str], copied: MergedFolder) -> None:
    for where, text in turns.items():
        say(where, text)(copied)
    make_consistent(copied)
    report = validate(copied.path)
    assert not report.faults, str(report)


async def test_a_model_without_photos_tells_what_needs_none(good: Path) -> None:
    """It reads "Crown" off the options; of the rest it knows nothing."""

    def script(request: dict[str, Any]) -> Reply:
        text = json.dumps(request["messages"])
        assert "image_url" not in text
        return call("answer", {"text": "a Crown" if "(Hat or Crown?)" in text else "unknown"})

    report = validate(good / "out", good / "locomo.json")
    with ChatServer(script) as server:
        model = load_chat_model("openai:any", base_url=server.base_url, sees_photos=False)
        answers = await blind_answers(report.samples, model)
        assert len(server.requests) == 2 * 26
    assert [(rate.count, rate.total) for rate in answers.rates] == [(1, 22), (1, 22)]
    assert [line.split(":")[0] for line in answers.solved] == ["benchmark.json, conv-1, question conv-1/g1/12"] * 2
