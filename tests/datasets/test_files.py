"""Data files: their folders, checksums, and formats."""

import gzip
import hashlib
import io
import os
import re
import sys
import tarfile
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pooch
import pytest
from numpy.testing import assert_array_equal
from scipy.io import wavfile

from invariance import datasets
from invariance.datasets import DataError, available, catalogue, download, files
from invariance.datasets import images as image_loaders
from invariance.datasets import speech as speech_loaders
from invariance.datasets.catalogue import CATALOGUE
from invariance.datasets.files import DataFile, Source, cache_folder, fetch, locate, tar_members

LOADERS = {
    "mnist": image_loaders.load_mnist,
    "emnist": image_loaders.load_emnist_letters,
    "cifar10": image_loaders.load_cifar10,
    "fsdd": speech_loaders.load_fsdd,
    "synthetic_speech": speech_loaders.load_synthetic_speech,
}
CONTENT = b"some content"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
MD5 = hashlib.md5(CONTENT).hexdigest()


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


@pytest.mark.parametrize("checksum", [f"sha256:{SHA256}", f"md5:{MD5}"])
def test_the_data_folder_takes_precedence_over_the_cache(offline, checksum):
    file = DataFile("thing", (Source("set/thing.bin", checksum),))
    in_cache = put(Path(os.environ["INVARIANCE_CACHE"]), "set/thing.bin", CONTENT)
    assert fetch(file).path == in_cache
    in_folder = put(offline, "set/thing.bin", CONTENT)
    local = fetch(file)
    assert local.path == in_folder and local.sha256 == SHA256


def test_one_of_two_alternative_files_is_enough(offline):
    file = DataFile(
        "thing",
        (Source("set/rebuilt.bin", "sha256:" + "0" * 64), Source("set/official.bin", f"md5:{MD5}")),
    )
    put(offline, "set/rebuilt.bin", b"damaged")
    assert not locate(file).holds
    put(offline, "set/official.bin", CONTENT)
    assert fetch(file).path.name == "official.bin"


def test_the_error_for_a_damaged_file_names_both_checksums(offline):
    path = put(offline, "mnist/train-images-idx3-ubyte.gz", b"not what it should be")
    actual = hashlib.sha256(b"not what it should be").hexdigest()
    with pytest.raises(DataError) as caught:
        image_loaders.load_mnist()
    message = str(caught.value)
    for part in (str(path), actual, "440fcabf73cc", "invariance data --download mnist", "https://"):
        assert part in message


@pytest.mark.parametrize("name", LOADERS)
def test_the_error_for_a_missing_file_names_its_source(offline, name):
    with pytest.raises(DataError) as caught:
        LOADERS[name]()
    message = str(caught.value)
    source = CATALOGUE[name].files[0].sources[0]
    assert source.path in message and source.checksum in message and str(offline) in message
    if any(s.url for s in CATALOGUE[name].files[0].sources):
        assert "no route to" in message and "--download" in message
    else:
        assert "no public download" in message
    with pytest.raises(DataError, match="INVARIANCE_DATA"):
        LOADERS[name](download_if_missing=False)
    with pytest.raises(DataError):
        download(name)


def test_a_download_is_verified_and_reused(offline, monkeypatch):
    calls = []

    def retrieve(url, known_hash, fname, path, downloader):
        calls.append((url, known_hash))
        return put(Path(path), fname, CONTENT)

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    file = DataFile(
        "thing",
        (
            Source("set/rebuilt.bin", "sha256:" + "0" * 64),
            Source("set/thing.bin", f"md5:{MD5}", "https://example.org/t"),
        ),
    )
    assert fetch(file).path == fetch(file).path
    assert calls == [("https://example.org/t", f"md5:{MD5}")]


def test_available_lists_the_files_of_the_folder(offline):
    assert not any(info.present for info in available())
    put(offline, "qm7/qm7.mat", b"damaged")
    infos = {info.name: info for info in available()}
    assert infos["qm7"].present and not infos["qm7"].checksum_ok
    assert infos["mnist"].files[0] == "train-images-idx3-ubyte.gz"
    with pytest.raises(ValueError, match="download needs name to be 'mnist'.*got 'nist'"):
        download("nist")


def idx(array: np.ndarray) -> bytes:
    shape = b"".join(int(s).to_bytes(4, "big") for s in array.shape)
    return b"\x00\x00\x08" + bytes([array.ndim]) + shape + array.tobytes()


def trusted(monkeypatch, name: str, folder: Path, contents: dict[str, bytes]) -> None:
    """Put files into the folder and register their checksums."""
    entry = CATALOGUE[name]
    files = tuple(
        DataFile(file.name, (Source(path, "sha256:" + hashlib.sha256(content).hexdigest()),))
        for file, (path, content) in zip(entry.files, contents.items(), strict=True)
    )
    for path, content in contents.items():
        put(folder, path, content)
    monkeypatch.setitem(catalogue.CATALOGUE, name, replace(entry, files=files))


def test_mnist_and_emnist_files_are_read(offline, monkeypatch):
    rng = np.random.default_rng(0)
    arrays = [
        rng.integers(0, 256, (5, 4, 4), dtype=np.uint8),
        np.arange(5, dtype=np.uint8),
        rng.integers(0, 256, (2, 4, 4), dtype=np.uint8),
        np.arange(2, dtype=np.uint8),
    ]
    for name, loader, suffix in (
        ("mnist", image_loaders.load_mnist, ".gz"),
        ("emnist", image_loaders.load_emnist_letters, ".zip"),
    ):
        contents = {}
        for i, (file, array) in enumerate(zip(CATALOGUE[name].files, arrays, strict=True)):
            packed = gzip.compress(idx(array))
            if suffix == ".zip":
                with zipfile.ZipFile(buffer := io.BytesIO(), "w") as archive:
                    archive.writestr(f"gzip/{file.name}.gz", packed)
                packed = buffer.getvalue()
            contents[f"{name}/{i}{suffix}"] = packed
        trusted(monkeypatch, name, offline, contents)
        dataset = loader()
        upright = [a.transpose(0, 2, 1) if name == "emnist" and a.ndim == 3 else a for a in arrays]
        assert_array_equal(dataset.train[0], upright[0])
        assert_array_equal(dataset.test[0], upright[2])
        assert_array_equal(dataset.test[1], arrays[3])
        assert set(dataset.sources) == set(contents)
        assert all(len(sha) == 64 for sha in dataset.sources.values())


@pytest.mark.parametrize(
    ("content", "message"),
    [(idx(np.arange(5, dtype=np.uint8))[:-1], "announced"), (b"<html>", "no IDX")],
    ids=["truncated", "page"],
)
def test_damaged_idx_files_are_refused(offline, monkeypatch, content, message):
    packed = gzip.compress(content)
    trusted(monkeypatch, "mnist", offline, {f"mnist/{i}.gz": packed for i in range(4)})
    with pytest.raises(DataError, match=message):
        image_loaders.load_mnist()


def test_files_that_change_while_they_are_read_are_refused(offline, monkeypatch):
    array = np.arange(16, dtype=np.uint8)
    packed = gzip.compress(idx(array))
    replaced = gzip.compress(idx(array[::-1]))
    trusted(monkeypatch, "mnist", offline, {f"mnist/{i}.gz": packed for i in range(4)})
    unpack = image_loaders.unpack

    def overwritten(path, member):
        path.write_bytes(replaced)
        return unpack(path, member)

    monkeypatch.setattr(image_loaders, "unpack", overwritten)
    with pytest.raises(DataError, match=r"mnist/0\.gz changed while it was read"):
        image_loaders.load_mnist()


def test_cifar_records_are_read_channel_by_channel(offline, monkeypatch):
    records = np.random.default_rng(0).integers(0, 256, (10_000, 3073), dtype=np.uint8)
    names = [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]
    content = archive({f"cifar-10-batches-bin/{n}": records.tobytes() for n in names}, "w")
    trusted(monkeypatch, "cifar10", offline, {"cifar10/official.tar": content})
    dataset = image_loaders.load_cifar10()
    assert dataset.data.shape == (60_000, 32, 32, 3) and dataset.n_train == 50_000
    image = dataset.data[3]
    record = records[3]
    assert dataset.target[3] == record[0]
    for channel in range(3):
        plane = record[1 + 1024 * channel : 1 + 1024 * (channel + 1)]
        assert_array_equal(image[..., channel].ravel(), plane)
    assert len(dataset.lossy_test_rows) == 0


def test_fsdd_is_verified_by_its_content(offline, monkeypatch):
    digest = hashlib.sha256()
    members = {}
    for i, name in enumerate(["0_ann_0.wav", "7_bob_3.wav"]):
        wavfile.write(wave := io.BytesIO(), 8000, np.full(5, i, dtype=np.int16))
        digest.update(name.encode() + b"\0" + wave.getvalue())
        members[f"any-release/recordings/{name}"] = wave.getvalue()
    content = archive(members)
    digest = digest.hexdigest()
    put(offline, "fsdd/fsdd.tar.gz", content)
    message = f"expected checksum .*content:6b1a.*found content:{digest}"
    with pytest.raises(DataError, match=message):
        speech_loaders.load_fsdd()
    entry = CATALOGUE["fsdd"]
    official = replace(entry.files[0].sources[-1], checksum=f"content:{digest}")
    registered = replace(entry, files=(DataFile("fsdd", (official,)),))
    monkeypatch.setitem(catalogue.CATALOGUE, "fsdd", registered)
    dataset = speech_loaders.load_fsdd()
    assert dataset.target.tolist() == [0, 7] and dataset.speaker.tolist() == ["ann", "bob"]
    assert [len(w) for w in dataset.data] == [5, 5]


# -- archives and downloads are bounded and verified -----------------------------------------------

THING = DataFile("thing", (Source("set/thing.bin", f"sha256:{SHA256}"),))
ANY = re.compile(r".*")


WAVE = io.BytesIO()
wavfile.write(WAVE, 8000, np.arange(50, dtype=np.int16))


@pytest.mark.parametrize("content", [
    b"",
    b"<!doctype html><title>Sign in to this network</title>",
    archive({"recordings/0_ann_0.wav": WAVE.getvalue()}),
    archive({"recordings/0_ann_0.wav": WAVE.getvalue()})[:-20],
    gzip.compress(b"garbage"),
], ids=["empty", "page", "other", "truncated", "packed garbage"])  # fmt: skip
def test_an_archive_with_other_contents_is_refused(offline, content):
    path = put(offline, "fsdd/fsdd.tar.gz", content)
    fsdd = next(info for info in available() if info.name == "fsdd")
    assert fsdd.present and not fsdd.checksum_ok
    with pytest.raises(DataError, match="damaged or another file") as caught:
        speech_loaders.load_fsdd()
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("mode", ["w:gz", "w:xz", "w"])
def test_an_archive_that_unpacks_to_more_than_the_bound_is_refused(tmp_path, mode):
    suffix = mode[1:].replace(":", ".")
    path = put(tmp_path, "bomb.tar" + suffix, archive({"0_ann_0.wav": bytes(2**25)}, mode))
    for names in (ANY, re.compile("something else")):
        tracemalloc.start()
        with pytest.raises(DataError, match="unpacks to more than 2,097,152 bytes"):
            tar_members(path, names, max_bytes=2**21)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 2**24  # an xz dictionary takes 2**23 bytes
    assert len(tar_members(path, ANY)["0_ann_0.wav"]) == 2**25


def test_images_that_unpack_to_more_than_the_bound_are_refused(tmp_path):
    packed = gzip.compress(bytes(2**22))
    with zipfile.ZipFile(buffer := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("images.gz", packed)
    for name, content in (("images.gz", packed), ("images.zip", buffer.getvalue())):
        path = put(tmp_path, name, content)
        assert len(files.unpack(path, "images.gz")) == 2**22
        with pytest.raises(DataError, match="more than 1,048,576 bytes"):
            files.unpack(path, "images.gz", max_bytes=2**20)
        put(tmp_path, name, content[:-9])
        with pytest.raises(DataError, match="cannot be read"):
            files.unpack(path, "images.gz")
    path = put(tmp_path, "images.zip", buffer.getvalue())
    with pytest.raises(DataError, match="cannot be read.*no item"):
        files.unpack(path, "labels.gz")


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
def test_headers_that_announce_seven_gigabytes_are_refused(tmp_path, kind):
    header = tarfile.TarInfo("0_ann_0.wav")
    header.size = 7 * 2**30
    header.type = kind
    content = gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + bytes(2**22))
    path = put(tmp_path, "promise.tar.gz", content)
    tracemalloc.start()
    with pytest.raises(DataError, match=r"cannot be read|more than"):
        tar_members(path, ANY, max_bytes=2**21)
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()


def test_files_that_are_too_large_are_not_read(offline, monkeypatch):
    put(offline, "set/thing.bin", CONTENT)
    monkeypatch.setattr(files, "MAX_BYTES", len(CONTENT) - 1)
    local = locate(THING)
    assert local is not None and not local.holds and "12 bytes, more than" in local.checksum


def test_a_file_replaced_with_the_same_time_stamp_is_verified_again(offline):
    path = put(offline, "set/thing.bin", CONTENT)
    before = path.stat()
    assert fetch(THING).holds
    path.write_bytes(CONTENT[::-1])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not locate(THING).holds


@pytest.mark.parametrize("page", [b"<html>Sign in</html>", b""])
def test_a_web_page_in_place_of_a_file_is_not_cached(offline, monkeypatch, page):
    monkeypatch.setattr(
        pooch, "retrieve", lambda url, known_hash, fname, path, **_: put(Path(path), fname, page)
    )
    with pytest.raises(DataError, match="sent .*cannot be read"):
        speech_loaders.load_fsdd()
    assert not [p for p in cache_folder().rglob("*") if p.is_file()]
    with pytest.raises(DataError, match="sent sha256:"):
        image_loaders.load_mnist()


def test_a_download_without_end_is_stopped(offline, monkeypatch):
    class Endless:
        def __call__(self, url, output, caller):
            while True:
                output.write(bytes(2**16))

    def retrieve(url, known_hash, fname, path, downloader):
        downloader(url, str(Path(path) / fname), None)

    monkeypatch.setattr(pooch, "HTTPDownloader", Endless)
    monkeypatch.setattr(pooch, "retrieve", retrieve)
    monkeypatch.setattr(files, "MAX_BYTES", 2**20)
    with pytest.raises(DataError, match="larger than any data file"):
        image_loaders.load_mnist()
    assert not [p for p in cache_folder().rglob("*") if p.is_file()]


def test_reading_works_without_pooch_and_downloading_names_the_extra(offline, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    message = r"mnist/train-images.*pip install \"\.\[data\]\" in a clone"
    with pytest.raises(ImportError, match=message):
        image_loaders.load_mnist()
    with pytest.raises(DataError, match="train-images"):
        image_loaders.load_mnist(download_if_missing=False)
    put(offline, "set/thing.bin", CONTENT)
    assert fetch(THING).holds


def test_the_cache_is_the_folder_of_pooch_and_exists_without_a_home(monkeypatch, tmp_path):
    for name in ("INVARIANCE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert cache_folder() == Path(pooch.os_cache("invariance"))
    monkeypatch.delenv("HOME", raising=False)
    assert cache_folder().is_absolute()  # from the user database of the system
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert cache_folder().is_absolute()


needs_files = pytest.mark.skipif(
    "INVARIANCE_DATA" not in os.environ, reason="INVARIANCE_DATA is not set"
)


@pytest.fixture
def no_cache(tmp_path, monkeypatch):
    """Let loaders read the data folder alone."""
    monkeypatch.setenv("INVARIANCE_CACHE", str(tmp_path))


@pytest.mark.data
@needs_files
def test_the_checksums_of_all_files_are_right(no_cache):
    assert all(info.checksum_ok for info in available())


def mnist_as_published(mnist):
    assert mnist.data.shape == (70_000, 28, 28)
    assert mnist.target[:8].tolist() == [5, 0, 4, 1, 9, 2, 1, 3]


def emnist_as_published(emnist):
    assert emnist.data.shape == (145_600, 28, 28) and emnist.n_train == 124_800
    assert np.all(np.bincount(emnist.target) == [0, *[5600] * 26])


def cifar10_as_published(cifar10):
    assert cifar10.data.shape == (60_000, 32, 32, 3) and cifar10.n_train == 50_000
    assert np.all(np.bincount(cifar10.target) == 6000)


def fsdd_as_published(fsdd):
    assert len(fsdd.data) == 3000 and len(set(fsdd.speaker)) == 6


def synthetic_speech_as_published(speech):
    assert len(speech.data) == 1800 and len(set(speech.speaker[speech.group == "child"])) == 20


def qm7_as_published(qm7):
    assert qm7.data.shape == (7165, 23, 23) and -2200 < qm7.target.min() < qm7.target.max() < -400
    assert np.array_equal(np.sort(qm7.folds.ravel()), np.arange(7165))


def osu_leaf_as_published(series):
    assert series.data.shape == (442, 427) and series.n_train == 200
    assert set(series.target) == set(range(1, 7))


def mutag_as_published(graphs):
    assert len(graphs.data) == 188 and graphs.target.sum() == 125
    for adjacency in graphs.data:
        assert np.array_equal(adjacency, adjacency.T) and adjacency.diagonal().max() == 0
        assert adjacency.sum(axis=1).min() > 0 and adjacency.sum() % 2 == 0
    assert {len(A) for A in graphs.data} == {len(kinds) for kinds in graphs.atoms}


#: Loaders of files: their arguments, and the contents of the published files.
READ = {
    "load_cifar10": ([], cifar10_as_published),
    "load_emnist_letters": ([], emnist_as_published),
    "load_fsdd": ([], fsdd_as_published),
    "load_mnist": ([], mnist_as_published),
    "load_mutag": ([], mutag_as_published),
    "load_qm7": ([], qm7_as_published),
    "load_synthetic_speech": ([], synthetic_speech_as_published),
    "load_ucr": (["OSULeaf"], osu_leaf_as_published),
}


@pytest.mark.data
@needs_files
@pytest.mark.parametrize("name", READ)
def test_the_files_are_those_published_and_loaders_filter_them(no_cache, monkeypatch, name):
    """One reading shows both: the filter is given all rows, and the loader returns those it keeps.

    Reading takes up to half a minute.
    """
    arguments, as_published = READ[name]
    given = []

    def keep_two(dataset):
        given.append(dataset)
        return dataset.take([1, 0])

    filters = ModuleType("filter_of_this_test")
    filters.keep_two = keep_two
    monkeypatch.setitem(sys.modules, filters.__name__, filters)
    monkeypatch.setenv("INVARIANCE_DATASET_FILTER", f"{filters.__name__}:keep_two")
    filtered = getattr(datasets, name)(*arguments, download_if_missing=False)
    (dataset,) = given
    as_published(dataset)
    assert filtered.target.tolist() == dataset.target[[1, 0]].tolist()
