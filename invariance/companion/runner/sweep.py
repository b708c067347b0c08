"""Run one notebook with every combination of some values of its parameters: a `Sweep`.

Each combination has an output folder of its own,
``build/sweeps/<profile>/<paper>/<name>/<parameters>/<combination>/``, such as
``seed,noise/seed=1,noise=0.1``. Combinations with valid results are not run again, so that a sweep
can be continued after an interruption, or extended by further values.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from ...core.parameters import ParameterError
from ..ledger.results import read_status
from ..paths import Paths
from ..source import MOST_VALUES, declared_parameter, read_parameters
from . import batch
from .attempt import Outcome, Place, Task

# Longer names of combinations are cut; names of files may have 255 bytes.
_LONGEST_NAME = 120
_UNSAFE = re.compile(r"[^\w .,=+\[\]-]|[ .]\Z", re.ASCII)


@dataclass(frozen=True)
class Sweep:
    """All combinations of the values in `axes`, which maps names of parameters to their values."""

    paths: Paths
    notebook: str
    profile: str
    axes: Mapping[str, list[Any]]

    @classmethod
    def read(
        cls, paths: Paths, notebook: str, profile: str, requested: Sequence[tuple[str, str]]
    ) -> "Sweep":
        """Return the sweep over pairs of a name and its values, written as on a command line.

        A `ParameterError` names the first parameter that is unknown or requested twice, or has a
        value of the wrong type or outside the limits that the notebook declares.
        """
        declared = read_parameters(paths.source(notebook))
        values: dict[str, list[Any]] = {}
        for name, text in requested:
            if name == "profile":
                raise ParameterError("a sweep has one profile: pass --profile")
            if name in values:
                raise ParameterError(f"-p {name} is passed twice: separate its values by commas")
            values[name] = declared_parameter(notebook, declared, name).parse_values(text)
        if not values:
            raise ParameterError("a sweep needs a parameter with its values, such as -p seed 1..20")
        count = prod(map(len, values.values()))
        if count > MOST_VALUES:
            raise ParameterError(f"{count:,} combinations, at most {MOST_VALUES:,}: pass fewer")
        # In the order of the notebook, so that the order of the options does not matter.
        axes = {name: values[name] for name in declared if name in values}
        return cls(paths, notebook, profile, axes)

    @property
    def folder(self) -> Path:
        return self.paths.sweep(self.notebook, self.profile, list(self.axes))

    @property
    def table(self) -> Path:
        """The table of all combinations; see `collect`."""
        return self.folder / "sweep.csv"

    @property
    def plot(self) -> Path:
        return self.folder / "sweep.png"

    def tasks(self) -> list[Task]:
        tasks = []
        for combination in product(*self.axes.values()):
            values = dict(zip(self.axes, combination, strict=True))
            name = _name_of(values)
            tasks.append(Task(self.notebook, values, name, self.folder / name))
        return tasks

    def earlier_tasks(self) -> list[Task]:
        """Return the further combinations in the folder, which other sweeps have run."""
        requested = {task.combination for task in self.tasks()}
        tasks = []
        for file in self.folder.glob("*/status.json"):
            combination = file.parent.name
            status, _ = read_status(file.parent, self.notebook)
            if status is None or combination in requested:
                continue
            values = {name: status["parameters"].get(name) for name in self.axes}
            if _name_of(values) == combination:
                tasks.append(Task(self.notebook, values, combination, file.parent))
        return tasks

    def run(
        self,
        *,
        place: Place | None = None,
        threads: int = 1,
        deadline: float | None = None,
        tell: Callable[[Outcome], None] | None = None,
    ) -> batch.Summary:
        """Run the combinations without valid results; see `batch.run_notebooks`.

        A `NotebookError` if another sweep over the same parameters, with other values, is under
        way: it would write the same table.
        """
        return batch.run_tasks(
            self.paths,
            self.tasks(),
            profile=self.profile,
            place=place,
            resume=True,
            threads=threads,
            deadline=deadline,
            tell=tell,
            shared_outputs={str(self.table): dict(self.axes)},
        )

    def reasons_to_run(self, *, place: Place, threads: int = 1) -> dict[str, str | None]:
        """Return, for the name of each combination, why it would run; None if it would not."""
        return batch.reasons_to_run(
            self.paths,
            self.tasks(),
            profile=self.profile,
            threads=threads,
            architecture=place.architecture,
        )


def _name_of(values: Mapping[str, Any]) -> str:
    """Return a name for a combination of values that may be the name of a folder.

    >>> _name_of({"seed": 1, "noise": 0.1}), _name_of({"group": "cyclic shifts"})
    ('seed=1,noise=0.1', 'group=cyclic shifts')
    >>> _name_of({"file": "a/b"})
    'file=a_b-4c8651ea'
    """
    text = ",".join(f"{name}={value}" for name, value in values.items())
    name = _UNSAFE.sub("_", text)[:_LONGEST_NAME]
    if name == text:
        return name
    digest = hashlib.sha256(json.dumps(values).encode()).hexdigest()
    return f"{name}-{digest[:8]}"
