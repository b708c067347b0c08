"""No test of this folder reaches the network or the user's cache."""

import pooch
import pytest


@pytest.fixture
def offline(tmp_path, monkeypatch):
    """Empty data and cache folders; downloading fails as it does without a network."""
    data = tmp_path / "data"
    cache = tmp_path / "cache"
    data.mkdir()
    monkeypatch.setenv("INVARIANCE_DATA", str(data))
    monkeypatch.setenv("INVARIANCE_CACHE", str(cache))

    def refuse(url, *args, **kwargs):
        raise ConnectionError(f"no route to {url}")

    monkeypatch.setattr(pooch, "retrieve", refuse)
    return data
