"""Nothing that lies in a data folder or in the cache is believed, or unpacked without a bound."""

import gzip
import hashlib
import io
import os
import re
import sys
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pooch
import pytest
from scipy.io import wavfile

from invariance.datasets import (
    DataError,
    available,
    balanced_sample,
    files,
    load_fsdd,
    load_mnist,
    make_translated_mnist,
    split_rows,
)
from invariance.datasets.files import (
    DataFile,
    Source,
    cache_folder,
    fetch,
    locate,
    tar_members,
    unpack,
)

CONTENT = b"some content"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
THING = DataFile("thing", (Source("set/thing.bin", f"sha256:{SHA256}"),))
ANY = re.compile(r".*")


def put(folder: Path, path: str, content: bytes) -> Path:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(content)
    return folder / path


def archive(members: dict[str, bytes], mode: str = "w:gz") -> bytes:
    with tarfile.open(fileobj=(buffer := io.BytesIO()), mode=mode) as packed:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


WAVE = io.BytesIO()
wavfile.write(WAVE, 8000, np.arange(50, dtype=np.int16))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage",
        b"<!doctype html><title>Sign in to this network</title>",
        archive({"recordings/0_ann_0.wav": WAVE.getvalue()}),
        archive({"recordings/0_ann_0.wav": WAVE.getvalue()})[:-20],
        gzip.compress(b"garbage"),
    ],
    ids=["empty", "garbage", "page", "other", "truncated", "packed garbage"],
)
def test_what_an_archive_unpacks_to_is_checked_before_it_is_said_to_hold(offline, content):
    path = put(offline, "fsdd/fsdd.tar.gz", content)
    fsdd = next(info for info in available() if info.name == "fsdd")
    assert fsdd.present and not fsdd.checksum_ok
    with pytest.raises(DataError, match="damaged or another file") as caught:
        load_fsdd()
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("mode", ["w:gz", "w:xz", "w"])
def test_what_unpacks_to_too_much_is_refused_at_the_bound(tmp_path, mode):
    suffix = mode[1:].replace(":", ".")
    path = put(tmp_path, "bomb.tar" + suffix, archive({"0_ann_0.wav": bytes(2**25)}, mode))
    skipped = re.compile("something else")
    for names in (ANY, skipped):
        tracemalloc.start()
        with pytest.raises(DataError, match="unpacks to more than 2,097,152 bytes"):
            tar_members(path, names, most=2**21)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 2**24  # an xz dictionary has 2**23
    assert len(tar_members(path, ANY)["0_ann_0.wav"]) == 2**25


def test_images_that_unpack_to_too_much(tmp_path):
    packed = gzip.compress(bytes(2**22))
    with zipfile.ZipFile(buffer := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("images.gz", packed)
    for name, content in (("images.gz", packed), ("images.zip", buffer.getvalue())):
        path = put(tmp_path, name, content)
        assert len(unpack(path, "images.gz")) == 2**22
        with pytest.raises(DataError, match="more than 1,048,576 bytes"):
            unpack(path, "images.gz", most=2**20)
        put(tmp_path, name, content[:-9])
        with pytest.raises(DataError, match="cannot be read"):
            unpack(path, "images.gz")
    path = put(tmp_path, "images.zip", buffer.getvalue())
    with pytest.raises(DataError, match="cannot be read.*no item"):
        unpack(path, "labels.gz")


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
def test_headers_that_promise_seven_gigabytes(tmp_path, kind):
    header = tarfile.TarInfo("0_ann_0.wav")
    header.size, header.type = 7 * 2**30, kind
    content = gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + bytes(2**22))
    path = put(tmp_path, "promise.tar.gz", content)
    tracemalloc.start()
    with pytest.raises(DataError, match=r"cannot be read|more than"):
        tar_members(path, ANY, most=2**21)
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()


def test_files_that_are_too_large_are_not_read(offline, monkeypatch):
    put(offline, "set/thing.bin", CONTENT)
    monkeypatch.setattr(files, "MOST", len(CONTENT) - 1)
    found = locate(THING)
    assert found is not None and not found.holds and "12 bytes, more than" in found.found


def test_a_file_replaced_within_the_clock_s_resolution_is_checked_again(offline):
    path = put(offline, "set/thing.bin", CONTENT)
    before = path.stat()
    assert fetch(THING).holds
    path.write_bytes(CONTENT[::-1])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not locate(THING).holds


@pytest.mark.parametrize("page", [b"<html>Sign in</html>", b""])
def test_a_foreign_page_never_gets_into_the_cache(offline, monkeypatch, page):
    monkeypatch.setattr(
        pooch, "retrieve", lambda url, known_hash, fname, path, **_: put(Path(path), fname, page)
    )
    with pytest.raises(DataError, match="sent .*cannot be read"):
        load_fsdd()
    assert not [p for p in cache_folder().rglob("*") if p.is_file()]
    with pytest.raises(DataError, match="sent sha256:"):
        load_mnist()


def test_a_download_is_bounded(offline, monkeypatch):
    class Endless:
        def __call__(self, url, output, caller):
            while True:
                output.write(bytes(2**16))

    def retrieve(url, known_hash, fname, path, downloader):
        downloader(url, str(Path(path) / fname), None)

    monkeypatch.setattr(pooch, "HTTPDownloader", Endless)
    monkeypatch.setattr(pooch, "retrieve", retrieve)
    monkeypatch.setattr(files, "MOST", 2**20)
    with pytest.raises(DataError, match="larger than any data file"):
        load_mnist()
    assert not [p for p in cache_folder().rglob("*") if p.is_file()]


def test_reading_needs_no_pooch_and_downloading_says_what_does(offline, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(
        ImportError, match=r"mnist/train-images.*pip install \"invariance\[data\]\""
    ):
        load_mnist()
    with pytest.raises(DataError, match="train-images"):
        load_mnist(download_if_missing=False)
    put(offline, "set/thing.bin", CONTENT)
    assert fetch(THING).holds


def test_the_cache_lies_where_pooch_would_put_it(monkeypatch):
    monkeypatch.delenv("INVARIANCE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == Path(pooch.os_cache("invariance"))


def test_the_cache_has_a_place_where_there_is_no_home(monkeypatch, tmp_path):
    for name in ("INVARIANCE_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    assert cache_folder().is_absolute()  # from the system's list of users
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert cache_folder().is_absolute()


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: make_translated_mnist([["a"]], np.arange(4)), "images"),
        (lambda: make_translated_mnist(np.zeros((4, 8, 8)), 3), "labels"),
        (lambda: balanced_sample([], 2), "labels"),
        (lambda: split_rows([0, 1], train=None, test=[True, False]), "train"),
        (lambda: load_mnist("no"), "download_if_missing"),
    ],
)
def test_wrong_parameters_are_named(call, named):
    """Beside those that tests/test_fuzz_parameters.py tries."""
    with pytest.raises(ValueError, match=named):
        call()
