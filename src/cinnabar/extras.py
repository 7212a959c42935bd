"""The optional extras of the installation: what each needs, and the error that names a missing one."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from cinnabar.errors import UsageError

PACKAGE = "cinnabar-extract"


@dataclass(frozen=True, slots=True)
class Extra:
    """What an extra is for, and the distribution of each module that it needs."""

    purpose: str
    modules: dict[str, str]

    def missing_packages(self) -> list[str]:
        """The distributions that are not installed."""
        return [name for module, name in self.modules.items() if find_spec(module) is None]


#: The extras that users install, by their names in pyproject.toml.
EXTRAS = {
    "flows": Extra("cinnabar flows, cinnabar extract --flow", {"prefect": "prefect", "sqlalchemy": "sqlalchemy"}),
    "server": Extra(
        "cinnabar serve",
        {"mcp": "mcp", "python_multipart": "python-multipart"},
    ),
    "learn": Extra("cinnabar improve, train and eval", {"scipy": "scipy"}),
    "models": Extra(
        "language models: --model FOLDER, cinnabar model",
        {"huggingface_hub": "huggingface-hub", "rapidfuzz": "rapidfuzz", "gguf": "gguf"},
    ),
    "mercury": Extra(
        "models behind a server: --model mercury-2",
        {"openai": "openai", "rapidfuzz": "rapidfuzz", "tenacity": "tenacity"},
    ),
    "ray": Extra("more than one machine: --ray", {"ray": "ray"}),
    "ocr": Extra(
        "scans and images",
        {"rapidocr": "rapidocr", "onnxruntime": "onnxruntime", "cv2": "opencv-python-headless", "PIL": "pillow"},
    ),
    "stores": Extra("documents in stores: s3://, gs://, az://", {"obstore": "obstore"}),
    "heic": Extra("images of telephones", {"pi_heif": "pi-heif"}),
    "sevenzip": Extra("7z archives", {"py7zr": "py7zr"}),
}


def install_line(extra: str) -> str:
    """The command that installs an extra."""
    return f'pip install "{PACKAGE}[{extra}]"'


def check_extra(extra: str, asked: str) -> None:
    """Raises UsageError, with the command that installs it, if the extra that `asked` needs is not whole."""
    if missing := EXTRAS[extra].missing_packages():
        packages = f"the package{'s' if len(missing) > 1 else ''} {' and '.join(missing)}"
        raise UsageError(f"{asked}: needs {packages}, not installed here: {install_line(extra)}")
