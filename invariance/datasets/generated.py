"""Data made from nothing: `make_xperm`, and stand-ins for photographs and recorded speech."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from sklearn.utils import check_random_state

from ..core.parameters import ParameterError, Positive, Seed, Whole, arguments
from .dataset import Dataset, Random
from .speech import SAMPLE_RATE, ragged


@arguments(length=Whole(1, 23), alphabet=Whole(2, 10**7), random_state=Seed())
def make_xperm(
    length: int = 5, alphabet: int = 8, *, random_state: Random = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """All sequences of given length over an alphabet; positive when both target letters occur.

    The permutation-invariant task X_perm of Mroueh et al. 2015, section 6 and appendix D.1. Two
    distinct targets are drawn at random; where in the sequence they stand does not matter.

    Returns
    -------
    X : ndarray of shape (alphabet^length, length * alphabet)
        One-hot letters, position after position: 8^5 = 32,768 sequences in the paper, in
        lexicographic order. Draw rows at random: every sixteenth ends in the same letter.
    y : ndarray of shape (alphabet^length,)
        1 when both targets occur, else 0.

    >>> X, y = make_xperm(random_state=0)
    >>> X.shape, int(y.sum())
    ((32768, 40), 6930)
    """
    if alphabet**length > 10**7:
        raise ParameterError(f"alphabet^length = {alphabet}^{length} is too many to list")
    letters = np.indices((alphabet,) * length).reshape(length, -1).T
    first, second = check_random_state(random_state).choice(alphabet, 2, replace=False)
    y = np.any(letters == first, axis=1) & np.any(letters == second, axis=1)
    return np.eye(alphabet)[letters].reshape(len(letters), -1), y.astype(np.int64)


@arguments(n_samples=Whole(3), length=Positive(), width=Positive(), random_state=Seed())
def make_textures(
    n_samples: int = 600, *, length: float = 3.0, width: float = 0.75, random_state: Random = None
) -> Dataset:
    """Colour images of smoothed noise in the layout of `load_cifar10`: round spots, and stripes.

    Parameters
    ----------
    length, width : float
        Standard deviations, in pixels, of the Gaussian that smooths class 1, down and across; that
        of class 0 has 1.5 both ways. The nearer to 1.5, the harder to tell.

    Returns
    -------
    Dataset
        ``data`` uint8 (n, 32, 32, 3), ``target`` 0 and 1 by turns; two thirds are to learn from.

    >>> textures = make_textures(30, random_state=0)
    >>> textures.data.shape, textures.n_train
    ((30, 32, 32, 3), 20)
    """
    noise = check_random_state(random_state).standard_normal((n_samples, 32, 32, 3))
    labels = np.arange(n_samples) % 2
    for label, widths in enumerate([(1.5, 1.5), (length, width)]):
        rows = labels == label
        noise[rows] = ndimage.gaussian_filter(noise[rows], (0, *widths, 0))
    pixels = 128 + 40 * noise / noise.std(axis=(1, 2, 3), keepdims=True)
    data, n_train = pixels.clip(0, 255).astype(np.uint8), 2 * n_samples // 3
    return Dataset(data, labels, description="made-up textures", n_train=n_train)


#: First three formants in Hz of ten English vowels, averages over men (Peterson, Barney 1952).
_FORMANTS = {
    "heed": (270, 2290, 3010), "hid": (390, 1990, 2550), "head": (530, 1840, 2480),
    "had": (660, 1720, 2410), "hod": (730, 1090, 2440), "hawed": (570, 840, 2410),
    "hood": (440, 1020, 2240), "who'd": (300, 870, 2240), "hud": (640, 1190, 2390),
    "heard": (490, 1350, 1690),
}  # fmt: skip
#: Mean pitch in Hz and length of the vocal tract relative to a man's, as a factor on the formants.
_GROUPS = {"man": (130.0, 1.0), "woman": (220.0, 1.17), "child": (270.0, 1.33)}
_BANDWIDTHS = (60.0, 90.0, 120.0)


def _vowel(
    formants: NDArray[np.float64], pitch: float, seconds: float, rng: np.random.RandomState
) -> NDArray[np.float32]:
    from scipy import signal

    n = int(seconds * SAMPLE_RATE)
    # The pitch falls by a fifth over the word and trembles a little.
    trembling = np.cumsum(rng.standard_normal(n)) * 2e-4
    phase = np.cumsum(pitch * (1.1 - 0.2 * np.arange(n) / n) * (1 + trembling) / SAMPLE_RATE)
    source = np.diff(np.floor(phase + rng.random_sample()), prepend=0.0)
    wave = signal.lfilter([1.0], [1.0, -0.9], source)
    for formant, bandwidth in zip(formants, _BANDWIDTHS, strict=True):
        radius = np.exp(-np.pi * bandwidth / SAMPLE_RATE)
        angle = 2 * np.pi * min(formant, 0.47 * SAMPLE_RATE) / SAMPLE_RATE
        poles = [1.0, -2 * radius * np.cos(angle), radius**2]
        wave = signal.lfilter([sum(poles)], poles, wave)
    wave = np.diff(wave, prepend=0.0) * signal.windows.tukey(n, 0.3)
    wave = 0.6 * wave / np.abs(wave).max() + 0.002 * rng.standard_normal(n)
    return wave.astype(np.float32)


@arguments(n_speakers=Whole(1), repetitions=Whole(1), random_state=Seed())
def make_vowels(
    n_speakers: int = 12, repetitions: int = 2, *, random_state: Random = None
) -> Dataset:
    """Ten vowels spoken by synthetic men, women and children: pulses through three resonators.

    Speakers are men, women and children in turn; each says each vowel ``repetitions`` times.

    Returns
    -------
    Dataset
        ``data``: object array of float32 waveforms of 0.2 to 0.6 s at 8 kHz; ``target`` 0..9;
        ``speaker``, ``group``, ``repetition``, ``sample_rate`` and ``words``.

    >>> vowels = make_vowels(n_speakers=3, repetitions=1, random_state=0)
    >>> len(vowels.data), [str(g) for g in vowels.group[::10]]
    (30, ['man', 'woman', 'child'])
    """
    rng = check_random_state(random_state)
    waves, rows = [], []
    for speaker in range(n_speakers):
        group = list(_GROUPS)[speaker % 3]
        mean_pitch, tract = _GROUPS[group]
        mean_pitch *= np.exp(0.12 * rng.standard_normal())
        tract *= np.exp(0.03 * rng.standard_normal())
        rate = np.exp(0.15 * rng.standard_normal())
        for repetition in range(repetitions):
            for word, formants in enumerate(_FORMANTS.values()):
                jitter = np.exp(0.02 * rng.standard_normal(3))
                pitch = mean_pitch * np.exp(0.05 * rng.standard_normal())
                seconds = np.clip(0.35 * np.exp(0.1 * rng.standard_normal()) / rate, 0.2, 0.6)
                waves.append(_vowel(tract * jitter * formants, pitch, seconds, rng))
                rows.append((word, speaker, group, repetition))
    columns = map(np.array, zip(*rows, strict=True))
    details = dict(zip(("target", "speaker", "group", "repetition"), columns, strict=True))
    return Dataset(
        ragged(waves),
        details.pop("target"),
        description="ten vowels by a source-filter synthesiser, a stand-in for spoken digits",
        details=details | {"sample_rate": SAMPLE_RATE, "words": list(_FORMANTS)},
    )
