"""Faults to plant in a good merged folder, one at a time, and the words by which the report must name each."""

import json
from collections.abc import Callable
from typing import Any

from tests.merged_folder import MergedFolder

Plant = Callable[[MergedFolder], None]

FAULTS: dict[str, tuple[Plant, tuple[str, ...]]] = {}


def fault(*words: str) -> Callable[[Plant], Plant]:
    """The name of the function is the name of the fault; one line of the report must contain all `words`."""

    def enter(plant: Plant) -> Plant:
        FAULTS[plant.__name__] = (plant, words)
        return plant

    return enter


def conversation(folder: MergedFolder, sample: int = 0) -> dict[str, Any]:
    return folder.benchmark[sample]["conversation"]


def rename(folder: MergedFolder, old: str, new: str) -> None:
    """Renames a photo's path everywhere in the benchmark."""
    folder.benchmark = json.loads(json.dumps(folder.benchmark).replace(old, new))


# Schema


@fault("benchmark.json", "schema", "not JSON", "line 1")
def broken_json(folder: MergedFolder) -> None:
    (folder.path / "benchmark.json").write_text("[{", encoding="utf-8")


@fault("benchmark.json", "schema", "not there")
def no_benchmark(folder: MergedFolder) -> None:
    (folder.path / "benchmark.json").unlink()


@fault("benchmark.json, conv-1, session_3, turn 2 (D3:2)", "schema", "'text' is missing")
def turn_without_text(folder: MergedFolder) -> None:
    del folder.session(3)[1]["text"]


@fault("session_3, turn 2 (D3:2)", "schema", "'speaker' is missing")
def misspelt_key(folder: MergedFolder) -> None:
    turn = folder.session(3)[1]
    turn["photo"] = turn.pop("speaker")


@fault("session_2, turn 1 (D2:1)", "schema", "its 'blip_caption' is 'a red backpack'; it must be absent")
def caption_that_gives_the_photo_away(folder: MergedFolder) -> None:
    folder.session(2)[0]["blip_caption"] = "a red backpack"


@fault("session_2, turn 1 (D2:1)", "schema", "its 'img_url' is", "it must be")
def image_address_of_another_photo(folder: MergedFolder) -> None:
    folder.session(2)[0]["img_url"] = folder.session(2)[4]["photos"]


@fault("question conv-1/g1/7", "schema", "'category' is 11")
def unknown_category(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/7")["category"] = 11


@fault("question conv-1/g1/7", "schema", "'category_name'", "visual single-hop")
def wrong_category_name(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/7")["category_name"] = "single-hop"


@fault("question conv-1/g1/7", "schema", "'source' is 'elsewhere'")
def unknown_source(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/7")["source"] = "elsewhere"


@fault("question conv-1/1", "host", "'source' is 'hand'")
def host_question_of_another_source(folder: MergedFolder) -> None:
    folder.question("conv-1/1")["source"] = "hand"


@fault("question conv-2/g1/8", "schema", "'answer' is 3: input should be a valid string")
def answer_that_is_a_number(folder: MergedFolder) -> None:
    folder.question("conv-2/g1/8")["answer"] = 3


@fault("question conv-2/g1/8", "answer", "the answer is empty")
def empty_answer(folder: MergedFolder) -> None:
    folder.question("conv-2/g1/8")["answer"] = " "


@fault("run.json", "schema", "must be an object")
def run_that_is_a_list(folder: MergedFolder) -> None:
    folder.run = []


# Order and times


@fault("conv-1, session_4, its date", "time", "it must be")
def sessions_out_of_order(folder: MergedFolder) -> None:
    talk = conversation(folder)
    keys = "session_3_date_time", "session_4_date_time"
    talk[keys[0]], talk[keys[1]] = talk[keys[1]], talk[keys[0]]


@fault("conv-1, session_8, its date", "host", "LoCoMo has")
def host_sessions_at_one_time(folder: MergedFolder) -> None:
    conversation(folder)["session_8_date_time"] = conversation(folder)["session_7_date_time"]


@fault(
    "conv-1, session_4", "time", "its date: [time] it is '1:01 pm on 7 May, 2023'; it must be '1:00 pm on 7 May, 2023'"
)
def inserted_session_a_minute_late(folder: MergedFolder) -> None:
    conversation(folder)["session_4_date_time"] = "1:01 pm on 7 May, 2023"


@fault("conv-1, group 1", "time", "its 'start' is '2023-05-01T12:00:00+00:00'; it must be '2023-05-01T13:00:00+00:00'")
def gap_that_starts_elsewhere(folder: MergedFolder) -> None:
    folder.benchmark[0]["groups"][0]["start"] = "2023-05-01T12:00:00+00:00"


@fault(
    "conv-1, group 1", "time", "its 'times' is", "2023-05-05T18:00:00+00:00", "it must be", "2023-05-05T13:00:00+00:00"
)
def time_that_does_not_follow(folder: MergedFolder) -> None:
    folder.benchmark[0]["groups"][0]["times"][1] = "2023-05-05T18:00:00+00:00"


@fault("conv-1", "time", "session_4_date_time is 'last Sunday'")
def date_in_other_words(folder: MergedFolder) -> None:
    conversation(folder)["session_4_date_time"] = "last Sunday"


# Numbering and groups


@fault("conv-1, session_4, turn 2", "numbering", "'D4:7'", "must be 'D4:2'")
def misnumbered_turn(folder: MergedFolder) -> None:
    folder.session(4)[1]["dia_id"] = "D4:7"


@fault("conv-1, session_4, turn 2", "numbering", "'D4:1'", "must be 'D4:2'")
def turn_number_twice(folder: MergedFolder) -> None:
    folder.session(4)[1]["dia_id"] = "D4:1"


@fault("conv-1, session_8, turn 1 (D8:1)", "host", "it is missing; LoCoMo has")
def gap_in_the_numbers(folder: MergedFolder) -> None:
    talk = conversation(folder)
    talk["session_9"], talk["session_9_date_time"] = talk.pop("session_8"), talk.pop("session_8_date_time")


@fault("conv-1, group 1", "groups", "has 2 concepts")
def group_of_two(folder: MergedFolder) -> None:
    folder.benchmark[0]["groups"][0]["concepts"].pop()


@fault("conv-1, group 1", "groups", "Mochi has 1 photos")
def concept_with_one_photo(folder: MergedFolder) -> None:
    folder.benchmark[0]["groups"][0]["concepts"][1]["photos"].pop()


@fault("question conv-1/g1/7", "groups", "its group 3 does not exist")
def question_of_no_group(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/7")["group"] = 3


@fault("question conv-1/g1/12", "schema", "its 'question_id'", "it must be 'conv-1/g1/12'")
def question_id_of_another_dialogue(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/12")["question_id"] = "conv-2/g1/33"


# Evidence


@fault("question conv-1/g1/7", "evidence", "D3:99, which does not exist")
def evidence_that_does_not_exist(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/7")["evidence"] = ["D3:99"]


@fault("question conv-1/g1/7", "truth", "neither what is stated of its photos nor its evidence says 'zigzag'")
def no_evidence(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/7")["evidence"] = []


@fault("question conv-1/g1/7", "evidence", "D7:1, which does not exist in the group's sessions")
def evidence_in_the_host(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/7")["evidence"] = ["D7:1"]


@fault("question conv-1/1", "host", "its 'evidence' is ['D2:1']; LoCoMo has")
def host_evidence_in_an_inserted_session(folder: MergedFolder) -> None:
    folder.question("conv-1/1")["evidence"] = ["D2:1"]


@fault("question conv-1/g1/6", "photo need", "it can be answered without a photo")
def question_about_something_else(folder: MergedFolder) -> None:
    question = folder.question("conv-1/g1/6")
    question["question"], question["evidence"] = "Who was worth so little?", ["D3:3"]
