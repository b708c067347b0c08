"""Time at work: a clock that leaves out pauses.

What a run took is recorded in `volatile.wall_s` (and, for values found in the cache, the seconds
that they took when they were computed), and how long an attempt took in `status.json`. Three sorts
of pauses are no work and are not counted:

- a process that is stopped, or a machine that is suspended, for more than `PATIENCE` seconds: the
  clock has then not been looked at, and the process has used no processor time either;
- the time between two cells, in which a kernel waits for its reader;
- the time between an attempt that was interrupted and the one that goes on from its cache.
"""

import threading
import time
import weakref
from collections.abc import Callable

#: A gap between two looks at the clock is a pause if it is longer, as far as nothing was computed.
PATIENCE = 10.0
_TICK = 1.0


class WorkingClock:
    """Seconds since the clock was made, without pauses; each call is a look at it.

    A gap between two looks that is longer than `patience` counts with `patience`, or with the
    processor time that was used in it if that is more (a computation that lets no other thread
    look). `now` and `processor` are the clocks that it is made of.

    >>> moments, used = iter([0.0, 4.0, 3604.0, 3700.0]), iter([0.0, 4.0, 4.5, 100.5])
    >>> clock = WorkingClock(now=lambda: next(moments), processor=lambda: next(used))
    >>> clock(), clock(), clock()
    (4.0, 14.0, 110.0)
    """

    def __init__(
        self,
        patience: float = PATIENCE,
        now: Callable[[], float] = time.monotonic,
        processor: Callable[[], float] = time.process_time,
    ) -> None:
        self._patience = patience
        self._now = now
        self._processor = processor
        self._lock = threading.Lock()
        self._worked = 0.0
        self._counts = True
        self._seen = now()
        self._used = processor()

    def __call__(self) -> float:
        with self._lock:
            seen = self._now()
            used = self._processor()
            gap = seen - self._seen
            if gap > self._patience:
                gap = max(self._patience, min(gap, used - self._used))
            if self._counts:
                self._worked += gap
            self._seen = seen
            self._used = used
            return self._worked

    def pause(self) -> None:
        """Count nothing until `resume`."""
        self()
        self._counts = False

    def resume(self) -> None:
        """Count from here on."""
        self()
        self._counts = True

    def keep_looking(self, every: float = _TICK) -> "WorkingClock":
        """Look at the clock from a thread of its own for as long as somebody else holds it."""
        reference = weakref.ref(self)

        def look() -> None:
            while (clock := reference()) is not None:
                clock()
                del clock
                time.sleep(every)

        threading.Thread(target=look, name="working clock", daemon=True).start()
        return self

    def follow_cells(self, shell: object) -> None:
        """Count only while a cell of an IPython shell runs; one is running now."""
        reference = weakref.ref(self)
        events = shell.events  # type: ignore[attr-defined]

        def before(*_: object) -> None:
            if (clock := reference()) is not None:
                clock.resume()

        def after(*_: object) -> None:
            if (clock := reference()) is not None:
                clock.pause()
            else:
                events.unregister("pre_run_cell", before)
                events.unregister("post_run_cell", after)

        events.register("pre_run_cell", before)
        events.register("post_run_cell", after)
