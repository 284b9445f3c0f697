"""How the room of a prompt is divided, and what of each kind fits into its share."""

from m2a.agents.budget import PHOTO_TOKENS, Budget, divide, fitted, shortened, tokens_of


def test_what_one_kind_does_not_need_goes_to_the_others() -> None:
    assert divide(10_000, Budget(history=100, memories=50, fetched=50_000)) == Budget(100, 50, 9850, 0)
    cut = divide(10_000, Budget(50_000, 50_000, 50_000, 0))
    assert (cut.history, cut.memories, cut.fetched) == (3000, 3500, 3500)


def test_photos_take_half_of_the_room_at_most_and_never_more_than_the_server_takes() -> None:
    assert divide(8 * PHOTO_TOKENS, Budget(photos=9)).photos == 4
    assert divide(8 * PHOTO_TOKENS, Budget(photos=9), photos_per_prompt=2).photos == 2


def test_lines_are_cut_by_rank_and_counted() -> None:
    assert fitted(["aaa", "bbb", "ccc"], 2) == ["aaa", "bbb", "(1 more left out: there is no room.)"]
    assert fitted(["aaa"], 1) == ["aaa"] and fitted([], 0) == []
    [only] = fitted(["a" * 3000 + "z"], 100)
    assert only.startswith("aaa") and only.endswith("z") and tokens_of(only) < 120
    assert shortened("é" * 1000, 10).startswith("é")
