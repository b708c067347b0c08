"""Start a Python kernel that cannot outlive the worker which asked for it."""

import os

from invariance.companion.runner.processes import die_with_parent

if __name__ == "__main__":
    die_with_parent(int(os.environ["JPY_PARENT_PID"]))

    from ipykernel import kernelapp

    kernelapp.launch_new_instance()
