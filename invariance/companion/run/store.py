"""Values on disk that are believed only when they are what was written: `load` and `save`.

A file holds a header of fixed length (JSON: the key, the digest of the rest, seconds that it took)
and a pickle. What has no header, another key or another digest is taken for absent, and computed
again; it is never unpickled. The digest finds damage and mistaken files. It is no protection from
somebody who means harm: whoever can write a pickle can write its digest. A cache is not to be
shared with strangers.
"""

import hashlib
import json
import os
import pickle
import uuid
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

__all__ = ["Stored", "load", "save"]

_HEADER = 512
_BLOCK = 2**20


class Stored(NamedTuple):
    """A value and the seconds that it took to compute."""

    value: Any
    seconds: float


class _Hashing:
    """A stream that notes the digest of what passes through."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.digest = hashlib.sha256()

    def write(self, content: Any) -> int:
        self.digest.update(content)
        return self._stream.write(content)


def load(path: Path, key: str) -> Stored | None:
    """The value saved under a key, or None if there is none that can be verified.

    Parameters
    ----------
    path : Path
    key : str
        As given to `save`.
    """
    try:
        with path.open("rb") as stream:
            header = json.loads(stream.read(_HEADER))
            if not isinstance(header, dict) or header.get("key") != key:
                return None
            found = hashlib.sha256()
            while block := stream.read(_BLOCK):
                found.update(block)
            if found.hexdigest() != header.get("sha256"):
                return None
            stream.seek(_HEADER)
            return Stored(pickle.load(stream), float(header["seconds"]))
    except Exception:  # absent, damaged, or of a class that is no longer there
        return None


def save(path: Path, key: str, value: Any, seconds: float) -> bool:
    """Write a value whole or not at all; False if it has no pickle or there is no room.

    Parameters
    ----------
    path : Path
    key : str
        Of everything that the value depends on.
    value : object
    seconds : float
        That it took to compute.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "xb") as stream:
            stream.write(b" " * _HEADER)
            passing = _Hashing(stream)
            pickle.dump(value, passing, protocol=5)
            header = {"key": key, "sha256": passing.digest.hexdigest(), "seconds": seconds}
            stream.seek(0)
            stream.write(json.dumps(header).encode().ljust(_HEADER))
        os.replace(temporary, path)
    except Exception:
        temporary.unlink(missing_ok=True)
        return False
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return True
