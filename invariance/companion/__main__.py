"""The command ``invariance``, or what to install where the library came without its laboratory."""

import sys

from ..core.extras import how_to_install


def main() -> None:
    try:
        from .cli import main as command
    except ModuleNotFoundError as error:
        if str(error.name).startswith("invariance"):
            raise
        sys.exit(
            f"the command invariance needs {error.name}, which comes with the laboratory: "
            f"{how_to_install('companion')}"
        )
    command(prog_name="invariance")


if __name__ == "__main__":
    main()
