"""Generated data sets agree with their description; splits; the filter of all loaders."""

import copy
import pickle
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import ndimage

from invariance import datasets as D
from invariance.core.parameters import ParameterError
from invariance.groups import Permutations

from .test_files import READ


def blobs(n=6, side=28, seed=0):
    X = np.zeros((n, side, side))
    X[:, 8:20, 8:20] = np.random.default_rng(seed).random((n, 12, 12))
    return X, np.arange(n)


def test_a_dataset_has_data_target_and_split():
    dataset = D.Dataset(
        np.eye(4), np.arange(4), description="rows", n_train=3, details={"colour": "red"}
    )
    assert dataset.colour == "red" and len(dataset.train[0]) == 3
    for twin in (pickle.loads(pickle.dumps(dataset)), copy.deepcopy(dataset)):
        assert twin.colour == "red"
    with pytest.raises(AttributeError, match=r"\['colour'\]"):
        _ = dataset.color
    with pytest.raises(ValueError, match="without a split"):
        _ = D.Dataset(np.eye(4), np.arange(4), description="rows").test


def test_bundled_digits_have_the_format_of_mnist():
    digits = D.load_digits_images()
    assert digits.data.dtype == np.uint8 and digits.data.max() == 255
    assert not digits.data[:, :4].any() and not digits.data[:, :, 24:].any()
    assert set(digits.target) == set(range(10))


def test_translated_digits_contain_the_image_at_its_offset():
    X, y = blobs()
    translated = D.make_translated_mnist(X, y, random_state=3)
    assert translated.data.shape == (6, 64, 64) and translated.data.dtype == np.float32
    for image, place, (down, right) in zip(X, translated.data, translated.offsets, strict=True):
        assert_allclose(place[down : down + 28, right : right + 28], image, atol=1e-7)
        assert np.isclose(place.sum(), image.sum(), rtol=1e-5)
    many = D.make_translated_mnist(np.zeros((4000, 28, 28)), np.zeros(4000), random_state=0)
    assert set(many.offsets.ravel()) == set(range(37))


def test_noise_has_the_stated_standard_deviation():
    X, y = blobs()
    plain, noisy = (D.make_translated_mnist(X, y, noise=s, random_state=1) for s in (0, 0.1))
    assert_array_equal(plain.offsets, noisy.offsets)
    difference = noisy.data - plain.data
    assert abs(difference.std() - 0.1) < 0.005 and abs(difference.mean()) < 0.005
    rotated = D.make_rotated_on_canvas(X, y, canvas=64, noise=0.1, random_state=1)
    assert abs(rotated.data[:, :5].std() - 0.1) < 0.01


def test_noise_fills_the_blank_area_around_a_rotated_image():
    """Only the blank area after the rotation has noise (Liu et al. 2022, section 4.1)."""
    _, y = blobs(40)
    frames = np.ones((40, 28, 28))
    plain, noisy = (D.make_rotated_on_canvas(frames, y, noise=s, random_state=1) for s in (0, 0.1))
    assert_array_equal(plain.degrees, noisy.degrees)
    covered = plain.data > 0.9  # splines oscillate at the border of the frame
    assert 0.1 < covered.mean() < 0.99
    assert_array_equal(noisy.data[covered], plain.data[covered])
    blank = plain.data == 0
    assert abs(noisy.data[blank].std() - 0.1) < 0.005


def test_digits_are_rotated_in_their_frame():
    X, y = blobs(40)
    rotated = D.make_rotated_mnist(X, y, n_train=10, n_test=25, random_state=0)
    assert rotated.n_train == 10 and len(set(rotated.rows)) == 35
    assert_array_equal(rotated.target, y[rotated.rows])
    assert not np.any(rotated.degrees == np.round(rotated.degrees))
    for image, row, angle in zip(rotated.data, rotated.rows, rotated.degrees, strict=True):
        assert_allclose(image, ndimage.rotate(X[row], angle, reshape=False, order=1), atol=1e-6)
    again = D.make_rotated_mnist(X, y, n_train=10, n_test=25, random_state=0)
    assert_array_equal(rotated.data, again.data)


def test_digits_are_rotated_on_a_larger_canvas():
    X, y = blobs(40)
    rotated = D.make_rotated_on_canvas(X, y, random_state=0)
    assert rotated.data.shape == (40, 64, 64)
    assert rotated.degrees.dtype.kind == "i"
    assert rotated.degrees.min() >= -180 and rotated.degrees.max() <= 179
    for image, x, angle in zip(rotated.data, X, rotated.degrees, strict=True):
        grown = ndimage.rotate(x, angle, order=3)
        top = (64 - grown.shape[0]) // 2
        left = (64 - grown.shape[1]) // 2
        part = image[top : top + grown.shape[0], left : left + grown.shape[1]]
        assert_allclose(part, grown, atol=1e-5)
        assert np.isclose(image.sum(), grown.sum(), atol=1e-3)


def test_deformations_have_the_stated_displacement():
    """Pixels contain their coordinates, so that differences of values are displacements."""
    places = np.indices((40, 40)).astype(float)
    inner = np.s_[:, 12:28, 12:28]
    many = np.repeat(places, 300, axis=0)
    shifts = (D.deform_images(many, linear=0, bend=0, shift=0.7, random_state=1) - many)[inner]
    assert np.ptp(shifts, axis=(1, 2)).max() < 1e-9  # a shift displaces all pixels alike
    assert shifts[:, 0, 0].std() == pytest.approx(
        0.7, rel=0.12
    )  # three standard errors of 600 draws
    bent = D.deform_images(many, linear=0, bend=0.6, shift=0, smoothness=4, random_state=1) - many
    assert np.sqrt(np.mean(bent[inner] ** 2)) == pytest.approx(0.6, rel=0.1)
    assert np.abs(np.diff(bent[inner], axis=2)).max() < 1  # smooth: positions stay in order
    middle = np.hypot(*(places - 19.5))[None, 12:28, 12:28]
    linear = D.deform_images(many, linear=0.05, bend=0, shift=0, random_state=1) - many
    assert np.mean(linear[inner] ** 2) == pytest.approx(0.05**2 * np.mean(middle**2), rel=0.2)


def test_a_deformation_of_size_zero_does_not_change_images():
    images = np.random.default_rng(0).random((3, 12, 9)).astype(np.float32)
    same = D.deform_images(images, linear=0, shift=0, bend=0, random_state=0)
    assert same.dtype == np.float32
    assert_allclose(same, images, atol=1e-6)
    first = D.deform_images(images, random_state=5)
    second = D.deform_images(images, random_state=5)
    assert_array_equal(first, second)


def test_vowels_have_their_formants():
    vowels = D.make_vowels(n_speakers=6, repetitions=2, random_state=0)
    assert len(vowels.data) == 120 and set(vowels.group) == {"man", "woman", "child"}
    assert all(1600 <= len(w) <= 4800 and np.abs(w).max() <= 1 for w in vowels.data)
    again = D.make_vowels(n_speakers=6, repetitions=2, random_state=0)
    assert all(np.array_equal(a, b) for a, b in zip(vowels.data, again.data, strict=True))

    def energy(word, group, low, high):
        """Share of the energy between two frequencies, averaged over the group."""
        shares = []
        for i in np.flatnonzero((vowels.target == word) & (vowels.group == group)):
            spectrum = np.abs(np.fft.rfft(vowels.data[i])) ** 2
            hertz = np.fft.rfftfreq(len(vowels.data[i]), 1 / vowels.sample_rate)
            shares.append(spectrum[(hertz >= low) & (hertz < high)].sum() / spectrum.sum())
        return np.mean(shares)

    heed = vowels.words.index("heed")
    hod = vowels.words.index("hod")
    # First formants at 270 and 730 Hz; those of children are higher.
    assert energy(heed, "man", 150, 450) > 2 * energy(hod, "man", 150, 450)
    assert energy(hod, "child", 900, 4000) > energy(hod, "man", 900, 4000)


def test_molecules_have_the_format_of_qm7_and_the_coulomb_matrices_of_their_atoms():
    molecules = D.make_molecules(40, random_state=3)
    n_atoms = (molecules.charges > 0).sum(axis=1)
    assert set(n_atoms) == {4, 5, 6, 7}
    assert sorted(molecules.folds.ravel()) == list(range(40))
    for C, R, Z, n in zip(
        molecules.data, molecules.positions, molecules.charges, n_atoms, strict=True
    ):
        expected = [
            [
                0.5 * Z[i] ** 2.4 if i == j else Z[i] * Z[j] / np.linalg.norm(R[i] - R[j])
                for j in range(n)
            ]
            for i in range(n)
        ]
        assert not C[n:].any() and not C[:, n:].any()
        assert_allclose(np.sort(C[:n, :n], axis=None), np.sort(expected, axis=None), rtol=1e-4)
        assert (np.diff(C.sum(axis=1)) <= 1e-4).all()


def test_energies_of_molecules_do_not_depend_on_the_order_of_the_atoms():
    """The energy is a function of charges and distances."""
    molecules = D.make_molecules(25, random_state=4)
    for R, Z, energy in zip(molecules.positions, molecules.charges, molecules.target, strict=True):
        i, j = np.nonzero(np.triu(np.outer(Z, Z), 1))
        bonds = np.sqrt(Z[i] * Z[j]) * np.exp(-np.linalg.norm(R[i] - R[j], axis=1) / 2)
        assert energy == pytest.approx(-50 * np.sqrt(Z.sum()) - 20 * bonds.sum(), rel=1e-5)


def test_stripes_vary_across_their_direction_and_spots_in_all_directions():
    textures = D.make_textures(60, random_state=0)
    rough = textures.data.astype(float)
    down, across = (np.diff(rough, axis=axis).std(axis=(1, 2, 3)) for axis in (1, 2))
    ratio = across / down
    assert (ratio[textures.target == 1] > 2).all()
    assert (np.abs(np.log(ratio[textures.target == 0])) < 0.5).all()
    assert textures.n_train == 40


# -- the task X_perm ------------------------------------------------------------------------------


def test_xperm_has_every_sequence_once_and_the_number_of_positives_of_the_paper():
    X, y = D.make_xperm(random_state=3)
    assert len(np.unique(X, axis=0)) == len(X) == 8**5
    assert np.all(X.reshape(-1, 5, 8).sum(axis=2) == 1)
    # Inclusion and exclusion: all, minus those without one target, plus those without both.
    assert y.sum() == 8**5 - 2 * 7**5 + 6**5


def test_labels_of_xperm_are_invariant_to_permutations():
    X, y = D.make_xperm(length=3, alphabet=4, random_state=0)
    label = {x.tobytes(): v for x, v in zip(X, y, strict=True)}
    group = Permutations(3, block=4)
    for permuted in group.act(group.elements(), X):
        assert [label[x.tobytes()] for x in permuted] == y.tolist()


def test_the_seed_determines_the_targets():
    y = [D.make_xperm(random_state=seed)[1] for seed in (0, 0, 1)]
    assert np.array_equal(y[0], y[1]) and not np.array_equal(y[0], y[2])


# -- splits, and recordings cut to one length ------------------------------------------------------


def test_balanced_samples_have_equally_many_points_per_class():
    target = np.repeat([3, 5, 9], [4, 6, 8])
    rows = D.balanced_sample(target, 4, random_state=0)
    assert np.array_equal(target[rows], np.repeat([3, 5, 9], 4)) and len(set(rows)) == 12
    assert np.array_equal(rows, D.balanced_sample(target, 4, random_state=0))


def test_recordings_are_cut_to_one_length_around_their_centre():
    rows = D.fixed_length([np.arange(1, 4), np.arange(10)], 6)
    assert rows.tolist() == [[0, 1, 2, 3, 0, 0], [2, 3, 4, 5, 6, 7]]


# -- splits, and the filter of all loaders ---------------------------------------------------------


def five_points(**fields):
    details = {"speaker": np.array(list("aabbc")), "places": np.ones((5, 2)), "rate": 8000}
    return D.Dataset(
        np.arange(10).reshape(5, 2), np.arange(5), description="five points", details=details,
        **fields,
    )  # fmt: skip


def test_split_puts_training_rows_first():
    parts = five_points(sources={"file": "0" * 64}).split(test=[3, 0])
    assert parts.target.tolist() == [1, 2, 4, 3, 0] and parts.n_train == 3
    assert parts.rows.tolist() == [1, 2, 4, 3, 0] and parts.sources == {"file": "0" * 64}
    few = five_points().split(test=[3], train=[4, 0])
    assert few.target.tolist() == [4, 0, 3] and few.test[1].tolist() == [3]


def test_take_copies_rows_with_their_attributes():
    points = five_points(n_train=3)
    taken = points.take([4, 0])
    assert taken.target.tolist() == [4, 0] and taken.speaker.tolist() == ["c", "a"]
    assert taken.places.shape == (2, 2) and taken.rate == 8000 and taken.n_train is None
    assert taken.data.base is None
    assert points.take(points.speaker == "b").target.tolist() == [2, 3]
    with pytest.raises(ParameterError, match="rows must be row numbers below 5"):
        points.take([5])


@pytest.mark.parametrize("n_points", [5, 20])
def test_parts_have_no_row_numbers_of_the_whole(n_points):
    molecules = D.make_molecules(n_points, random_state=0)
    rows = np.arange(n_points)[::-1]
    for part in (molecules.take(rows), molecules.split(test=rows[:2], train=rows[2:])):
        assert not hasattr(part, "folds") and len(part.charges) == n_points
    assert molecules.folds.shape == (5, n_points // 5)
    photographs = D.Dataset(
        np.zeros((3, 2)), np.arange(3), description="3", details={"lossy_test_rows": np.arange(2)}
    )
    assert not hasattr(photographs.take([0]), "lossy_test_rows")


#: Loaders that need no file, with small arguments.
GENERATED = {
    "load_digits_images": {},
    "make_molecules": {"n_samples": 10},
    "make_rotated_mnist": {"n_train": 3, "n_test": 2},
    "make_rotated_on_canvas": {},
    "make_textures": {"n_samples": 9},
    "make_translated_mnist": {},
    "make_vowels": {"n_speakers": 1, "repetitions": 1},
}


def call(name):
    arguments = GENERATED[name]
    if name in ("make_rotated_mnist", "make_rotated_on_canvas", "make_translated_mnist"):
        return getattr(D, name)(*blobs(), **arguments)
    return getattr(D, name)(**arguments)


@pytest.fixture
def two_rows(monkeypatch, tmp_path):
    """Set a filter for all data sets that selects two rows."""
    (tmp_path / "two_rows.py").write_text(
        "def keep(dataset): return dataset.take([1, 0])\n", "utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("INVARIANCE_DATASET_FILTER", "two_rows:keep")
    yield
    sys.modules.pop("two_rows", None)


def test_every_loader_is_tested():
    loaders = {name for name in D.__all__ if name.startswith(("load_", "make_"))}
    assert loaders == {*GENERATED, *READ, "make_xperm"}  # make_xperm returns arrays


@pytest.mark.parametrize("name", GENERATED)
def test_generated_data_sets_are_filtered(two_rows, name):
    assert len(call(name).target) == 2


def test_splits_are_filtered_and_a_missing_filter_is_named(two_rows, monkeypatch):
    assert five_points().split(test=[0]).target.tolist() == [2, 1]
    for path in ("two_rows:missing", "no.such.module:keep", "two_rows"):
        monkeypatch.setenv("INVARIANCE_DATASET_FILTER", path)
        with pytest.raises(ParameterError, match=f"INVARIANCE_DATASET_FILTER.*{path}"):
            D.load_digits_images()


def test_images_in_never_test_are_not_test_images():
    digits = D.load_digits_images()
    X = digits.data[:100]
    y = digits.target[:100]
    chosen_on = D.make_rotated_mnist(X, y, n_train=30, n_test=60, random_state=0).rows[:30]
    for seed in (1, 2, 3):
        sizes = {"n_train": 30, "n_test": 60, "random_state": seed}
        unrestricted = D.make_rotated_mnist(X, y, **sizes)
        restricted = D.make_rotated_mnist(X, y, never_test=chosen_on, **sizes)
        assert np.isin(unrestricted.rows[30:], chosen_on).any(), "chance would draw such images"
        assert not np.isin(restricted.rows[30:], chosen_on).any()
        assert len(np.unique(restricted.rows)) == 90 and restricted.n_train == 30
    message = "n_test=80 are too many: 100 images are there, 70 of them to test on"
    with pytest.raises(ParameterError, match=message):
        D.make_rotated_mnist(X, y, n_train=20, n_test=80, never_test=chosen_on, random_state=0)


def test_never_test_may_be_a_mask_but_no_set():
    digits = D.load_digits_images()
    images = (digits.data[:40], digits.target[:40])
    sizes = {"n_train": 10, "n_test": 20, "random_state": 0}
    rows = np.arange(0, 40, 3)
    by_rows = D.make_rotated_mnist(*images, never_test=rows, **sizes)
    by_mask = D.make_rotated_mnist(*images, never_test=np.arange(40) % 3 == 0, **sizes)
    assert_array_equal(by_mask.rows, by_rows.rows)
    assert not np.isin(by_mask.rows[10:], rows).any()
    assert len(D.make_rotated_mnist(*images, never_test=[], **sizes).rows) == 30
    for unusable in ({1, 2}, [40], [-1], [0.5], np.ones(39, dtype=bool)):
        with pytest.raises(ParameterError, match="never_test must be row numbers below 40 or a m"):
            D.make_rotated_mnist(*images, never_test=unusable, **sizes)
