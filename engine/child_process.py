"""How a child process is started: the command of a Python of ours, and the environment for what others wrote.

The command keeps the working folder out of the import path. The environment is a list of names, so that no secret
reaches what others wrote.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

#: For the environment of a process that starts Python processes itself, such as Prefect's server and its runs.
SAFE_PATH = {"PYTHONSAFEPATH": "1"}
#: The variables that a process for what others wrote gets. Each has its reason; none may hold a secret.
ALLOWED = frozenset(
    (
        # Where programs, libraries and their data are.
        *("PATH", "HOME", "LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TESSDATA_PREFIX"),
        *("PYTHONPATH", "PYTHONHOME", "PYTHONUTF8", "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"),
        *("VIRTUAL_ENV", "TMPDIR", "TMP", "TEMP", "XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE"),
        # Languages and time.
        *("LANG", "LANGUAGE", "TZ"),
        # Of Cinnabar: two more hold passwords.
        *("CINNABAR_CACHE", "CINNABAR_KERNELS", "CINNABAR_PRECISION"),
    )
)
#: Variables that begin so are allowed, too: they say which language, which device, and how it computes.
ALLOWED_BEGINNINGS = (
    "LC_", "OMP_", "OPENBLAS_", "MKL_", "MALLOC_", "CUDA_", "CUBLAS_", "NVIDIA_", "TORCH", "PYTORCH_", "TRITON_"
)  # fmt: skip


def python_command(*arguments: str) -> list[str]:
    """Returns the command of this Python with these arguments.

    The working folder may hold the documents of others, with an `email.py` or a `pip.py` among them: `-P` keeps it out
    of the import path.
    """
    return [sys.executable, "-P", *arguments]


def child_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns the variables of this process that a process for others' content needs, and `more`."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in ALLOWED or name.startswith(ALLOWED_BEGINNINGS)
    }
    return kept | dict(more or {})
