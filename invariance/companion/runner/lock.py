"""Which runners are alive: each holds a lock as long as it lives, on whatever machine.

Attempt folders are named after their runner, so that runners which share ``build/`` (containers,
machines of a cluster, two terminals) never collide, and what a dead one left is told from what a
living one is writing. A process id could not tell: two containers have the same ones.
"""

import fcntl
import os
import uuid
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from invariance.companion.errors import OutputError

__all__ = ["RunnerLock", "is_alive"]

_FOLDER = ".runners"


class RunnerLock:
    """The lock of one runner, released by the system when its process ends, however it ends.

    Parameters
    ----------
    build : Path
        The folder that runners share.

    Attributes
    ----------
    name : str
        Unique; no other runner ever has it.
    """

    def __init__(self, build: Path) -> None:
        self.name = uuid.uuid4().hex[:16]
        self._path = build / _FOLDER / self.name
        try:
            self._handle = self._take(build)
        except OSError as error:
            raise OutputError(
                f"cannot write {self._path}: {error.strerror or error}. Earlier results are "
                "untouched"
            ) from error

    def _take(self, build: Path) -> int:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        for path in self._path.parent.iterdir():
            if not is_alive(build, path.name):
                path.unlink(missing_ok=True)
        # locked before it has its name: nobody finds it unlocked
        unnamed = self._path.with_name(f"{self.name}.new")
        handle = os.open(unnamed, os.O_CREAT | os.O_RDWR, 0o666)
        # on a file system without locks others take every runner for alive
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rename(unnamed, self._path)
        return handle

    def __enter__(self) -> "RunnerLock":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._path.unlink(missing_ok=True)
        os.close(self._handle)


def is_alive(build: Path, name: str) -> bool:
    """Whether the runner of that name still holds its lock.

    A file system that knows no locks says yes of every runner whose file is there.
    """
    try:
        handle = os.open(build / _FOLDER / name, os.O_RDWR)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    # a name still to come is locked in a moment
    return name.endswith(".new")
