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
    read_wav,
    split_rows,
)
from invariance.datasets.files import (
    DataFile,
    Source,
    cache_folder,
    decoded,
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


def kept() -> Path:
    (path,) = (cache_folder() / "decoded").iterdir()
    return path


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


@pytest.fixture
def kept_once(offline):
    """Something decoded and kept; ``decode()`` reads it, ``runs`` counts the decodings."""
    put(offline, "set/thing.bin", CONTENT)
    found, runs = {"thing": fetch(THING)}, []

    def work():
        runs.append(1)
        return {"x": np.arange(100), "y": np.ones((2, 3), dtype=np.float32)}

    def decode():
        arrays = decoded(found, work)
        np.testing.assert_array_equal(arrays["x"], np.arange(100))
        np.testing.assert_array_equal(arrays["y"], np.ones((2, 3)))

    decode()
    decode()
    assert len(runs) == 1
    return decode, runs


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: np.savez(path, x=np.zeros(100, dtype=np.int64), y=np.zeros((2, 3))),
        lambda path: path.write_bytes(path.read_bytes().replace(bytes([5]), bytes([6]))),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.write_bytes(path.read_bytes() + b"\0"),
        lambda path: path.write_bytes(b""),
        lambda path: path.rename(path.with_name(path.name.replace(path.stem[-64:], "0" * 64))),
        lambda path: (path.unlink(), path.mkdir()),
    ],
    ids=["zeros", "a byte", "truncated", "longer", "empty", "renamed", "a folder"],
)
def test_a_decoded_copy_that_is_not_what_was_written_is_made_again(kept_once, damage):
    decode, runs = kept_once
    damage(kept())
    decode()
    assert len(runs) == 2


def test_a_new_decoder_does_not_read_what_the_old_one_kept(kept_once, monkeypatch):
    decode, runs = kept_once
    before = kept()
    monkeypatch.setattr(files, "_decoder", lambda: "12345678")
    decode()
    decode()
    assert len(runs) == 2
    assert kept() != before, "and the old one makes room"


def test_the_decoder_s_version_follows_the_code(tmp_path, monkeypatch):
    version = files._decoder()
    assert re.fullmatch("[0-9a-f]{8}", version)
    folder = Path(files.__file__).parent
    for path in filter(Path.is_file, folder.iterdir()):
        put(tmp_path, path.name, path.read_bytes())
    monkeypatch.setattr(files, "code_of", lambda package: tmp_path)
    files._decoder.cache_clear()
    assert files._decoder() == version
    put(
        tmp_path, "images.py", (tmp_path / "images.py").read_bytes().replace(b"0, 2, 1", b"0, 1, 2")
    )
    files._decoder.cache_clear()
    assert files._decoder() != version
    files._decoder.cache_clear()


class _Harmful:
    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return Path.touch, (self.trace,)


def test_nothing_is_ever_unpickled(kept_once, tmp_path):
    decode, runs = kept_once
    trace, path = tmp_path / "unpickled", kept()
    x = np.array([_Harmful(trace)], dtype=object)
    np.savez(path, x=x, y=x)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    path.rename(path.with_name(path.name.replace(path.stem[-64:], digest)))
    decode()
    assert len(runs) == 2 and not trace.exists()


def test_a_cache_that_cannot_be_written_costs_time_alone(offline):
    put(offline, "set/thing.bin", CONTENT)
    put(cache_folder(), "decoded", b"a file where the folder should be")
    arrays = decoded({"thing": fetch(THING)}, lambda: {"x": np.arange(3)})
    assert arrays["x"].tolist() == [0, 1, 2]


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


@pytest.mark.parametrize("name", ["a b \u00fc \u6f22", "/".join(["x" * 90] * 10)])
def test_decoded_copies_lie_at_any_path(offline, monkeypatch, tmp_path, name):
    monkeypatch.setenv("INVARIANCE_CACHE", str(tmp_path / name))
    put(offline, "set/thing.bin", CONTENT)
    for _ in range(2):
        arrays = decoded({"thing": fetch(THING)}, lambda: {"x": np.arange(3)})
        assert arrays["x"].tolist() == [0, 1, 2]
    assert kept().is_file()


def test_a_recording_that_ends_too_soon_is_refused(tmp_path):
    whole = WAVE.getvalue()
    assert len(read_wav(put(tmp_path, "1_ann_0.wav", whole))) == 50
    for length in (12, 20, 30, 44, 60, 61, len(whole) - 2, len(whole) - 1):
        path = put(tmp_path, "1_ann_0.wav", whole[:length])
        with pytest.raises(ValueError, match="1_ann_0"):
            read_wav(path)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: make_translated_mnist([["a"]], np.arange(4)), "images"),
        (lambda: make_translated_mnist(np.zeros((4, 8, 8)), 3), "labels"),
        (lambda: balanced_sample([], 2), "labels"),
        (lambda: split_rows([0, 1], train=None, test=[True, False]), "train"),
        (lambda: read_wav(WAVE, None), "sample_rate"),
        (lambda: load_mnist("no"), "download_if_missing"),
    ],
)
def test_wrong_parameters_are_named(call, named):
    """Beside those that tests/test_fuzz_parameters.py tries."""
    with pytest.raises(ValueError, match=named):
        call()
