"""``python -m invariance.companion`` is the command ``invariance``."""

from invariance.companion.cli import main

if __name__ == "__main__":
    main(prog_name="invariance")
