"""Learning from pooled features of digits: the steps that need neither the data set nor the group."""

import numpy as np
from _block_pca import BlockPCA

from invariance.linear import RLSClassifier, rls_by_cholesky

LARGE_SAMPLE = 2000  # above it, one Cholesky decomposition per lambda instead of eigenvectors
N_GRID_BINS = 25
N_GRID_COMPONENTS = 24


def mosaic(images):
    """One picture of six images in two rows, with blank borders between them."""
    rows = images.reshape(2, 3, 28, 28)
    padded = np.pad(rows, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return padded.transpose(0, 2, 1, 3).reshape(60, 90)


def thinned_accuracies(Z, labels, n_train, template_counts, seed):
    """Accuracies with 5 and with 25 bins, shape (2, template counts).

    `Z` holds the features of training and test images with 25 bins, shape (images, templates, 51).
    The thresholds of 5 bins are every fifth of those of 25. The 51 thresholds are kept as principal
    components of the training images.
    """
    with_five_bins = Z[:, :, ::5]
    flat = Z.reshape(len(Z), -1)
    n_thresholds = 2 * N_GRID_BINS + 1
    pca = BlockPCA(n_thresholds, N_GRID_COMPONENTS, random_state=seed).fit(flat[:n_train])
    with_25_bins = pca.transform(flat).reshape(len(Z), -1, N_GRID_COMPONENTS)
    scores = np.empty((2, len(template_counts)))
    for b, curves in enumerate((with_five_bins, with_25_bins)):
        for i, m in enumerate(template_counts):
            features = curves[:, :m].reshape(len(curves), -1)
            model = RLSClassifier().fit(features[:n_train], labels[:n_train])
            predicted = model.predict(features[n_train:])
            scores[b, i] = np.mean(predicted == labels[n_train:])
    return scores


def dual_weights(A, labels, start):
    """Linear weights and intercept of regularised least squares on centred features, by Gram matrix."""
    gram = A @ A.T
    if len(A) <= LARGE_SAMPLE:
        model = RLSClassifier(kernel="precomputed").fit(gram, labels)
        dual = model.dual_coef_
        intercept = model.intercept_
    else:
        model = rls_by_cholesky(gram, labels, start=start)
        dual = model.dual_coef
        intercept = model.intercept
    return A.T @ dual.astype(np.float32), intercept


def fit_and_score(representation, labels, train, test, start=1e-5):
    """Test accuracy of regularised least squares, with lambda by leave-one-out.

    Test images are taken in ten blocks, so that only a tenth of them is in single precision.
    """
    A = representation[train].astype(np.float32)
    mean = A.mean(axis=0)
    A -= mean
    if A.shape[1] < len(A):
        model = RLSClassifier().fit(A, labels[train])
        predicted = model.predict(representation[test] - mean)
        return np.mean(predicted == labels[test])
    weights, intercept = dual_weights(A, labels[train], start)
    decisions = []
    for rows in np.array_split(test, 10):
        centred = representation[rows].astype(np.float32) - mean
        decisions.append(centred @ weights)
    predicted = (np.concatenate(decisions) + intercept).argmax(axis=1)
    return np.mean(predicted == labels[test])


def accuracy_by_cholesky(Z, labels, train, test):
    """Test accuracy in percent, one Cholesky decomposition per lambda.

    `Z` holds the features of all images in use; `train` and `test` are its rows.
    """
    A = Z[train]
    mean = A.mean(axis=0)
    A -= mean
    model = rls_by_cholesky(A @ A.T, labels[train], start=1e-4)
    weights = A.T @ model.dual_coef.astype(np.float32)
    decisions = (Z[test] - mean) @ weights + model.intercept
    return 100 * np.mean(decisions.argmax(axis=1) == labels[test])


def gram_and_accuracy(Z_train, y_train, Z_test, y_test):
    """Gram matrix of centred training features, and the test accuracy."""
    mean = Z_train.mean(axis=0)
    A = Z_train - mean
    gram = A @ A.T
    model = RLSClassifier(kernel="precomputed").fit(gram, y_train)
    predicted = model.predict((Z_test - mean) @ A.T)
    return gram, np.mean(predicted == y_test)
