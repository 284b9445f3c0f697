"""The readers of the data sets, on small files made here and on the real ones where they are."""

import copy
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from m2a.benchmarks import BenchmarkError, read_locomo, read_longmemeval, read_visual
from m2a.benchmarks.folders import write_json
from m2a.benchmarks.locomo import (
    evidence_references,
    format_date_time,
    parse_date_time,
    read_samples,
    session_numbers,
)
from m2a.benchmarks.longmemeval import parse_date
from tests.drawings import draw_teapot
from tests.requirements import SHARED, needs

SAMPLE: dict[str, Any] = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ada",
        "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ada", "dia_id": "D1:1", "text": "Look!", "img_url": ["https://host/a.jpg"],
             "blip_caption": "a photo of a teapot", "query": "teapot"},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "Nice."},
        ],
        "session_2_date_time": "12:05 am on 1 June, 2023",
        "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "I moved."}],
        "session_3_date_time": "9:00 am on 3 June, 2023",
    },
    "qa": [
        {"question": "When did Ben move?", "answer": 2023, "evidence": ["D2:1; D1:02", "D", "D7:1"], "category": 2},
        {"question": "Does Ada sail?", "adversarial_answer": "Yes", "evidence": ["D1:1"], "category": 5},
    ],
}  # fmt: skip

ITEM: dict[str, Any] = {
    "question_id": "q1",
    "question_type": "multi-session",
    "question": "How many?",
    "answer": 3,
    "question_date": "2023/06/01 (Thu) 10:00",
    "haystack_session_ids": ["late", "early"],
    "haystack_dates": ["2023/05/30 (Tue) 23:40", "2023/05/20 (Sat) 02:21"],
    "haystack_sessions": [
        [{"role": "user", "content": "One more.", "has_answer": True}, {"role": "assistant", "content": "Noted."}],
        [{"role": "user", "content": "Two of them."}],
    ],
    "answer_session_ids": ["late", "early"],
}


def written(folder: Path, samples: object, name: str = "locomo.json") -> Path:
    file = folder / name
    file.write_text(json.dumps(samples), encoding="utf-8")
    return file


def changed(**changes: Any) -> dict[str, Any]:
    return copy.deepcopy(SAMPLE) | changes


# LoCoMo


def test_a_sample_becomes_a_dialogue(tmp_path: Path) -> None:
    benchmark = read_locomo(written(tmp_path, [SAMPLE]))
    assert benchmark.categories == ("temporal", "adversarial")
    (dialogue,) = benchmark.dialogues
    first, second = dialogue.sessions
    assert (first.reference, first.started_at) == ("D1", datetime(2023, 5, 8, 13, 56, tzinfo=UTC))
    assert second.started_at == datetime(2023, 6, 1, 0, 5, tzinfo=UTC)
    look, nice, moved = dialogue.turns
    assert (look.speaker, look.role, look.caption) == ("Ada", "user", "a photo of a teapot")
    assert look.photos[0].path is None  # LoCoMo ships no pictures
    assert (nice.role, nice.photos, moved.reference) == ("user", (), "D2:1")
    when, sails = dialogue.questions
    assert (when.answer, when.evidence, when.dropped_evidence) == ("2023", ("D2:1", "D1:2"), ("D", "D7:1"))
    assert sails.answer is None and not sails.answerable


@pytest.mark.parametrize(
    ("evidence", "expected", "dropped"),
    [
        (["D8:6; D9:17"], ["D8:6", "D9:17"], []),
        (["D9:1 D4:4 D4:6"], ["D9:1", "D4:4", "D4:6"], []),
        (["D:11:26", "D30:05"], ["D11:26", "D30:5"], []),
        (["D"], [], ["D"]),
        (["D10:19", "D8:6", "D8:6"], ["D8:6"], ["D10:19"]),
        ([], [], []),
    ],
)
def test_evidence_is_normalised_by_one_rule(evidence: list[str], expected: list[str], dropped: list[str]) -> None:
    references = {"D8:6", "D9:17", "D9:1", "D4:4", "D4:6", "D11:26", "D30:5"}
    assert evidence_references(evidence, references) == (expected, dropped)


@pytest.mark.parametrize(
    "text", ["1:56 pm on 8 May, 2023", "12:05 am on 1 June, 2023", "12:30 pm on 29 February, 2024"]
)
def test_times_are_read_and_written_alike(text: str) -> None:
    assert format_date_time(parse_date_time(text)) == text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[", "is not JSON"),
        ("{}", "must be a list of samples"),
        ("[]", "not empty"),
        ("[7]", "sample 1 is not an object"),
        (json.dumps([{"sample_id": "x", "conversation": {}}]), "no 'qa'"),
        (json.dumps([changed(conversation={"speaker_a": "A", "speaker_b": "B"})]), "no session with turns"),
        (json.dumps([SAMPLE, SAMPLE]), "occurs twice"),
        (json.dumps([changed(qa=[{"question": "?", "category": 4}])]), "has no 'answer'"),
        (json.dumps([changed(qa=[{"question": "?", "category": 11, "answer": "x"}])]), "category 11"),
        (json.dumps([changed()]).replace("1:56 pm on 8 May, 2023", "8.5.2023"), "'8.5.2023'"),
        (json.dumps([changed()]).replace('"dia_id": "D1:2", ', ""), "a turn lacks 'dia_id'"),
        (json.dumps([changed()]).replace('"Nice."', "7"), "lacks 'text', or it is not a str: 7"),
        (json.dumps([changed()]).replace('["D1:1"]', "[1]"), "'evidence' of a question is not a list of texts"),
        (json.dumps([changed()]).replace('"a photo of a teapot"', "{}").replace("{}", '["x"]'), "not a text"),
        (json.dumps([changed(qa=["?"])]), "a question is '?', not an object"),
        (
            json.dumps([changed()]).replace('"session_3_date_time"', '"session_3": 5, "session_3_date_time"'),
            "not a list of turns",
        ),
    ],
)
def test_a_broken_file_is_named_with_the_place(tmp_path: Path, content: str, words: str) -> None:
    file = tmp_path / "locomo.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(BenchmarkError, match=r"locomo\.json") as raised:
        read_locomo(file)
    assert words in str(raised.value)


def test_a_folder_is_searched_for_sample_files(tmp_path: Path) -> None:
    written(tmp_path, {"not": "samples"}, "other.json")
    with pytest.raises(BenchmarkError, match="holds no LoCoMo file"):
        read_locomo(tmp_path)
    written(tmp_path, [SAMPLE], "a.json")
    written(tmp_path, [changed(sample_id="conv-2")], "b.json")
    assert [dialogue.dialogue_id for dialogue in read_locomo(tmp_path).dialogues] == ["conv-1", "conv-2"]


@pytest.mark.parametrize("changes", [{}, {"sample_id": "conv-2"}])
def test_an_id_that_occurs_twice_is_named_with_its_files(tmp_path: Path, changes: dict[str, Any]) -> None:
    question = {"question_id": "q-1", "question": "Who moved?", "answer": "Ben", "category": 4}
    written(tmp_path, [changed(qa=[question])], "a.json")
    assert len(read_locomo(tmp_path).dialogues) == 1
    written(tmp_path, [changed(qa=[question], **changes)], "b.json")
    duplicate = "question_id 'q-1'" if changes else "sample_id 'conv-1'"
    with pytest.raises(BenchmarkError, match=rf"b\.json and .*a\.json: {duplicate} occurs twice"):
        read_locomo(tmp_path)


def test_a_question_id_that_occurs_twice_in_a_file(tmp_path: Path) -> None:
    sample = json.loads((visual_folder(tmp_path) / "benchmark.json").read_text())[0]
    sample["qa"].append(sample["qa"][-1])
    written(tmp_path, [sample], "benchmark.json")
    for read in (read_locomo, read_visual):
        with pytest.raises(BenchmarkError, match=r"benchmark\.json: question_id 'conv-1/g1/1' occurs twice"):
            read(tmp_path)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    write_json(tmp_path / "out.json", [SAMPLE])
    assert read_samples(tmp_path / "out.json") == [SAMPLE]
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]
    assert session_numbers(SAMPLE["conversation"]) == [1, 2]


# The merged visual set


def visual_folder(folder: Path) -> Path:
    (folder / "photos").mkdir()
    draw_teapot(folder / "photos" / "ab.png", 0)
    sample = changed()
    sample["conversation"]["session_2"][0]["photos"] = ["photos/ab.png"]
    sample["qa"].append(
        {"question_id": "conv-1/g1/1", "question": "What does Ben show?", "answer": "a teapot", "evidence": ["D2:1"],
         "accepted_answers": ["teapot"], "category": 9, "photos": ["photos/ab.png"], "source": "grammar"}
    )  # fmt: skip
    written(folder, [sample], "benchmark.json")
    return folder


def test_photos_of_turns_and_questions_are_found(tmp_path: Path) -> None:
    benchmark = read_visual(visual_folder(tmp_path))
    assert benchmark.name == "visual"
    (dialogue,) = benchmark.dialogues
    question = dialogue.questions[-1]
    assert (question.question_id, question.category) == ("conv-1/g1/1", "visual single-hop")
    assert question.accepted == ("teapot",)
    assert question.photos == (tmp_path / "photos" / "ab.png",)
    assert list(dialogue.turns)[2].photos[0].path == tmp_path / "photos" / "ab.png"


def test_a_missing_photo_or_a_plain_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="python -m data_synthesis"):
        read_visual(tmp_path)
    folder = visual_folder(tmp_path)
    (folder / "photos" / "ab.png").unlink()
    with pytest.raises(BenchmarkError, match=r"ab\.png of conv-1 is missing"):
        read_visual(folder)
    photo = draw_teapot(folder / "photos" / "ab.png", 0)
    read_visual(folder)
    photo.write_bytes(photo.read_bytes()[:-600])
    with pytest.raises(BenchmarkError, match=r"ab\.png of conv-1 cannot be decoded"):
        read_visual(folder)
    photo.write_bytes(b"no photo")
    with pytest.raises(BenchmarkError, match=r"ab\.png of conv-1 cannot be decoded"):
        read_visual(folder)
    with pytest.raises(BenchmarkError, match="no visual-centric question"):
        read_visual(written(tmp_path, [SAMPLE], "plain.json"))


# LongMemEval


def test_an_item_becomes_a_dialogue_in_the_order_of_time(tmp_path: Path) -> None:
    (dialogue,) = read_longmemeval(written(tmp_path, [ITEM])).dialogues
    assert [session.reference for session in dialogue.sessions] == ["early", "late"]
    (question,) = dialogue.questions
    assert (question.answer, question.evidence) == ("3", ("late:0",))
    assert question.evidence_sessions == ("early", "late")
    assert question.asked_at == datetime(2023, 6, 1, 10, tzinfo=UTC)
    times = [turn.said_at for turn in dialogue.turns]
    assert times == sorted(set(times))


def test_abstention_goes_by_the_id_and_without_marks_only_sessions_are_evidence(tmp_path: Path) -> None:
    item = copy.deepcopy(ITEM) | {"question_id": "q1_abs", "question_date": None}
    del item["haystack_sessions"][0][0]["has_answer"]
    (dialogue,) = read_longmemeval(written(tmp_path, [item])).dialogues
    (question,) = dialogue.questions
    assert (question.category, question.answer, question.asked_at) == ("abstention", None, None)
    assert question.evidence == () and question.evidence_sessions == ("early", "late")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"haystack_dates": ["2023/05/30 (Tue) 23:40"]}, "lists of the same length"),
        ({"haystack_dates": ["30.5.2023", "2023/05/20 (Sat) 02:21"]}, "'30.5.2023'"),
        ({"question_type": "riddle"}, "'riddle'"),
        ({"haystack_sessions": [[{"role": "user"}], []]}, "lacks 'role' or 'content'"),
        ({"haystack_sessions": None}, "must be lists"),
        ({"haystack_sessions": [None, []]}, "each session a list of turns"),
        ({"haystack_sessions": [["Hello."], []]}, "turn 0 of session 'late' is 'Hello.', not an object"),
        ({"question_id": 5}, "'question_id' is not a text: 5"),
        ({"question_date": "bad"}, "question_date 'bad' is not like"),
    ],
)
def test_a_broken_item_is_named_with_the_place(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    with pytest.raises(BenchmarkError, match="question 1") as raised:
        read_longmemeval(written(tmp_path, [copy.deepcopy(ITEM) | change]))
    assert words in str(raised.value)


def test_a_folder_with_one_file_is_read_and_the_same_question_twice_is_not(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="holds no LongMemEval file"):
        read_longmemeval(tmp_path)
    written(tmp_path, [ITEM], "oracle.json")
    written(tmp_path, {"not": "it"}, "other.json")
    assert len(read_longmemeval(tmp_path).dialogues) == 1
    written(tmp_path, [ITEM, ITEM], "small.json")
    with pytest.raises(BenchmarkError, match=r"2 LongMemEval files, oracle\.json, small\.json: name one"):
        read_longmemeval(tmp_path)
    with pytest.raises(BenchmarkError, match=r"question 2 and .*question 1: question_id 'q1' occurs twice"):
        read_longmemeval(tmp_path / "small.json")


# The real files


@needs(SHARED)
def test_the_real_files_are_read_as_their_readme_counts_them() -> None:
    benchmark = read_locomo(SHARED / "locomo")
    assert [(len(dialogue.sessions), len(list(dialogue.turns)), len(dialogue.questions)) for dialogue in benchmark.dialogues] == [
        (19, 419, 199), (32, 663, 193), (29, 629, 260), (28, 675, 158), (30, 681, 239), (25, 509, 196),
    ]  # fmt: skip
    counted = Counter(question.category for dialogue in benchmark.dialogues for question in dialogue.questions)
    assert counted == {"multi-hop": 188, "temporal": 203, "open-domain": 62, "single-hop": 520, "adversarial": 272}
    dropped = [
        text
        for dialogue in benchmark.dialogues
        for question in dialogue.questions
        for text in question.dropped_evidence
    ]
    assert dropped == ["D10:19", "D"]
    oracle = read_longmemeval(SHARED / "longmemeval" / "longmemeval_oracle_subset.json")
    assert len(oracle.dialogues) == 22
    assert sum(len(dialogue.sessions) for dialogue in oracle.dialogues) == 78
    assert sum(len(list(dialogue.turns)) for dialogue in oracle.dialogues) == 812
    assert parse_date("2023/05/30 (Tue) 23:40") == datetime(2023, 5, 30, 23, 40, tzinfo=UTC)
