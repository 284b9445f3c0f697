"""The generator without a language model."""

from collections import Counter
from dataclasses import replace

from data_synthesis.check_group import GroupFault, delivered
from data_synthesis.grammar.layout import sessions_of
from data_synthesis.grammar.plan import plan_of
from data_synthesis.grammar.questions import counts_to_keep, questions_of
from data_synthesis.grammar.script import Script
from data_synthesis.group import GeneratedGroup, GenerationError, GroupRequest
from data_synthesis.groups import seed_of
from data_synthesis.wording import long_sentences

DRAWS = 8
_FAULTS_SHOWN = 3


class GrammarGenerator:
    """Equal requests in equal order give equal groups. A group never repeats a long sentence of an earlier group of its
    dialogue, and rarely one of another dialogue.

    Questions are true by construction: the facts come before the words. If too little is known about the concepts for
    questions in the ratio, there are only questions of visual retrieval.
    """

    name = "grammar"
    version = "15"

    def __init__(self) -> None:
        self._sentences: dict[str, set[str]] = {}
        self._stories: dict[str, set[str]] = {}

    async def generate(self, request: GroupRequest) -> GeneratedGroup:
        """Returns a valid group. A faulty draft is drawn again, without its stories and its faulty sentences.

        Raises GenerationError if none of DRAWS drafts is valid, and if nothing can be asked.
        """
        where = f"{request.dialogue_id}, group {request.group.number}"
        if not request.group.described and not any(
            concept.unseen or concept.questions for concept in request.group.concepts
        ):
            raise GenerationError(
                f"{where}: nothing can be asked, because nothing is known about its concepts and all of their photos are "
                "shown. Give each concept at least 3 photos, or describe them in a concepts.json."
            )
        dialogue_sentences = self._sentences.setdefault(request.dialogue_id, set())
        dialogue_stories = self._stories.setdefault(request.dialogue_id, set())
        avoided, stories = set(dialogue_sentences), set(dialogue_stories)
        retrieval_only = not request.group.described
        for number in range(DRAWS):
            seed = request.seed if number == 0 else seed_of(request.seed, "drawn again", number)
            # When new material runs out, repeating another dialogue is better than repeating this one.
            everywhere = number < DRAWS // 2
            other_stories, other_sentences = self._stories.values(), self._sentences.values()
            plan = plan_of(replace(request, seed=seed), stories.union(*other_stories) if everywhere else stories)
            script = Script(plan, avoided.union(*other_sentences) if everywhere else avoided)
            group, faults = delivered(_group(script, retrieval_only=retrieval_only), request)
            new_sentences = {
                sentence for session in group.sessions for turn in session for sentence in long_sentences(turn.text)
            }
            faults += [
                GroupFault("duplicates", f'an earlier group of the dialogue says "{sentence}".')
                for sentence in sorted(new_sentences & dialogue_sentences)
            ]
            if not faults:
                dialogue_stories |= plan.stories
                dialogue_sentences |= new_sentences
                return group
            retrieval_only |= number >= DRAWS // 2 and all(fault.rule == "ratio" for fault in faults)
            stories |= plan.stories
            for place in {fault.place for fault in faults if fault.place is not None and fault.place.turn}:
                avoided.update(long_sentences(group.sessions[place.session - 1][place.turn - 1].text))
        reasons = " ".join(map(str, faults[:_FAULTS_SHOWN]))
        raise GenerationError(f"{where}: none of {DRAWS} drafts kept the rules. The last one: {reasons}")


def _group(script: Script, *, retrieval_only: bool) -> GeneratedGroup:
    """Returns the group of a script. Questions that are missing in a category are recorded as dropped."""
    sessions = sessions_of(script)
    questions = questions_of(script, sessions, retrieval_only=retrieval_only)
    notes: dict[str, object] = {"frame": script.plan.frame["id"]}
    if retrieval_only:
        return GeneratedGroup(sessions, questions, notes, retrieval_only=True)
    missing = Counter(counts_to_keep(questions)) - Counter(question.category for question in questions)
    return GeneratedGroup(sessions, questions, notes, dropped=tuple(sorted(missing.elements())))
