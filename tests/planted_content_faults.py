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


@fault("question conv-1/g1/11", "photos", "is not an unseen photo of a concept of the group")
def question_with_a_photo_of_another_dialogue(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/11")["photos"] = [folder.question("conv-2/g1/11")["photos"][0]]


@fault("question conv-1/g1/11", "photos", "which D3:2 shows; use a photo that the dialogue never shows")
def question_with_a_photo_that_is_shown(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/11")["photos"] = folder.session(3)[1]["photos"]


@fault("question conv-1/g1/11", "answer", "its evidence does not say 'asleep', so that its photo alone might tell")
def question_that_its_photo_answers(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/11")["answer"] = "asleep"


@fault("conv-1, group 1", "photos", "of Doctor Marmalade is shown in no turn")
def chosen_photo_that_is_not_shown(folder: MergedFolder) -> None:
    turn = folder.session(6)[0]
    del turn["photos"], turn["img_url"]


@fault("session_3, turn 1 (D3:1)", "photos", "it shows", "which was not chosen")
def photo_that_was_not_chosen(folder: MergedFolder) -> None:
    photo = folder.question("conv-2/g1/11")["photos"][0]
    folder.session(3)[0] |= {"photos": [photo], "img_url": [photo]}


# Ratio and names


@fault("conv-1, group 1", "ratio", "3 of category 9", "must be 2:3:1:4")
def ratio_broken(folder: MergedFolder) -> None:
    folder.benchmark[0]["qa"].remove(folder.question("conv-1/g1/8"))


@fault("session_2, turn 1 (D2:1)", "names", "must name every concept", "missing: <Mochi>")
def concept_that_is_not_introduced(folder: MergedFolder) -> None:
    turn = folder.session(2)[0]
    turn["text"] = turn["text"].replace("<Mochi>", "my cat")


@fault("session_3, turn 2 (D3:2)", "names", "the speaker is 'A'; the speakers are Ann and Ben")
def lost_speaker(folder: MergedFolder) -> None:
    folder.session(3)[1]["speaker"] = "A"


@fault("conv-1, session_3", "names", "Ben speaks twice in a row")
def silent_speaker(folder: MergedFolder) -> None:
    for turn in folder.session(3):
        turn["speaker"] = "Ben"


@fault("session_3, turn 2 (D3:2)", "names", "'<sks>' is a placeholder")
def placeholder_in_a_turn(folder: MergedFolder) -> None:
    folder.session(3)[1]["text"] = "<sks> knocked over a vase yesterday."


@fault("question conv-1/g1/11", "names", "'<sks>' is a placeholder")
def placeholder_in_a_question(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/11")["question"] = "Where is <sks> in this photo?"


@fault("question conv-1/g1/11", "names", "it names Mochi; a question that comes with a photo")
def question_with_a_photo_that_names_its_concept(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/11")["question"] = "What did Mochi break?"


@fault("question conv-1/g1/12", "names", "without a photo must name its concept")
def question_with_neither_photo_nor_name(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/12")["question"] = "What was worn when I left? (Hat or Crown?)"


@fault("session_3, turn 2 (D3:2)", "names", "<Whiskers> is no concept")
def unknown_name(folder: MergedFolder) -> None:
    folder.session(3)[1]["text"] = "<Whiskers> knocked over a vase yesterday."


# Duplicates


@fault("question conv-1/g1/9", "schema", "its 'question_id'", "it must be 'conv-1/g1/9'")
def question_id_twice(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/9")["question_id"] = "conv-1/g1/8"


@fault("question conv-1/g1/9", "duplicates", "was asked before, as question 8")
def question_asked_twice(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/9")["question"] = folder.question("conv-1/g1/8")["question"].upper()


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


@fault("question conv-1/g1/5", "temporal", "must be '5 days'")
def wrong_number_of_days(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/5")["answer"] = "6 days"


@fault("question conv-1/g1/3", "temporal", "needs its derivation")
def no_derivation(folder: MergedFolder) -> None:
    del folder.question("conv-1/g1/3")["derivation"]


@fault("question conv-1/g1/3", "temporal", "D2:3 does not say 'last Sunday'")
def expression_that_nobody_says(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/3")["derivation"]["event"]["expression"] = "last Sunday"


@fault("question conv-1/g1/7", "answer", "the question contains the answer 'zigzag'")
def answer_in_the_question(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/7")["question"] += " Is it a Zigzag?"


@fault("question conv-1/g1/3", "temporal", "'28 April 2023' is accepted, but says something else")
def wrong_date_accepted(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/3")["accepted_answers"] = ["28 April 2023"]


@fault("question conv-1/g1/12", "answer", "is neither of its two options")
def answer_that_is_no_option(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/12")["answer"] = "Rain"


@fault("question conv-1/g1/3", "temporal", "'29 May' is accepted, but says something else")
def wrong_day_without_a_year_accepted(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/3")["accepted_answers"] = ["29 May"]


@fault("question conv-1/g1/5", "answer", "'5' is a bare number or stands in a refusal to answer")
def bare_number_accepted(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/5")["accepted_answers"] = ["5"]


@fault("question conv-1/g1/7", "answer", "'no' is a bare number or stands in a refusal to answer")
def refusal_accepted(folder: MergedFolder) -> None:
    folder.question("conv-1/g1/7")["accepted_answers"] = ["no"]


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
