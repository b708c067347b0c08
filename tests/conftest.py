"""The order of the tests: long ones come first, so that no process works alone at the end."""

import pytest

LONG = ("slow", "notebooks", "browser")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # a stable order: what shares a fixture stays together
    items.sort(key=lambda item: not any(item.get_closest_marker(name) for name in LONG))
