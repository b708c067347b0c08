"""The command ``invariance``; without the companion's packages, it prints how to install them."""

import sys

from ..core.extras import how_to_install


def main() -> None:
    try:
        from .cli import main as command
    except ModuleNotFoundError as error:
        if str(error.name).startswith("invariance"):
            raise
        package = error.name
        remedy = how_to_install("companion")
        sys.exit(f"the command invariance needs {package}, a package of the companion: {remedy}")
    command(prog_name="invariance")


if __name__ == "__main__":
    main()
