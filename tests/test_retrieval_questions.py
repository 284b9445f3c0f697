"""Visual retrieval: photos that nobody has shown come with questions whose answers no eye can find in them."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from PIL import Image, ImageOps

from data_synthesis.accepted import DECLINES, says_too_little, with_noun
from data_synthesis.check_group import faults_of, rule_check
from data_synthesis.copies import copies_among
from data_synthesis.dates import accepted_days, days_text, right_answers, same_answer
from data_synthesis.group import GeneratedGroup, GroupRequest, Placement
from data_synthesis.group_answer import read_group
from data_synthesis.group_view import GroupView
from data_synthesis.groups import choose_groups
from data_synthesis.guesses import is_named_for_its_look
from data_synthesis.plan import plan_run
from data_synthesis.retrieval_questions import by_name, retrieval_questions
from data_synthesis.sources import read_concepts
from data_synthesis.validation import validate
from m2a.evaluation.answer_metrics import accepted_match
from tests.group_answers import GroupPrompt, good_answer
from tests.synthesis_runs import drawn_concepts, made, samples_of, small_locomo  # noqa: F401
from tests.synthesis_sources import draw_photo, make_concepts


def test_a_photo_is_kept_unseen_where_there_are_more_than_must_be_shown(concepts: Path, tmp_path: Path) -> None:
    for folder, left in ((concepts, 1), (make_concepts(tmp_path / "two", photos=2), 0)):
        for seed in range(10):
            for group in choose_groups(read_concepts(folder).concepts, 2, seed=seed, dialogue_id="conv-1"):
                for concept in group.concepts:
                    assert len(concept.unseen) == left and len(concept.photos) == 2
                    assert not {photo.path for photo in concept.unseen} & {photo.path for photo in concept.photos}


def test_a_set_without_spare_photos_has_no_question_of_the_kind(locomo: Path, tmp_path: Path) -> None:
    folder = make_concepts(tmp_path / "two", photos=2)
    made(plan_run(locomo, folder, groups=1, seed=2), tmp_path / "out")
    questions = [question for sample in samples_of(tmp_path / "out") for question in sample["qa"]]
    assert questions and not any(question["category"] == 10 or question["photos"] for question in questions)
    assert not validate(tmp_path / "out", locomo).faults


def test_photos_that_are_mirrored_or_saved_again_are_one_picture(tmp_path: Path) -> None:
    original, other = draw_photo(tmp_path / "1.png", 1), draw_photo(tmp_path / "2.png", 2)
    copies = [tmp_path / name for name in ("mirrored.png", "again.jpg", "larger.png")]
    with Image.open(original) as picture:
        for path, changed in zip(copies, (ImageOps.mirror(picture), picture, picture.resize((480, 360))), strict=True):
            changed.save(path)
    (tmp_path / "broken.png").write_bytes(b"no picture")
    assert copies_among([*copies, other, tmp_path / "broken.png"], [original]) == dict.fromkeys(copies, original)


def test_a_copy_of_a_shown_photo_comes_with_no_question(locomo: Path, tmp_path: Path) -> None:
    """The one photo that would be left of each concept is another one mirrored."""
    folder = make_concepts(tmp_path / "concepts")
    for subject in sorted(path for path in folder.iterdir() if path.is_dir()):
        with Image.open(subject / "00.jpg") as picture:
            for view in ("01", "02"):
                ImageOps.mirror(picture).save(subject / f"{view}.jpg", quality=70 + int(view))
    for requests in plan_run(locomo, folder, groups=1, seed=2).requests:
        assert not any(concept.unseen for request in requests for concept in request.group.concepts)


def with_unseen(concepts: Path) -> GroupRequest:
    (group,) = choose_groups(read_concepts(concepts).concepts, 1, seed=3, dialogue_id="conv-1")
    start = datetime(2023, 5, 1, 9)
    times = tuple(start + timedelta(days=6 * number) for number in range(1, 6))
    return GroupRequest("conv-1", ("Ann", "Ben"), group, Placement(1, start, start + timedelta(days=36), times), 7)


def written_by_a_model(request: GroupRequest) -> GeneratedGroup:
    names = [concept.name for concept in request.group.concepts]
    ids = iter(f"P{number}" for number in range(1, 20))
    photos = {concept.name: tuple(next(ids) for _ in concept.photos) for concept in request.group.concepts}
    every = (photo for concept in request.group.concepts for photo in concept.photos)
    settings = {f"P{number}": photo.setting for number, photo in enumerate(every, start=1)}
    days = tuple(time.date() for time in request.placement.times)
    prompt = GroupPrompt(request.speakers, days, photos, "", settings)
    assert list(prompt.photos) == names
    return read_group(good_answer(prompt), request)


def test_groups_of_a_model_are_asked_what_they_tell_with_photos_that_they_do_not_show(concepts: Path) -> None:
    request = with_unseen(concepts)
    group = written_by_a_model(request)
    questions = retrieval_questions(request, group.sessions)
    assert questions == retrieval_questions(request, group.sessions)
    assert faults_of(replace(group, questions=(*group.questions, *questions)), request) == []
    shown = {photo for session in group.sessions for turn in session for photo in turn.photos}
    assert [question.photos for question in questions] == [
        tuple(photo.path for photo in concept.unseen) for concept in request.group.concepts
    ]
    assert not shown & {photo for question in questions for photo in question.photos}
    kinds = {
        question.text
        for seed in range(20)
        for question in retrieval_questions(replace(request, seed=seed), group.sessions)
    }
    assert kinds == {
        "What is the one in this photo called?",
        "On which day was a picture of the one in this photo first shared?",
        "On which day was a picture of the one in this photo last shared?",
    }


def test_a_name_that_tells_what_it_looks_like_is_not_asked(concepts: Path) -> None:
    """Either it holds a word of the look or the kind, or it suggests one: a dog called Waffles may be told by its name."""
    request = with_unseen(concepts)
    group = written_by_a_model(request)
    view = GroupView(group, request)
    first, *others = request.group.concepts
    (name,) = by_name(first, view)
    question = name.asked_with(first.unseen[0].path)
    assert not list(by_name(replace(first, class_name=""), view))
    changes = ({}, {"class_name": first.name}, {"short_description": f"{first.name.lower()} lover"})
    for change in changes:
        concepts_now = (replace(first, **change), *others)
        changed = replace(request, group=replace(request.group, concepts=concepts_now))
        assert rule_check(GroupView(group, changed))(question) == (not change), change
    for word, look in (("Toffee", "brown hound"), ("Rosso", "crimson-red bag"), ("Chime", "yellow alarm clock")):
        assert is_named_for_its_look(replace(first, name=word, short_description=look))
        assert not is_named_for_its_look(replace(first, name=word, short_description="teal thing"))


def test_a_photo_without_a_question_is_not_in_the_folder(concepts: Path, locomo: Path, tmp_path: Path) -> None:
    made(plan_run(locomo, concepts, groups=1, seed=2), tmp_path / "out")
    kept = {f"photos/{file.name}" for file in (tmp_path / "out" / "photos").iterdir()}
    samples = samples_of(tmp_path / "out")
    groups = [group for sample in samples for group in sample["groups"]]
    unseen = {photo for group in groups for concept in group["concepts"] for photo in concept["unseen_photos"]}
    assert unseen == {photo for sample in samples for question in sample["qa"] for photo in question["photos"]}
    assert unseen and kept == unseen | {
        photo for group in groups for concept in group["concepts"] for photo in concept["photos"]
    }


def test_accepted_answers_make_no_refusal_and_no_other_number_right() -> None:
    for count in range(1, 30):
        assert not accepted_match(f"It took {count} weeks.", (days_text(count), *accepted_days(count))[:2])
        assert not any(map(says_too_little, accepted_days(count)))
    assert accepted_match(DECLINES[0], ["no"]) and not any(accepted_match(text, ["no collar"]) for text in DECLINES)
    assert [
        answer
        for answer in ("no", "None", "2", "Two", "6.5", "nothing", "no collar", "two horns")
        if says_too_little(answer)
    ] == [*("no", "None", "2", "Two", "6.5", "nothing")]
    assert with_noun(("two", "2", "twin bells"), "bells") == ("two bells", "2 bells", "twin bells")
    assert with_noun(("none", "no"), "collar") == ("no collar",)
    assert with_noun(("6.5", "3", "weak"), "alcohol") == ("weak",)


def test_an_accepted_day_or_number_is_one_of_the_forms_of_the_derivation() -> None:
    event, since = datetime(2023, 5, 7).date(), datetime(2023, 4, 26).date()
    dated, counted = right_answers(event, None), right_answers(event, since)
    assert (dated[0], counted[0]) == ("7 May 2023", "11 days")

    def right(text: str, forms: tuple[str, ...]) -> bool:
        return any(same_answer(text, form) for form in forms)

    for text in ("8 May", "13", "on May 8", "7 June", "7 May 2022", "11 days", "31 June 2023", "in spring", "May 2023"):
        assert not right(text, dated), text
    for text in ("on May 7th, 2023", "the 7th of May", "7th May 2023."):
        assert right(text, dated), text
    for text in ("13", "eleven", "a week", "7 May", "12 days", "the 11th", "quite some time"):
        assert not right(text, counted), text
    for text in ("11 days later", "Eleven days"):
        assert right(text, counted), text


def test_the_photo_of_a_question_is_one_of_its_concept(concepts: Path) -> None:
    request = with_unseen(concepts)
    group = written_by_a_model(request)
    (first, *_) = retrieval_questions(request, group.sessions)
    other = request.group.concepts[1].unseen[0].path
    swapped = replace(group, questions=(*group.questions, replace(first, photos=(other,), evidence=first.evidence[:1])))
    stranger = replace(group, questions=(*group.questions, replace(first, photos=(Path("elsewhere.jpg"),))))
    assert any(
        "no turn of its evidence shows" in fault or "does not say" in fault
        for fault in map(str, faults_of(swapped, request))
    )
    assert any("elsewhere.jpg is not an unseen photo" in fault for fault in map(str, faults_of(stranger, request)))
