"""The placement of groups in a host conversation and the times of their sessions, fixed before anything is written."""

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from data_synthesis.group import SESSIONS_PER_GROUP, Placement, SynthesisError
from data_synthesis.groups import seed_of

LEAST_STEP = timedelta(days=1)
_MINUTE = timedelta(minutes=1)


def session_times(start: datetime, end: datetime, count: int) -> tuple[datetime, ...]:
    """Returns tau_j = start + j / (count + 1) * (end - start), j = 1 … count (M2A, equation 7), rounded to the minute.

    Half a minute is rounded up. The times rise strictly and lie strictly between start and end. Raises SynthesisError if
    the gap is too short for that.
    """
    parts = 2 * (count + 1) * _MINUTE
    times = tuple(
        start + (2 * number * (end - start) + (count + 1) * _MINUTE) // parts * _MINUTE
        for number in range(1, count + 1)
    )
    if any(later <= earlier for earlier, later in zip((start, *times), (*times, end), strict=True)):
        raise SynthesisError(
            f"Between {start:%Y-%m-%d %H:%M} and {end:%Y-%m-%d %H:%M} there is no room for {count} sessions "
            "at different minutes."
        )
    return times


def place_groups(
    host: Sequence[tuple[int, datetime]], groups: int, *, seed: int, dialogue_id: str
) -> tuple[Placement, ...]:
    """Returns a gap for each group, drawn from those with room. `host` are the sessions' numbers and times, in order of time.

    A gap has room if its sessions can be on different days: the step of equation 7 is a day or more.
    """
    fewest, most = min(SESSIONS_PER_GROUP), max(SESSIONS_PER_GROUP)
    gaps = [
        (number, start, end) for (number, start), (_, end) in pairwise(host) if end - start >= LEAST_STEP * (fewest + 1)
    ]
    if len(gaps) < groups:
        remedy = "lower --groups or leave the conversation out" if groups > 1 else "leave the conversation out"
        raise SynthesisError(
            f"{dialogue_id} has {len(gaps)} gap{'s' * (len(gaps) != 1)} of {fewest + 1} days or more between its sessions, "
            f"and {groups} group{'s need' if groups != 1 else ' needs'} one each; {remedy}."
        )
    rng = random.Random(seed_of(seed, dialogue_id, "placement"))
    placements = []
    for number, start, end in rng.sample(gaps, groups):
        count = rng.randint(fewest, most)
        if end - start < LEAST_STEP * (count + 1):
            count = fewest
        placements.append(Placement(number, start, end, session_times(start, end, count)))
    return tuple(placements)
