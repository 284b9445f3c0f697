"""Work that the user may stop, and that leaves nothing running behind it."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")

_END = object()


async def in_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Like `asyncio.to_thread`, but where it is cancelled, it ends with its thread: no write comes after the end."""
    running = asyncio.ensure_future(asyncio.to_thread(call, *args, **kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        if not running.cancelled():
            running.exception()  # looked at, so that nothing complains of an error that nobody waits for
        raise


async def until_stopped(work: AsyncGenerator[T, None], stop: asyncio.Event) -> AsyncGenerator[T, None]:
    """What the work yields, and raises; once `stop` is set it is cancelled, whatever it waits for, and there is no more."""
    if stop.is_set():
        await work.aclose()
        return
    # The work is one task from its start to its end, since libraries tie a time limit to the task that began it.
    items: asyncio.Queue[T | object] = asyncio.Queue()

    async def run() -> None:
        try:
            async with aclosing(work):
                async for item in work:
                    items.put_nowait(item)
        finally:
            items.put_nowait(_END)

    async def watch() -> None:
        await stop.wait()
        running.cancel()

    running = asyncio.create_task(run())
    watching = asyncio.create_task(watch())
    try:
        while (item := await items.get()) is not _END and not stop.is_set():
            yield cast(T, item)
        if not stop.is_set():
            await running
    finally:
        running.cancel()
        watching.cancel()
        await asyncio.gather(running, watching, return_exceptions=True)
