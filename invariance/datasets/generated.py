"""Generated data: `make_xperm`, and stand-ins for photographs and recorded speech."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from sklearn.utils import check_random_state

from ..core.parameters import ParameterError, Positive, Seed, Whole, arguments
from .dataset import Dataset, Random, apply_filter
from .speech import SAMPLE_RATE, ragged


@arguments(length=Whole(1, 23), alphabet=Whole(2, 10**7), random_state=Seed())
def make_xperm(
    length: int = 5, alphabet: int = 8, *, random_state: Random = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """All sequences of one length over an alphabet; positive if both target letters occur.

    The permutation-invariant task X_perm of Mroueh et al. 2015, section 6 and appendix D.1. Two
    distinct targets are drawn at random; their position in the sequence does not matter.

    Returns
    -------
    X : ndarray of shape (alphabet^length, length * alphabet)
        One-hot letters, position after position: 8^5 = 32,768 sequences in the paper, in
        lexicographic order. Draw rows at random: every eighth row ends in the same letter.
    y : ndarray of shape (alphabet^length,)
        1 if both targets occur, else 0.

    Examples
    --------
    >>> X, y = make_xperm(random_state=0)
    >>> X.shape, int(y.sum())
    ((32768, 40), 6930)
    """
    if alphabet**length > 10**7:
        raise ParameterError(f"alphabet^length = {alphabet}^{length} is too many to list")
    letters = np.indices((alphabet,) * length).reshape(length, -1).T
    rng = check_random_state(random_state)
    first_target, second_target = rng.choice(alphabet, 2, replace=False)
    has_first = np.any(letters == first_target, axis=1)
    has_second = np.any(letters == second_target, axis=1)
    one_hot = np.eye(alphabet)[letters]
    X = one_hot.reshape(len(letters), -1)
    return X, (has_first & has_second).astype(np.int64)


@arguments(n_samples=Whole(3), length=Positive(), width=Positive(), random_state=Seed())
def make_textures(
    n_samples: int = 600, *, length: float = 3.0, width: float = 0.75, random_state: Random = None
) -> Dataset:
    """Colour images of smoothed noise in the layout of `load_cifar10`: round spots, and stripes.

    Parameters
    ----------
    length, width : float
        Standard deviations, in pixels, of the Gaussian that smooths class 1, down and across.
        Class 0 is smoothed with 1.5 in both directions, so values near 1.5 make the task hard.

    Returns
    -------
    Dataset
        ``data`` uint8 (n, 32, 32, 3), alternating ``target`` 0 and 1; two thirds are for training.

    Examples
    --------
    >>> textures = make_textures(30, random_state=0)
    >>> textures.data.shape, textures.n_train
    ((30, 32, 32, 3), 20)
    """
    rng = check_random_state(random_state)
    noise = rng.standard_normal((n_samples, 32, 32, 3))
    labels = np.arange(n_samples) % 2
    noise[labels == 0] = ndimage.gaussian_filter(noise[labels == 0], (0, 1.5, 1.5, 0))
    noise[labels == 1] = ndimage.gaussian_filter(noise[labels == 1], (0, length, width, 0))
    pixels = 128 + 40 * noise / noise.std(axis=(1, 2, 3), keepdims=True)
    dataset = Dataset(
        pixels.clip(0, 255).astype(np.uint8),
        labels,
        description="made-up textures",
        n_train=2 * n_samples // 3,
    )
    return apply_filter(dataset)


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
    """Return the waveform of a vowel: a train of pulses, filtered by one resonator per formant."""
    from scipy import signal

    n_samples = int(seconds * SAMPLE_RATE)
    # The pitch falls by a fifth over the word and trembles a little.
    trembling = np.cumsum(rng.standard_normal(n_samples)) * 2e-4
    falling = 1.1 - 0.2 * np.arange(n_samples) / n_samples
    frequencies = pitch * falling * (1 + trembling)
    phase = np.cumsum(frequencies / SAMPLE_RATE)
    source = np.diff(np.floor(phase + rng.random_sample()), prepend=0.0)
    wave = signal.lfilter([1.0], [1.0, -0.9], source)
    for formant, bandwidth in zip(formants, _BANDWIDTHS, strict=True):
        radius = np.exp(-np.pi * bandwidth / SAMPLE_RATE)
        angle = 2 * np.pi * min(formant, 0.47 * SAMPLE_RATE) / SAMPLE_RATE
        poles = [1.0, -2 * radius * np.cos(angle), radius**2]
        wave = signal.lfilter([sum(poles)], poles, wave)
    wave = np.diff(wave, prepend=0.0) * signal.windows.tukey(n_samples, 0.3)
    wave = 0.6 * wave / np.abs(wave).max()
    noise = 0.002 * rng.standard_normal(n_samples)
    return (wave + noise).astype(np.float32)


@arguments(n_speakers=Whole(1), repetitions=Whole(1), random_state=Seed())
def make_vowels(
    n_speakers: int = 12, repetitions: int = 2, *, random_state: Random = None
) -> Dataset:
    """Ten vowels spoken by synthetic men, women and children: pulses through three resonators.

    Speakers are men, women and children in turn; each speaks each vowel ``repetitions`` times.

    Returns
    -------
    Dataset
        ``data``: object array of float32 waveforms of 0.2 to 0.6 s at 8 kHz; ``target`` 0..9;
        ``speaker``, ``group``, ``repetition``, ``sample_rate`` and ``words``.

    Examples
    --------
    >>> vowels = make_vowels(n_speakers=3, repetitions=1, random_state=0)
    >>> len(vowels.data), [str(g) for g in vowels.group[::10]]
    (30, ['man', 'woman', 'child'])
    """
    rng = check_random_state(random_state)
    waves = []
    target = []
    speakers = []
    groups = []
    repetition_numbers = []
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
                target.append(word)
                speakers.append(speaker)
                groups.append(group)
                repetition_numbers.append(repetition)
    details = {
        "speaker": np.array(speakers),
        "group": np.array(groups),
        "repetition": np.array(repetition_numbers),
        "sample_rate": SAMPLE_RATE,
        "words": list(_FORMANTS),
    }
    dataset = Dataset(
        ragged(waves),
        np.array(target),
        description="ten vowels by a source-filter synthesiser, a stand-in for spoken digits",
        details=details,
    )
    return apply_filter(dataset)
