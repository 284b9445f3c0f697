"""The generator that needs no language model."""

from collections import Counter
from dataclasses import replace

from data_synthesis.check_group import GroupFault, delivered
from data_synthesis.grammar.layout import sessions_of
from data_synthesis.grammar.plan import plan_of
from data_synthesis.grammar.questions import asked_for, questions_of
from data_synthesis.grammar.script import Script
from data_synthesis.group import GeneratedGroup, GenerationFailed, GroupRequest
from data_synthesis.groups import seed_of
from data_synthesis.wording import long_sentences

DRAWS = 8
_FAULTS_TOLD = 3


class GrammarGenerator:
    """Equal requests in equal order give equal groups; what an earlier one of a dialogue says at length, no later one says
    again, and what another dialogue's says as seldom as can be.

    What is asked is true by construction: the facts come before the words. Concepts of which too little is known for
    questions in the ratio are asked about by visual retrieval alone.
    """

    name = "grammar"
    version = "12"

    def __init__(self) -> None:
        self._said: dict[str, set[str]] = {}
        self._told: dict[str, set[str]] = {}

    async def generate(self, request: GroupRequest) -> GeneratedGroup:
        """A group that breaks a rule is drawn again, without its stories and the sentences that were at fault.

        Raises GenerationFailed where none of DRAWS groups keeps the rules, and where nothing could be asked.
        """
        where = f"{request.dialogue_id}, group {request.group.number}"
        if not request.group.described and not any(one.unseen or one.questions for one in request.group.concepts):
            raise GenerationFailed(
                f"{where}: nothing but photos is known of its concepts, and all of them are shown, so nothing can be asked. "
                "Give each concept 3 photos or more, or describe them in a concepts.json."
            )
        in_dialogue = self._said.setdefault(request.dialogue_id, set())
        stories_here = self._told.setdefault(request.dialogue_id, set())
        avoided, stories = set(in_dialogue), set(stories_here)
        retrieval_only = not request.group.described
        for number in range(DRAWS):
            seed = request.seed if number == 0 else seed_of(request.seed, "drawn again", number)
            # Where nearly all has been told, rather what another dialogue tells than what this one does.
            everywhere = number < DRAWS // 2
            plan = plan_of(replace(request, seed=seed), stories.union(*self._told.values()) if everywhere else stories)
            script = Script(plan, avoided.union(*self._said.values()) if everywhere else avoided)
            group, faults = delivered(_group(script, retrieval_only=retrieval_only), request)
            said = {s for session in group.sessions for turn in session for s in long_sentences(turn.text)}
            faults += [
                GroupFault("duplicates", f'an earlier group of the dialogue says "{sentence}".')
                for sentence in sorted(said & in_dialogue)
            ]
            if not faults:
                stories_here |= plan.stories
                in_dialogue |= said
                return group
            retrieval_only |= number >= DRAWS // 2 and all(fault.rule == "ratio" for fault in faults)
            stories |= plan.stories
            places = {fault.place for fault in faults if fault.place is not None}
            turns = ((at.turn, group.sessions[at.session - 1]) for at in places)
            avoided.update(s for turn, session in turns if turn for s in long_sentences(session[turn - 1].text))
        told = " ".join(map(str, faults[:_FAULTS_TOLD]))
        raise GenerationFailed(f"{where}: none of {DRAWS} drafts kept the rules. The last one: {told}")


def _group(script: Script, *, retrieval_only: bool) -> GeneratedGroup:
    """Where too few questions of a category keep the rules, those that are missing are noted as left out."""
    sessions = sessions_of(script)
    questions = questions_of(script, sessions, retrieval_only=retrieval_only)
    notes: dict[str, object] = {"frame": script.plan.frame["id"]}
    if retrieval_only:
        return GeneratedGroup(sessions, questions, notes, retrieval_only=True)
    missing = Counter(asked_for(questions)) - Counter(question.category for question in questions)
    return GeneratedGroup(sessions, questions, notes, dropped=tuple(sorted(missing.elements())))
