"""Questions of category 10: about one photo that was shown, from the concept set or from the concept's attributes."""

import random
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from data_synthesis.grammar.facts import Shown
from data_synthesis.grammar.known import attribute_question, easily_seen, short_places, visible_in, visible_value
from data_synthesis.grammar.plan import Member
from data_synthesis.grammar.script import Script
from data_synthesis.group import Attribute, GeneratedQuestion, VisualQuestion
from data_synthesis.wording import answer_given_away, options_of, words_of

PER_CONCEPT = 2
VISUAL_RETRIEVAL = 10
_PLACEHOLDER = "<sks>"


def retrieval_questions(script: Script, drawn: random.Random, answered: Collection[str]) -> list[GeneratedQuestion]:
    """Up to PER_CONCEPT for each concept, about different photos, and rather not what was `answered` before."""
    questions: list[GeneratedQuestion] = []
    for member in script.plan.members:
        shown = {one.photo.path: one for one in script.facts.shown if one.member is member}
        found = [*_own(script, member, shown, drawn)]
        drawn.shuffle(found)
        made = [*_from_attributes(script, member, drawn)]
        found.sort(key=lambda question: question.answer in answered)
        made.sort(key=lambda question: question.answer in answered)
        chosen: list[GeneratedQuestion] = []
        for pool in (found[:1], made, found[1:]):
            for question in pool:
                new = all(question.photos != other.photos and question.answer != other.answer for other in chosen)
                if answer_given_away(question.text, (question.answer,)) and not options_of(question.text):
                    continue
                if len(chosen) < PER_CONCEPT and (new or len(shown) == 1):
                    chosen.append(question)
        questions += chosen
    return questions


def _own(
    script: Script, member: Member, shown: Mapping[Path, Shown], drawn: random.Random
) -> Iterator[GeneratedQuestion]:
    for one in member.concept.questions:
        photo = shown[one.photo].photo if one.photo in shown else None
        if photo is not None and (one.answer != photo.setting or shown[photo.path].place_asked):
            text = _with_name(one, member.name, drawn)
            if text is not None:
                evidence = (shown[one.photo].line.at,)
                accepted = short_places(photo) if one.answer == photo.setting else ()
                yield GeneratedQuestion(VISUAL_RETRIEVAL, text, one.answer, evidence, accepted, (one.photo,))


def _with_name(question: VisualQuestion, name: str, drawn: random.Random) -> str | None:
    text = question.text.replace(_PLACEHOLDER, name).strip()
    if answer_given_away(text, (question.answer,)):
        return None
    wrong = [option for option in question.options if words_of(option) != words_of(question.answer)]
    if question.options:
        if not wrong:
            return None
        options = [question.answer, drawn.choice(wrong)]
        if any(re.search(r"[()]| or ", option) for option in options):
            return None
        drawn.shuffle(options)
        text = f"{text} ({options[0]} or {options[1]}?)"
    return text


def _from_attributes(script: Script, member: Member, drawn: random.Random) -> Iterator[GeneratedQuestion]:
    for attribute in drawn.sample(member.concept.attributes, len(member.concept.attributes)):
        photos = [one for one in script.facts.shown if one.member is member and visible_in(attribute, one.photo)]
        if not photos or not easily_seen(attribute):
            continue
        yield from (_about(attribute, shown, script) for shown in drawn.sample(photos, len(photos)))


def _about(attribute: Attribute, shown: Shown, script: Script) -> GeneratedQuestion:
    text = script.plan.speech[shown.member.owner].variant(attribute_question(attribute))
    text = f"{text.replace('{N}', shown.member.name).removesuffix('?')} in this photo?"
    answer = visible_value(attribute)
    accepted = tuple(one for one in attribute.accepted if one != answer and not answer_given_away(text, (one,)))
    return GeneratedQuestion(VISUAL_RETRIEVAL, text, answer, (shown.line.at,), accepted, (shown.photo.path,))
