import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from m2a.loading import Loading


def test_callers_that_meet_a_failed_attempt_share_the_next_one() -> None:
    attempts, all_ask = [], threading.Barrier(8)

    def load() -> str:
        attempts.append(len(attempts))
        if len(attempts) == 1:
            raise OSError("The weights cannot be read.")
        began.set()
        finish.wait(30)
        return f"attempt {attempts[-1]}"

    for _ in range(20):
        began, finish = threading.Event(), threading.Event()
        attempts.clear()
        loading = Loading("weights", load)
        with pytest.raises(OSError, match="weights"):
            loading.get()

        def ask(loading: Loading[str] = loading) -> str:
            all_ask.wait(30)
            return loading.get()

        with ThreadPoolExecutor(8) as callers:
            futures = [callers.submit(ask) for _ in range(8)]
            assert began.wait(30)
            finish.set()
            assert {future.result(30) for future in futures} == {"attempt 1"}
        loading.close()
        assert attempts == [0, 1]
