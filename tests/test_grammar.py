"""The grammar generator: valid groups whose answers hold by construction, in words that no other group has."""

import json
import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from statistics import mean

import pytest

import data_synthesis.classes as classes
import data_synthesis.grammar as grammar
from data_synthesis.check_group import faults_of
from data_synthesis.dates import expressions_in, resolve
from data_synthesis.grammar import GrammarGenerator
from data_synthesis.grammar.concept_looks import suits_hour
from data_synthesis.grammar.layout import sessions_of
from data_synthesis.grammar.plan import plan_of
from data_synthesis.grammar.questions import questions_of
from data_synthesis.grammar.script import Script
from data_synthesis.group import (
    Attribute,
    ConceptGroup,
    ConceptPhoto,
    GeneratedGroup,
    GroupRequest,
    PersonalConcept,
    Placement,
    VisualQuestion,
)
from data_synthesis.voices import Voice
from data_synthesis.wording import answer_given_away, contains_phrase, long_sentences
from tests.bench.grammar import DREAMBOOTH, LOCOMO, figures, generated, requests_of, words_of
from tests.requirements import needs

TEXTS = Path(grammar.__file__).parent / "text"
SPEAKERS = ("Caroline", "Melanie")
START = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
DOG = PersonalConcept(
    "dog", "Rosa", "dog",
    (
        ConceptPhoto(Path("dog/0.jpg"), "on a mossy rock", "standing on a mossy rock"),
        ConceptPhoto(Path("dog/1.jpg"), "under a brass lamp", "asleep under a brass lamp"),
        ConceptPhoto(Path("dog/2.jpg"), "by a tiled fountain", "drinking by a tiled fountain"),
    ),
    live=True,
    short_description="shaggy ginger hound",
    attributes=(Attribute("coat", "shaggy ginger", ("ginger",)), Attribute("nose_colour", "liver pink", ("pink",))),
)  # fmt: skip
CLOCK = PersonalConcept(
    "clock", "Tick", "clock",
    (
        ConceptPhoto(Path("clock/0.jpg"), "on a mossy rock by a stile"),
        ConceptPhoto(Path("clock/1.jpg"), "in a copper pan"),
    ),
    short_description="violet alarm clock",
    attributes=(Attribute("main_colour", "violet", ("purple",)),),
    questions=(VisualQuestion(Path("clock/1.jpg"), "What is <sks> lying in?", ("A copper pan", "A drawer"), "A copper pan"),),
)  # fmt: skip

TERRIER = PersonalConcept(
    "terrier", "Bruno", "dog",
    (
        ConceptPhoto(Path("terrier/0.jpg"), "in a wicker basket", "curled up in a wicker basket"),
        ConceptPhoto(Path("terrier/1.jpg"), "beside a striped tent", "sitting beside a striped tent"),
        ConceptPhoto(Path("terrier/2.jpg"), "on a wooden jetty", "standing on a wooden jetty"),
    ),
    live=True,
    short_description="smooth grey terrier",
    attributes=(Attribute("coat", "smooth grey", ("grey",)),),
)  # fmt: skip


def bare(name: str, photos: int = 2) -> PersonalConcept:
    """Returns a concept with photos and no attributes; one photo is never shown."""
    shown = tuple(ConceptPhoto(Path(f"{name}/{n}.jpg")) for n in range(photos))
    return PersonalConcept(name, name, "", shown, unseen=(ConceptPhoto(Path(f"{name}/unseen.jpg")),))


def request(
    *concepts: PersonalConcept,
    dialogue_id: str = "conv-1",
    number: int = 1,
    seed: int = 7,
    sessions: int = 6,
    start: datetime = START,
    step: timedelta = timedelta(days=3, hours=5),
):
    times = tuple(start + step * number for number in range(1, sessions + 1))
    placement = Placement(1, start, start + step * (sessions + 1), times)
    return GroupRequest(dialogue_id, SPEAKERS, ConceptGroup(number, concepts), placement, seed)


@cache
def ordinary(seed: int) -> tuple[GroupRequest, GeneratedGroup]:
    """Returns a request and its group, which several tests look at."""
    group_request = request(DOG, CLOCK, bare("Kolo"), dialogue_id=f"conv-{seed}", seed=seed)
    [group] = generated([group_request])
    return group_request, group


BARE = (bare("Zubo", 3), bare("Wexa"), bare("Kolo"))
GROUPS = {"known": (DOG, CLOCK, bare("Kolo")), "bare": BARE, "four": (DOG, CLOCK, bare("Kolo"), bare("Wexa", 3))}


@pytest.mark.parametrize("sessions", [5, 6])
@pytest.mark.parametrize("concepts", GROUPS.values(), ids=GROUPS)
def test_groups_are_valid_whatever_is_known_of_the_concepts(concepts, sessions):
    for seed in range(3):
        group_request = request(*concepts, dialogue_id=f"conv-{seed}", seed=seed, sessions=sessions)
        assert faults_of(generated([group_request])[0], group_request) == []


def attributed(name: str, class_name: str, look: str, **attributes: str) -> PersonalConcept:
    """Returns a concept whose photos have no known setting."""
    photos = tuple(ConceptPhoto(Path(f"{name}/{n}.jpg")) for n in range(3))
    stated = tuple(Attribute(key, value) for key, value in attributes.items())
    return PersonalConcept(name, name, class_name, photos, short_description=look, attributes=stated)


def test_photos_without_places_are_told_by_looks_and_asked_about_in_the_ratio():
    group_request = request(
        attributed("Rosa", "dog", "shaggy ginger hound", ears="long ears", collar_tag="a tin star", eye_colour="hazel"),
        attributed(
            "Tick", "clock", "violet alarm clock", bells="two copper bells", dial="a cream dial", foot="a cork foot"
        ),
        attributed("Kolo", "kettle", "dented enamel kettle", spout="a bent spout", lid="a glass lid", rim="a teal rim"),
    )
    for group in (generated([replace(group_request, seed=seed)])[0] for seed in range(4)):
        counts = Counter(question.category for question in group.questions)
        assert not group.retrieval_only and counts[8] in (1, 2)
        missing = sum(counts[8] * share for share in (2, 3, 1, 4)) - sum(counts[n] for n in (6, 7, 8, 9))
        assert missing <= counts[8], counts


def test_what_the_rest_of_the_dialogue_tells_of_a_concept_is_not_asked():
    group_request = request(DOG, CLOCK, bare("Kolo"))
    answers = {q.answer for seed in range(3) for q in generated([replace(group_request, seed=seed)])[0].questions}
    assert "liver pink" in answers
    informed_request = replace(group_request, texts_elsewhere=("Rosa has a liver pink nose.",))
    for group in (generated([replace(informed_request, seed=seed)])[0] for seed in range(3)):
        assert "liver pink" not in {question.answer for question in group.questions}


def test_where_little_is_known_visual_retrieval_alone_is_asked():
    sparse_concept = replace(bare("Zubo", 3), attributes=(Attribute("coat", "shaggy"),))
    group_request = request(sparse_concept, bare("Wexa"), bare("Kolo"))
    group = generated([group_request])[0]
    assert group.retrieval_only and {question.category for question in group.questions} == {10}
    assert faults_of(group, group_request) == []


def test_a_thing_called_by_its_kind_is_neither_named_twice_nor_asked_by_its_class():
    group_request = request(replace(DOG, name="the dog"), replace(CLOCK, name="the clock"), bare("Kolo"))
    for group in (generated([replace(group_request, seed=seed)])[0] for seed in range(4)):
        assert not re.search(r"(my|your) \w+ <the", group.sessions[0][0].text)
        assert not any("species" in question.text or "kind of thing" in question.text for question in group.questions)


async def test_equal_requests_give_equal_groups_and_other_seeds_others():
    first, repeated, other = [
        await GrammarGenerator().generate(request(DOG, CLOCK, bare("Kolo"), seed=seed)) for seed in (1, 1, 2)
    ]
    assert first == repeated
    assert first.sessions != other.sessions


def test_what_a_photo_tells_is_not_told_in_its_turn():
    secrets = {
        "dog": {"mossy", "brass", "tiled", "fountain", "shaggy", "ginger", "liver"},
        "clock": {"mossy", "violet"},
    }
    for seed in range(10):
        _, group = ordinary(seed)
        for turn in (turn for session in group.sessions for turn in session):
            for photo in turn.photos:
                assert secrets.get(photo.parent.name, set()).isdisjoint(words_of(turn.text))


def test_the_class_behind_an_open_domain_question_is_not_named():
    group = generated([request(DOG, TERRIER, bare("Kolo"))])[0]
    open_domain = [question for question in group.questions if question.category == 8]
    assert len(open_domain) == 2
    texts = [turn.text for session in group.sessions for turn in session] + [question.text for question in open_domain]
    assert {"dog", "dogs", "puppy"}.isdisjoint(word for text in texts for word in words_of(text))


def test_places_in_answers_are_those_of_the_photos_in_the_evidence():
    settings = {photo.setting: photo.path for concept in (DOG, CLOCK) for photo in concept.photos}
    place_answers = 0
    for seed in range(10):
        _, group = ordinary(seed)
        for question in group.questions:
            if question.answer in settings:
                assert settings[question.answer] in shown_in(group, question.evidence)
                place_answers += 1
    assert place_answers > 20


def test_the_evidence_says_of_whom_something_is_told():
    text_count = 0
    for seed in range(10):
        _, group = ordinary(seed)
        for question in group.questions:
            turns = [group.sessions[place.session - 1][place.turn - 1] for place in question.evidence]
            texts = [turn.text for turn in turns if not turn.photos]
            assert not texts or any(
                contains_phrase(text, name) for text in texts for name in ("Rosa", "Tick", "Kolo")
            ), question
            text_count += bool(texts)
    assert text_count > 30


def test_a_correction_decides_the_answer():
    corrected = 0
    for seed in range(10):
        group_request, group = ordinary(seed)
        for question in group.questions:
            if question.category != 7:
                continue
            turns = {place: group.sessions[place.session - 1][place.turn - 1] for place in question.evidence}
            dating = [place for place, turn in turns.items() if expressions_in(turn.text) and not turn.photos]
            if len(dating) == 2 and len(turns) == 3:
                (event,) = [one for one in question.derivation.events if one.place in dating]
                (shown,) = [place for place, turn in turns.items() if turn.photos]
                assert event.place == max(dating, key=lambda place: place.session)
                times = group_request.placement.times
                day = resolve(event.expression, times[event.place.session - 1].date())
                assert question.answer.split()[0] == str(abs((times[shown.session - 1].date() - day).days))
                corrected += 1
    assert corrected > 5


def test_photos_are_asked_about_with_options_from_the_concept_set():
    group_request = request(DOG, CLOCK, bare("Kolo"))
    group = generated([group_request])[0]
    (options,) = [question for question in group.questions if "What is Tick lying in?" in question.text]
    assert options.answer == "A copper pan" and "A drawer" in options.text
    (place,) = options.evidence
    assert shown_in(group, [place]) == {Path("clock/1.jpg")} and options.photos == ()
    day = group_request.placement.times[place.session - 1]
    assert options.text.startswith(f"About the photo of Tick that was shared on {day.day} {day:%B %Y}: ")


def test_who_has_no_unseen_photo_is_asked_nothing_that_needs_one():
    """Of the dog none is left, of the bare concept one: it has two questions, with that photo."""
    left = ConceptPhoto(Path("Kolo/9.jpg"))
    group = generated([request(DOG, CLOCK, replace(bare("Kolo"), unseen=(left,)))])[0]
    with_photo = [question for question in group.questions if question.photos]
    assert [question.photos for question in with_photo] == [(left.path,)] * 2
    assert all("Kolo" not in question.text and "the one in this photo" in question.text for question in with_photo)


def test_what_is_asked_with_a_photo_is_told_and_not_shown():
    """Givers as corrected, nicknames with the turn that says them, names and dates."""
    asked_of: Counter[str] = Counter()
    for seed in range(10):
        unseen = [tuple(ConceptPhoto(Path(f"{name}/{n}.jpg"), "in the snow") for n in (7, 8)) for name in "abc"]
        concepts = [
            replace(concept, unseen=own)
            for concept, own in zip((DOG, CLOCK, replace(bare("Kolo"), class_name="vase")), unseen, strict=True)
        ]
        group_request = request(*concepts, dialogue_id=f"conv-{seed}", seed=seed)
        group = generated([group_request])[0]
        assert faults_of(group, group_request) == []
        for question in (question for question in group.questions if question.photos):
            asked_of[" ".join(question.text.split()[:4])] += 1
            (owner,) = [
                concept for concept in concepts if question.photos[0] in [photo.path for photo in concept.unseen]
            ]
            assert shown_in(group, question.evidence) >= {photo.path for photo in owner.photos}
            if question.text.startswith("Whom does"):
                texts = [group.sessions[at.session - 1][at.turn - 1].text for at in question.evidence]
                assert question.answer in " ".join(texts) and owner.name in " ".join(texts)
    assert set(asked_of) == {
        *("What is the one", "On which day was", "Whom does Caroline have"),
        "By what nickname is",
    }


def test_what_only_one_story_could_answer_is_not_asked():
    """Else the words alone would give the answer, and the photo would not be needed."""
    asked = Counter[str]()
    for seed in range(10):
        concepts = [
            replace(one, unseen=(ConceptPhoto(Path(f"{one.name}/8.jpg")),))
            for one in (DOG, CLOCK, replace(bare("Kolo"), class_name="vase"))
        ]
        group_request = request(*concepts, dialogue_id=f"conv-{seed}", seed=seed)
        script = Script(plan_of(group_request))
        facts, sessions = script.facts, sessions_of(script)
        for question in questions_of(script, sessions):
            if match := re.match(r"Whom does (\w+) have to thank", question.text):
                owner = SPEAKERS.index(match[1])
                origins = [one for one in facts.statements if one.kind == "origin" and one.member.owner == owner]
                (told,) = [one for one in origins if one.answer == question.answer]
                assert any(told.member.kind in one.told_of for one in origins if one is not told), question
                asked["origin"] += 1
            elif re.match(r"By what (nick|other )name", question.text):
                assert len(facts.nicknames) > 1, question
                asked["nickname"] += 1
    assert min(asked["origin"], asked["nickname"]) > 2, asked


def test_questions_do_not_answer_one_another():
    for seed in range(10):
        _, group = ordinary(seed)
        places = [question for question in group.questions if question.category in (6, 9)]
        for question in places:
            others = [other.text for other in group.questions if other is not question]
            given = [text for text in others if answer_given_away(text, (question.answer,))]
            assert len(words_of(question.answer)) < 3 or not given


def test_facts_of_classes_have_sources_and_do_not_name_the_class():
    table = json.loads((Path(classes.__file__).with_name("class_facts.json")).read_text(encoding="utf-8"))
    dreambooth = (
        "backpack|stuffed animal|bowl|can|candle|cat|clock|sneaker|dog|toy|boot|glasses|cartoon|teapot|vase".split("|")
    )
    for name in dreambooth:
        facts = table["classes"][name]["facts"]
        assert all("{N}" in fact["ask"] and fact["answer"] and "http" in fact["source"] for fact in facts)
        assert all(name not in words_of(fact["ask"].replace("{N}", "")) or name == "can" for fact in facts)
    assert set(table["synonyms"].values()) <= set(table["classes"])


def test_groups_of_bare_concepts_hardly_repeat_each_other():
    requests = [
        request(
            bare(f"Zubo{n}{m}", 3), bare(f"Wexa{n}{m}"), bare(f"Kolo{n}{m}"), dialogue_id=f"conv-{n}", number=m, seed=n
        )
        for n in (26, 41, 42, 44, 48, 49)
        for m in (1, 2)
    ]
    groups = generated(requests)
    assert [faults_of(group, group_request) for group, group_request in zip(groups, requests, strict=True)] == [[]] * 12
    texts = [turn.text for group in groups for session in group.sessions for turn in session]
    sentences = Counter(sentence for text in texts for sentence in long_sentences(text))
    assert len(sentences) > 700
    assert sum(count > 1 for count in sentences.values()) <= len(sentences) * 0.05


def test_speakers_write_as_they_do_in_the_rest_of_the_conversation():
    """Of two hosts one is brief and hardly uses names, the other is not."""
    brief = Voice(lengths=(5, 6, 7), naming=0.02, openings=(("yeah", 0.3),))
    long = Voice(lengths=(35, 40, 45), naming=0.6, openings=(("thanks", 0.3), ("wow", 0.3)))
    requests = [
        replace(request(DOG, CLOCK, bare("Kolo"), dialogue_id=f"conv-{n}", seed=n), voices=(brief, long))
        for n in range(6)
    ]
    turns = [turn for group in generated(requests) for session in group.sessions for turn in session]
    texts = [[turn.text for turn in turns if turn.speaker == speaker] for speaker in SPEAKERS]
    lengths = [mean(len(text.split()) for text in own) for own in texts]
    naming = [mean(other in text for text in own) for own, other in zip(texts, SPEAKERS[::-1], strict=True)]
    assert lengths[0] < lengths[1] * 0.8
    assert naming[0] < 0.1 < 0.3 < naming[1]


def test_what_goes_on_takes_its_time_and_fits_the_season():
    """A second step of somebody's life comes no sooner than it can, and there is no garden in winter."""
    life = {story["id"]: story for story in json.loads((TEXTS / "life.json").read_text(encoding="utf-8"))}
    steps = 0
    for seed in range(12):
        group_request = request(DOG, CLOCK, bare("Kolo"), dialogue_id=f"conv-{seed}", seed=seed)
        plan = plan_of(group_request)
        passages = [passage for session in plan.sessions for passage in session if passage.kind == "life"]
        for before, after in ((old, new) for old in passages for new in passages if old.helper is new.helper):
            stages = next(story["stages"] for story in life.values() if before.template in story["stages"])
            if stages.index(after.template) == stages.index(before.template) + 1:
                days = (plan.dates[after.session] - plan.dates[before.session]).days
                assert days >= after.template["after"]
                steps += 1
        seasons = [story.get("months", [5]) for story in life.values() if any(stage in story["stages"] for stage in
                   (passage.template for passage in passages))]  # fmt: skip
        assert all(plan.dates[0].month in months for months in seasons)
    assert steps > 5


def test_what_another_group_tells_of_its_things_is_not_told_again():
    def nouns_of(plan):
        passages = [passage for session in plan.sessions for passage in session if passage.kind in ("arc", "origin")]
        return {str(passage.template.get("noun") or passage.template["lines"][0]) for passage in passages}

    for seed in range(6):
        group_request = request(DOG, CLOCK, bare("Kolo"), dialogue_id=f"conv-{seed}", seed=seed)
        first = plan_of(group_request)
        second = plan_of(group_request, first.stories)
        assert nouns_of(first) and nouns_of(second) and nouns_of(first).isdisjoint(nouns_of(second)), seed


@pytest.fixture(scope="module")
def around_the_clock():
    """Groups whose sessions are held at all hours, and one that is held by night alone."""
    requests = [
        request(DOG, CLOCK, bare("Kolo"), dialogue_id=f"conv-{n}", seed=n, start=START + timedelta(hours=n))
        for n in range(0, 24, 3)
    ]
    by_night = request(DOG, CLOCK, start=START.replace(hour=1), step=timedelta(days=3))
    requests.append(by_night)
    return list(zip(requests, generated(requests), strict=True))


def test_what_is_said_suits_the_hour(around_the_clock):
    assert not suits_hour(["I've been sorting pictures all evening."], 11)
    assert not suits_hour(["I had a really tough day at work. ~It was a lot."], 9)
    assert not suits_hour(["I have to head out now, Pete is waiting for me."], 5)
    assert not suits_hour(["Great, actually! I slept well for once."], 17)
    assert suits_hour(["It's getting late here, so I'm off to bed."], 23)
    nights = 0
    for group_request, group in around_the_clock:
        for moment, session in zip(group_request.placement.times, group.sessions, strict=True):
            assert [turn.text for turn in session if not suits_hour([turn.text], moment.hour)] == []
            if moment.hour < 5:
                greeted = " ".join(turn.text for turn in session[:2])
                assert re.search(r"sleep|late|this hour|awake|night|up", greeted)
                nights += 1
    assert nights > 8


def test_a_question_is_answered_before_the_subject_changes(around_the_clock):
    answers = json.loads((TEXTS / "talk.json").read_text(encoding="utf-8"))["acks_asked"]
    asked_back = 0
    for _, group in around_the_clock:
        for session in group.sessions[1:]:
            if re.search(r"(how|what) about you\?|and you\?", session[1].text, re.IGNORECASE):
                assert any(answer[:-1] in session[2].text for answer in answers), session[2].text
                asked_back += 1
    assert asked_back > 5


def test_things_are_spoken_of_as_things(around_the_clock):
    alive = re.compile(
        r"says hi|in person|introduced|come into your life|licked|treat|how's|be lost without|up to\?", re.I
    )
    for _, group in around_the_clock:
        for turn in (turn for session in group.sessions[1:] for turn in session):
            if "tick" in words_of(turn.text) and "Rosa" not in turn.text:
                assert not alive.search(turn.text)


def test_no_sentence_is_broken(around_the_clock):
    broken = re.compile(
        r"from on|ten hundred|by the way, by the way|oh, oh|anyway, anyway|kind of much|the day i \w+ \w+ again\?", re.I
    )
    texts = [turn.text for _, group in around_the_clock for session in group.sessions for turn in session]
    assert [text for text in texts if broken.search(text)] == []


@needs(DREAMBOOTH / "concepts.json", LOCOMO)
def test_groups_on_locomo_talk_much_as_locomo_does():
    requests = requests_of(LOCOMO, DREAMBOOTH)
    groups = generated(requests)
    assert [faults_of(group, group_request) for group, group_request in zip(groups, requests, strict=True)] == [[]] * 12
    comparison = figures(requests, groups, LOCOMO)
    assert abs(comparison.ours.words[0] / comparison.locomo.words[0] - 1) < 0.3
    assert abs(comparison.ours.naming - comparison.locomo.naming) < 0.1
    assert abs(comparison.ours.questions - comparison.locomo.questions) < 0.1
    assert comparison.little_overlap >= 0.5


def shown_in(group: GeneratedGroup, places) -> set[Path]:
    return {photo for place in places for photo in group.sessions[place.session - 1][place.turn - 1].photos}
