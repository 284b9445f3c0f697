"""Concept sources and the choice of groups."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from data_synthesis.attributes import attribute_of
from data_synthesis.grammar.concept_looks import attribute_question
from data_synthesis.group import Attribute, SynthesisError
from data_synthesis.groups import choose_groups, distinct
from data_synthesis.plan import plan_run
from data_synthesis.sources import read_concepts
from tests.synthesis_runs import SHARED, drawn_concepts, made, needs_shared, samples_of, small_locomo  # noqa: F401
from tests.synthesis_sources import draw_photo, make_concepts


def test_a_folder_per_concept_needs_no_description(tmp_path: Path) -> None:
    for number in range(6):
        draw_photo(tmp_path / ("dog2" if number < 2 else "blue_tea-pot") / f"{number}.png", number)
    dog, teapot = sorted(read_concepts(tmp_path).concepts, key=lambda concept: -len(concept.subject))[::-1]
    assert (dog.name, dog.class_name, len(dog.photos)) == ("the dog", "dog", 2)
    assert (teapot.name, teapot.class_name, len(teapot.photos)) == ("the blue tea pot", "blue tea pot", 4)


def test_described_concepts_carry_their_details(concepts: Path) -> None:
    source = read_concepts(concepts)
    dog = next(concept for concept in source.concepts if concept.subject == "dog")
    assert source.name == "drawn" and len(source.files) == 8 * 3 + 1
    assert (dog.name, dog.live, dog.attributes[0].accepted) == ("Rosso", True, ("purple",))
    assert dog.photos[0].setting == "on a green bench" and dog.questions == ()


def test_a_described_concept_without_a_name_is_called_by_its_kind(concepts: Path) -> None:
    file = concepts / "concepts.json"
    details = json.loads(file.read_text(encoding="utf-8"))
    for subject in details["subjects"]:
        subject.pop("alias", None)
    file.write_text(json.dumps(details), encoding="utf-8")
    names = {concept.subject: concept.name for concept in read_concepts(concepts).concepts}
    assert names["dog"] == "the dog"


def yollava(folder: Path, file: Path | None = None) -> Path:
    """Yo'LLaVA's layout with drawn photos, and its own file of questions or a small one."""
    subjects = ("bo", "mam", "pig-cup", "tokyo-keyboard")
    questions = json.loads(file.read_text(encoding="utf-8")) if file else {
        subject: {
            f"./yollava-data/test/{subject}/{n}.png": {
                "question": "What is the color of <sks>?", "options": {"A": "Brown", "B": "Grey"}, "correct_answer": "A"
            } for n in range(2)
        } for subject in subjects
    }  # fmt: skip
    data = folder / "yollava-data"
    for place, subject in enumerate(subjects):
        for number, path in enumerate(sorted(questions[subject])):
            draw_photo(data / "test" / subject / Path(path).name, 20 * place + number)
        draw_photo(data / "train" / subject / "0.png", 200 + place)
    (data / "yollava-visual-qa.json").write_text(json.dumps(questions), encoding="utf-8")
    return folder


@pytest.mark.parametrize("real", [False, pytest.param(True, marks=needs_shared)])
def test_yollava_questions_name_the_concept_and_keep_both_options(tmp_path: Path, locomo: Path, real: bool) -> None:
    folder = yollava(tmp_path / "y", SHARED / "yollava" / "yollava-visual-qa.json" if real else None)
    plan = plan_run(locomo, folder, groups=1, seed=3)
    made(plan, tmp_path / "out")
    samples = samples_of(tmp_path / "out")
    questions = [(sample, q) for sample in samples for q in sample["qa"] if q["category"] == 10]
    names = {concept.name for concept in plan.source.concepts}
    own = [(sample, question) for sample, question in questions if question["source"] == "yollava-vqa"]
    assert plan.source.name == "yollava" and "Pig Cup" in names and len(own) >= 4
    for sample, question in own:
        assert "<sks>" not in question["question"] and any(name in question["question"] for name in names)
        assert question["question"].endswith("?)") and " or " in question["question"]
        assert question["answer"] in question["question"] and question["photos"] == []
        turns = {
            turn["dia_id"]: turn
            for turns in sample["conversation"].values()
            if isinstance(turns, list)
            for turn in turns
        }
        assert all(turns[reference]["photos"] for reference in question["evidence"])
    assert all(question["photos"] for _, question in questions if question["source"] != "yollava-vqa")


def test_mc_llava_layout_reads_both_forms_of_question(tmp_path: Path, locomo: Path) -> None:
    for part, subjects in (("two_concept", ("Alex", "Gloria")), ("three_concept", ("Marty", "ziqiao"))):
        for place, subject in enumerate(subjects):
            test = tmp_path / "mc" / part / "concept" / "test" / subject
            for number in range(2):
                draw_photo(test / f"{number}.png", 10 * place + number)
                draw_photo(
                    tmp_path / "mc" / part / "concept" / "train" / subject / f"{number}.png", 50 + 10 * place + number
                )
            draw_photo(test.parents[1] / "train" / subject / "0_mask.png", 1)
            choice = {
                f"/workspace/test/{subject}/0.png": {
                    "Human": f"What does <{subject}> wear?\nA. A hat\nB. A scarf\nC. A coat",
                    "AI": "B",
                }
            }
            free = {
                f"/workspace/test/{subject}/1.png": [
                    {"Human": f"<image>\nWhere is <{subject}>?", "AI": "At the beach."},
                    {"Human": "What is going on?", "AI": " ".join(["word"] * 30)},
                    {"Human": f"What does <{subject}> hold for <Nobody>?", "AI": "A ladder"},
                ]
            }
            (test / "choice.json").write_text(json.dumps(choice), encoding="utf-8")
            (test / "vqa.json").write_text(json.dumps(free), encoding="utf-8")
    source = read_concepts(tmp_path / "mc")
    alex = source.concepts[0]
    assert source.name == "mc-llava" and len(source.concepts) == 4 and len(alex.photos) == 4
    assert [(question.text, question.options, question.answer) for question in alex.questions] == [
        ("What does <sks> wear?", ("A hat", "A scarf", "A coat"), "A scarf"),
        ("Where is <sks>?", (), "At the beach"),
        ("What does <sks> hold for <Nobody>?", (), "A ladder"),
    ]
    outcome = made(plan_run(locomo, tmp_path / "mc", groups=1, seed=1), tmp_path / "out")
    assert len(outcome.made) == 2  # a question that names who is not of the group is not asked
    texts = [question["question"] for sample in samples_of(tmp_path / "out") for question in sample["qa"]]
    assert any("Where is " in text for text in texts) and not any("Nobody" in text for text in texts)


def lfs_pointer(folder: Path) -> None:
    (folder / "dog" / "00.jpg").write_text("version https://git-lfs.github.com/spec/v1\n", encoding="ascii")


def one_photo(folder: Path) -> None:
    (folder / "concepts.json").unlink()
    for photo in sorted((folder / "dog").iterdir())[1:]:
        photo.unlink()


def one_photo_twice(folder: Path) -> None:
    for view in ("01", "02"):
        (folder / "dog" / f"{view}.jpg").write_bytes((folder / "dog" / "00.jpg").read_bytes())


def renamed(folder: Path, old: str, new: str) -> None:
    text = (folder / "concepts.json").read_text(encoding="utf-8")
    (folder / "concepts.json").write_text(text.replace(f'"{old}"', f'"{new}"'), encoding="utf-8")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda folder: (folder / "dog" / "00.jpg").unlink(), "dog/00.jpg is not there"),
        (lambda folder: (folder / "dog" / "00.jpg").write_text("no photo"), "is not a JPEG, PNG or WebP photo"),
        (lfs_pointer, "git lfs pull"),
        (one_photo, "'dog' of .* has 1 photo; give it 2 or more"),
        (one_photo_twice, "'dog' of .* has 1 photo; give it 2 or more"),
        (lambda folder: renamed(folder, "Mango", "ROSSO"), "'dog' and 'lamp' .* have the same name"),
        (lambda folder: renamed(folder, "dog/00.jpg", "../../secret.jpg"), "which is not in"),
        (lambda folder: renamed(folder, "Rosso", "\\ud83d"), "cannot be read"),
        (lambda folder: (folder / "concepts.json").write_text("{"), "concepts.json is not JSON"),
        (lambda folder: (folder / "concepts.json").write_text('{"subjects": [{"alias": "X"}]}'), "subject 1 must be"),
    ],
)
def test_a_fault_in_the_concepts_is_one_sentence(tmp_path: Path, spoil: Callable[[Path], object], words: str) -> None:
    folder = make_concepts(tmp_path / "concepts")
    spoil(folder)
    with pytest.raises(SynthesisError, match=words):
        read_concepts(folder)


@needs_shared
def test_yollavas_texts_without_photos_say_where_the_photos_belong() -> None:
    with pytest.raises(SynthesisError, match=r"holds only the texts of Yo'LLaVA.*git lfs pull"):
        read_concepts(SHARED / "yollava")


def test_groups_are_distinct_seeded_and_share_no_concept(concepts: Path) -> None:
    source = read_concepts(concepts).concepts
    groups = choose_groups(source, 2, seed=5, dialogue_id="conv-1")
    assert groups == choose_groups(source, 2, seed=5, dialogue_id="conv-1")
    assert groups != choose_groups(source, 2, seed=6, dialogue_id="conv-1")
    subjects = [concept.subject for group in groups for concept in group.concepts]
    assert len(set(subjects)) == len(subjects)
    for seed in range(30):
        for group in choose_groups(source, 2, seed=seed, dialogue_id="conv-1"):
            assert len(group.concepts) in (3, 4)
            assert all(len(concept.photos) in (2, 3) for concept in group.concepts)
            assert all(distinct(a, b) for a in group.concepts for b in group.concepts if a is not b)
    with pytest.raises(SynthesisError, match=r"3 groups of 3 to 4 distinct concepts.*out of 8 concepts"):
        choose_groups(source, 3, seed=5, dialogue_id="conv-1")


def test_concepts_of_one_class_or_word_are_not_distinct(concepts: Path) -> None:
    dog, teapot = (
        next(c for c in read_concepts(concepts).concepts if c.subject == subject) for subject in ("dog", "teapot")
    )
    assert distinct(dog, teapot)
    assert not distinct(dog, replace(teapot, class_name="Dog"))
    assert not distinct(replace(dog, subject="pig-cup"), replace(teapot, subject="cat-cup", class_name=""))


@pytest.mark.parametrize(
    ("value", "clean", "seen_on"),
    [
        ("bluish tongue (seen in 00, 03 and 05)", "bluish tongue", "00 03 05"),
        ("a card on the collar (a red heart is visible in 02)", "a card on the collar", ""),
        ("sitting in every photo", "sitting", ""),
        ("mouth open in 03", "mouth open", "03"),
        ("two black wheels (hidden in 01)", "two black wheels", "00 02 03 04 05"),
        ("orange (ginger) tabby", "orange (ginger) tabby", ""),
    ],
)
def test_notes_about_single_photos_become_the_photos_that_show_it(value: str, clean: str, seen_on: str) -> None:
    photos = [Path(f"dog/{number:02}.jpg") for number in range(6)]
    attribute = attribute_of("tail_tip", value, ["2", "no"], photos)
    assert (attribute.value, attribute.accepted) == (clean, ("no tip",))
    assert " ".join(photo.stem for photo in attribute.photos) == seen_on


@pytest.mark.parametrize(
    ("key", "question"),
    [
        ("toes", "How would you describe the toes of {N}?"),
        ("has_whiskers", "How would you describe the whiskers of {N}?"),
        ("height_look", "How would you describe the height of {N}?"),
        ("trim_colour", "What is the [colour|color] of the trim of {N}?"),
        ("color", "What is the [colour|color] of {N}?"),
        ("overall_colour", "What is the overall [colour|color] of {N}?"),
    ],
)
def test_an_attribute_of_any_key_can_be_asked(key: str, question: str) -> None:
    assert attribute_question(Attribute(key, "small")) == question
