"""Dates that people say, against the day on which they say them."""

from datetime import date

import pytest

from m2a.agents.offline.dates import annotate, find_dates
from m2a.agents.offline.event_dates import dates_of
from tests.offline_talk import Talk

WEDNESDAY = date(2026, 5, 6)
of_module = pytest.mark.asyncio(loop_scope="module")  # the assistant is the module's


@pytest.mark.parametrize(
    ("text", "past", "kept"),
    [
        ("we met last Tuesday", True, "we met last Tuesday (5 May 2026)"),
        ("we met on Wednesday", True, "we met on Wednesday (6 May 2026)"),
        ("it is on Wednesday", False, "it is on Wednesday (13 May 2026)"),
        ("next Friday", False, "next Friday (15 May 2026)"),
        ("the party is on Thursday 14 May", False, "the party is on Thursday 14 May 2026"),
        ("moved to Saturday the 6th of June", False, "moved to Saturday the 6th of June 2026"),
        ("Tues, June 9 at 8", False, "Tues, June 9 2026 at 8"),
        ("this Friday", False, "this Friday (8 May 2026)"),
        ("on Thursday next week", False, "on Thursday next week (14 May 2026)"),
        ("by Thursday of next week", False, "by Thursday of next week (14 May 2026)"),
        ("next week on Monday", False, "next week on Monday (11 May 2026)"),
        ("on Friday this week", False, "on Friday this week (8 May 2026)"),
        ("married ten years tomorrow", False, "married ten years tomorrow (7 May 2026)"),
        ("ready a week tomorrow", False, "ready a week tomorrow (14 May 2026)"),
        ("15 August, forms are due the Saturday before", False, "15 August 2026, forms are due the Saturday before"),
        ("the Friday before Christmas", False, "the Friday before Christmas"),
        ("the last week of August", False, "the last week of August"),
        ("the last Friday of April", False, "the last Friday of April"),
        ("the last month of 2019", True, "the last month of 2019"),
        ("we leave the Monday after 5 June", False, "we leave the Monday after 5 June"),
        ("two days before 5 June", False, "two days before 5 June 2026"),
        ("31 June Monday", False, "31 June Monday (11 May 2026)"),
        ("Monday to Thursday this week", False, "Monday to Thursday this week (4 May 2026 to 7 May 2026)"),
        ("next week, Friday till Sunday", False, "next week, Friday till Sunday (15 May 2026 to 17 May 2026)"),
        ("next week from Monday to Thursday", False, "next week from Monday to Thursday (11 May 2026 to 14 May 2026)"),
        ("Mon-Thu next week", False, "Mon-Thu next week (11 May 2026 to 14 May 2026)"),
        ("Friday to Monday next week", False, "Friday to Monday next week (15 May 2026 to 18 May 2026)"),
        ("Thursday to Monday last week", True, "Thursday to Monday last week (30 April 2026 to 4 May 2026)"),
        ("Monday and Friday next week", False, "Monday (11 May 2026) and Friday next week (15 May 2026)"),
        ("the day before yesterday", True, "the day before yesterday (4 May 2026)"),
        ("in three weeks", False, "in three weeks (27 May 2026)"),
        ("in a fortnight", False, "in a fortnight (20 May 2026)"),
        ("a couple of weeks ago", True, "a couple of weeks ago (22 April 2026)"),
        ("two years ago", True, "two years ago (2024)"),
        ("next month", False, "next month (June 2026)"),
        ("last spring", True, "last spring (spring 2025)"),
        ("at the end of the month", False, "at the end of the month (31 May 2026)"),
        ("we married this past June", True, "we married this past June 2025"),
        ("at Mum's this past Christmas", False, "at Mum's this past Christmas (25 December 2025)"),
        ("last weekend", True, "last weekend (2 May 2026 to 3 May 2026)"),
        ("on the 17th of April", True, "on the 17th of April 2026"),
        ("on the 17th of April", False, "on the 17th of April 2027"),
        ("Friday the 8th", False, "Friday the 8th (8 May 2026)"),
        ("Saturday 13th", False, "Saturday 13th (13 June 2026)"),
        ("Saturday 17th", False, "Saturday 17th"),  # in no month near
        ("the Christmas concert is on 14 December", False, "the Christmas concert is on 14 December 2026"),
        (
            "off to Rome on 12 December, back on the 19th",
            False,
            "off to Rome on 12 December 2026, back on the 19th (19 December 2026)",
        ),
        ("open from 30 June until the 4th", False, "open from 30 June 2026 until the 4th (4 July 2026)"),
        ("rent is 940 a month, due on the 3rd", False, "rent is 940 a month, due on the 3rd"),
        ("gym fee goes out on the 20th of every month", False, "gym fee goes out on the 20th of every month"),
        (
            "the lease ends in a month, on the 3rd",
            False,
            "the lease ends in a month (June 2026), on the 3rd (3 June 2026)",
        ),
        ("from 18 to 20 September", False, "from 18 to 20 September 2026"),
        ("on 3 May 2019", True, "on 3 May 2019"),
        ("since March 2019", True, "since March 2019"),
        ("married on 12 June next year", False, "married on 12 June next year (12 June 2027)"),
        ("on the 4th of August last year", True, "on the 4th of August last year (4 August 2025)"),
        ("June of last year", True, "June of last year (June 2025)"),
        ("next year in June", False, "next year in June (June 2027)"),
        ("next year on the 5th of May", False, "next year on the 5th of May (5 May 2027)"),
        ("I may march on in a second", False, "I may march on in a second"),
        ("my lessons are Tuesdays at six", False, "my lessons are Tuesdays at six"),
    ],
)
def test_relative_dates_become_absolute(text: str, past: bool, kept: str) -> None:
    assert annotate(text, find_dates(text, WEDNESDAY, past=past)) == kept


def test_a_day_that_no_calendar_has_is_no_date() -> None:
    assert find_dates("on 31 June 2026", WEDNESDAY, past=False) == []


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("I'm getting a crown done on 26 July", 2026),
        ("no, I meant 26 July for my parents' anniversary", 2026),
        ("they confirmed 26 July", 2026),
        ("They emailed, they've put me on the later boat, 26 July", 2026),
        ("We got a puppy, name of Fern, born 26 July", 2025),
        ("I saw the dentist. Next appointment on 26 July.", 2026),
        ("Keisha got a dentist appointment Sunday 26 July at 3:30", 2026),
        ("Halina's bike needs a new chain, promised for 26 July", 2026),
        ("we met on 26 July", 2025),
        ("I bumped into Shona who says she's moving on 26 July", 2026),
        ("Tom told me that he leaves on 26 July", 2026),
        ("Tom said that he left on 26 July", 2025),
    ],
)
def test_a_day_without_a_year_is_to_come_unless_its_sentence_tells_of_the_past(text: str, year: int) -> None:
    assert [event.interval.first for event in dates_of(text, WEDNESDAY)] == [date(year, 7, 26)]


@pytest.mark.parametrize(
    "text",
    [
        "The rent is due on the 3rd of each month.",
        "Book club is on the first Monday of the month.",
        "I go running every Tuesday and Thursday.",
        "Liam gets paid on a Friday.",
    ],
)
@of_module
async def test_a_day_that_recurs_has_no_date(talk: Talk, text: str) -> None:
    await talk.say(text)
    assert talk.known() == [text]


@of_module
async def test_what_recurs_is_moved_to_another_day_of_every_week(talk: Talk) -> None:
    await talk.say("Nora plays the cello on Tuesdays at 4.")
    await talk.say("I moved Nora's cello lesson to Wednesday.")
    assert "I moved Nora's cello lesson to Wednesday." in talk.known()
    await talk.say("My dentist appointment is on Friday.")
    assert "My dentist appointment is on Friday (6 March 2026)." in talk.known()


@pytest.mark.parametrize(
    ("before", "correction", "date_"),
    [
        (
            "We fly to Lisbon on 3 February and back on the 11th.",
            "no sorry, the Lisbon flight back is on the 12th",
            "12 February 2027",
        ),
        ("The scan is on 28 April.", "They moved the scan to the 3rd.", "3 May 2026"),
        ("We met on 11 February 2025.", "No, we met on the 12th", "12 February 2025"),
    ],
)
@of_module
async def test_the_day_of_a_correction_is_near_the_day_that_it_corrects(
    talk: Talk, before: str, correction: str, date_: str
) -> None:
    await talk.say(before)
    await talk.say(correction)
    assert f"({date_})" in talk.known()[-1]
