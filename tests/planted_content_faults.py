"""Faults in photos, names, words and answers to plant in a good merged folder; see `planted_faults`."""

import hashlib
import re

from PIL import Image

from tests.merged_folder import MergedFolder
from tests.planted_faults import fault, rename

# Photos


@fault("session_2, turn 1 (D2:1)", "photos", "the file is not there")
def missing_photo(folder: MergedFolder) -> None:
    (folder.path / folder.session(2)[0]["photos"][0]).unlink()


@fault("session_2, turn 1 (D2:1)", "photos", "by its bytes its name must be")
def photo_with_other_bytes(folder: MergedFolder) -> None:
    with (folder.path / folder.session(2)[0]["photos"][0]).open("ab") as file:
        file.write(b"\0")


@fault("photos", "it cannot be decoded")
def photo_that_is_no_picture(folder: MergedFolder) -> None:
    content = b"\xff\xd8\xff\xe0 no picture"
    old, new = folder.session(2)[0]["photos"][0], f"photos/{hashlib.sha256(content).hexdigest()}.jpg"
    (folder.path / old).unlink()
    (folder.path / new).write_bytes(content)
    rename(folder, old, new)


@fault("photos", "by its bytes its name must be", ".png")
def png_named_jpg(folder: MergedFolder) -> None:
    old = next(name for name in folder.benchmark[0]["groups"][0]["concepts"][0]["photos"] if name.endswith("png"))
    new = old.replace(".png", ".jpg")
    (folder.path / old).rename(folder.path / new)
    rename(folder, old, new)


@fault("photos", "outside.png", "by its bytes its name must be")
def photo_outside_the_folder(folder: MergedFolder) -> None:
    Image.new("RGB", (8, 8)).save(folder.path.parent / "outside.png")
    rename(folder, folder.session(2)[0]["photos"][0], "photos/../../outside.png")


@fault("photos/spare.jpg: [photos] no turn shows this file, and no question comes with it")
def photo_that_nobody_shows(folder: MergedFolder) -> None:
    (folder.path / "photos" / "spare.jpg").write_bytes(b"spare")


@fault("question conv-1/g1/11", "photos", "which D3:2 shows; use a photo that the dialogue never shows")
def question_with_a_photo_that_is_shown(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/11")["photos"] = folder.session(3)[1]["photos"]


# Ratio and names


@fault("conv-1, group 1", "ratio", "3 of category 9", "must be 2:3:1:4")
def ratio_broken(folder: MergedFolder) -> None:
    folder.benchmark[0]["qa"].remove(folder.question("conv-1/g1/8"))


@fault("conv-1, session_3", "names", "Ben speaks twice in a row")
def silent_speaker(folder: MergedFolder) -> None:
    for turn in folder.session(3):
        turn["speaker"] = "Ben"


# Duplicates


@fault("question conv-1/g1/9", "schema", "its 'question_id'", "it must be 'conv-1/g1/9'")
def question_id_twice(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/9")["question_id"] = "conv-1/g1/8"


@fault("session_6, turn 3 (D6:3)", "duplicates", "was said before", "D4:5")
def sentence_said_twice(folder: MergedFolder) -> None:
    folder.session(6)[2]["text"] = "Well! " + folder.session(4)[4]["text"]


@fault("conv-1", "duplicates", "the sample_id 'conv-1' occurs again")
def sample_twice(folder: MergedFolder) -> None:
    folder.benchmark.append(folder.benchmark[0])


# Answers


@fault("question conv-1/g1/3", "temporal", "'1 May 2023'", "must be '29 April 2023'")
def wrong_temporal_answer(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/3")["answer"] = "1 May 2023"


@fault("question conv-1/g1/3", "temporal", "'28 April 2023' is accepted, but says something other")
def wrong_date_accepted(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/3")["accepted_answers"] = ["28 April 2023"]


# Leakage


@fault("leakage", "answered by BM25 over the text: ", "without the photos")
def answers_told_in_the_text(folder: MergedFolder) -> None:
    for number in (1, 2, 6, 7, 8, 9, 10, 11, 12):
        question = folder.question(f"conv-1/g1/{number}")
        place = re.fullmatch(r"D(\d+):(\d+)", question["evidence"][0])
        assert place
        folder.session(int(place[1]))[int(place[2]) - 1]["text"] += f" {question['question']} {question['answer']}!"


@fault("leakage", "answered by a guess from the question alone: ", "without the photos")
def the_same_answer_again_and_again(folder: MergedFolder) -> None:
    for sample in folder.benchmark:
        for question in sample["qa"]:
            if question["category"] in (9, 6):
                question["answer"] = "a lighthouse"
                question["question"] = f"What else, apart from that: {question['question']}"
