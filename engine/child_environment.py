"""The environment of processes that handle what others wrote: a list of names, so that no secret reaches them."""

from __future__ import annotations

import os
from collections.abc import Mapping

#: The variables that such a process gets. Each has its reason; a name that may hold a secret is not among them.
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


def child_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns the variables of this process that a process for others' content needs, and `more`."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in ALLOWED or name.startswith(ALLOWED_BEGINNINGS)
    }
    return kept | dict(more or {})
