"""`make_vowels`: a small source-filter synthesiser, the offline stand-in for recorded speech."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..core.parameters import Seed, Whole, arguments
from .dataset import Dataset
from .speech import SAMPLE_RATE

__all__ = ["make_vowels"]

#: First three formants in Hz of ten English vowels, averages over men (Peterson, Barney 1952).
_FORMANTS = {
    "heed": (270, 2290, 3010),
    "hid": (390, 1990, 2550),
    "head": (530, 1840, 2480),
    "had": (660, 1720, 2410),
    "hod": (730, 1090, 2440),
    "hawed": (570, 840, 2410),
    "hood": (440, 1020, 2240),
    "who'd": (300, 870, 2240),
    "hud": (640, 1190, 2390),
    "heard": (490, 1350, 1690),
}
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
    n_speakers: int = 12,
    repetitions: int = 2,
    *,
    random_state: int | np.random.RandomState | None = None,
) -> Dataset:
    """Ten vowels spoken by synthetic men, women and children: pulses through three resonators.

    Speakers differ in pitch, length of the vocal tract and speaking rate, repetitions of a word
    in a little of each.

    Parameters
    ----------
    n_speakers : int
        Men, women and children in turn.
    repetitions : int
        Of each vowel by each speaker.
    random_state : int, RandomState or None

    Returns
    -------
    Dataset
        ``data``: object array of float32 waveforms of 0.2 to 0.6 s at 8 kHz; ``target`` 0..9;
        ``speaker``, ``group``, ``repetition``, ``sample_rate`` and ``words``.

    Raises
    ------
    ParameterError
        For fewer than one speaker or repetition.

    Examples
    --------
    >>> vowels = make_vowels(n_speakers=3, repetitions=1, random_state=0)
    >>> len(vowels.data), [str(g) for g in vowels.group[::10]]
    (30, ['man', 'woman', 'child'])
    """
    rng = check_random_state(random_state)
    waves, rows = [], []
    names = list(_GROUPS)
    for speaker in range(n_speakers):
        group = names[speaker % 3]
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
    data = np.empty(len(waves), dtype=object)
    data[:] = waves
    words, speakers, groups, repeats = (np.array(column) for column in zip(*rows, strict=True))
    return Dataset(
        data,
        words,
        description="ten vowels by a source-filter synthesiser, a stand-in for spoken digits",
        details={
            "speaker": speakers,
            "group": groups,
            "repetition": repeats,
            "sample_rate": SAMPLE_RATE,
            "words": list(_FORMANTS),
        },
    )
