"""Tests in this folder use neither the network nor the cache of the user."""

import pooch
import pytest


@pytest.fixture
def offline(tmp_path, monkeypatch):
    """Empty data and cache folders; downloads fail as without a network."""
    data = tmp_path / "data"
    cache = tmp_path / "cache"
    data.mkdir()
    monkeypatch.setenv("INVARIANCE_DATA", str(data))
    monkeypatch.setenv("INVARIANCE_CACHE", str(cache))

    def refuse(url, *args, **kwargs):
        raise ConnectionError(f"no route to {url}")

    monkeypatch.setattr(pooch, "retrieve", refuse)
    return data
