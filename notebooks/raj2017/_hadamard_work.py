"""Programs whose instructions the notebook `remark4` counts."""

from pathlib import Path

# The programs import modules that lie beside this one.
SEARCH_HERE = f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"

# `prepare` returns the call to count, for a pair (part, size).
PROGRAM = (
    SEARCH_HERE
    + """
import numpy as np
from _structured_templates import StructuredTemplates
from invariance.features import OrbitFourier, draw_frequencies
from invariance.groups import Permutations

d, s, rng = {d}, {s}, np.random.default_rng({seed})
group = Permutations(d)

def features(r):
    X = rng.standard_normal((100, d)) / np.sqrt(d)
    model = OrbitFourier(group, s, n_transforms=r, gamma=0.5, random_state=0).fit(X)
    return lambda: model.transform(X)

def acting(r, s):
    g, W = group.sample(r, 0), rng.standard_normal((s, d))
    return lambda: group.act(g, W)

def structured(d):
    fast = StructuredTemplates(d, d, gamma=0.5, random_state=0)
    X = np.ones((16, d), dtype=np.float32)
    return lambda: fast.products(X)

def independent(d):
    X, W = np.ones((16, d), dtype=np.float32), np.ones((d, d), dtype=np.float32)
    return lambda: X @ W.T

def prepare(size):
    part, n = size
    if part == "acting, r":
        return acting(n, 2000)
    if part == "acting, s":
        return acting(64, n)
    return globals()[part](n)
"""
)
