"""Support vector machines on Gram matrices, and their constant C by cross-validation."""

import numpy as np
from sklearn.model_selection import KFold
from sklearn.svm import SVC


def machine(gram, y, C=1):
    """Indefinite matrices may send the solver in circles: its steps are limited."""
    return SVC(C=C, kernel="precomputed", max_iter=10_000).fit(gram, y)


def best_cost(gram, y, costs):
    """Accuracy over five folds of the training sample, and the first constant C that reaches it."""
    folds = list(KFold(5, shuffle=True, random_state=0).split(gram))
    hits = []
    for C in costs:
        fitted = [machine(gram[np.ix_(a, a)], y[a], C) for a, _ in folds]
        pairs = zip(fitted, folds, strict=True)
        hits.append(np.mean([m.score(gram[np.ix_(b, a)], y[b]) for m, (a, b) in pairs]))
        if all(np.abs(m.dual_coef_).max() < C for m in fitted):
            break  # a hard margin: a larger C changes nothing
    return max(hits), costs[int(np.argmax(hits))]
