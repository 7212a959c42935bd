"""The optional extras of the installation: what each needs, and the error that names a missing one."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from cinnabar.errors import UsageError

PACKAGE = "cinnabar-extract"


@dataclass(frozen=True, slots=True)
class Extra:
    """The distribution of each module that an extra needs."""

    modules: dict[str, str]

    def missing_packages(self) -> list[str]:
        """The distributions that are not installed."""
        return [name for module, name in self.modules.items() if find_spec(module) is None]


#: The extras that users install, by their names in pyproject.toml.
EXTRAS = {
    "flows": Extra({"prefect": "prefect", "sqlalchemy": "sqlalchemy"}),
    "server": Extra({"mcp": "mcp", "python_multipart": "python-multipart"}),
    "learn": Extra({"scipy": "scipy"}),
    "models": Extra({"huggingface_hub": "huggingface-hub", "rapidfuzz": "rapidfuzz", "gguf": "gguf"}),
    "mercury": Extra({"openai": "openai", "rapidfuzz": "rapidfuzz", "tenacity": "tenacity"}),
    "ray": Extra({"ray": "ray"}),
    "ocr": Extra(
        {"rapidocr": "rapidocr", "onnxruntime": "onnxruntime", "cv2": "opencv-python-headless", "PIL": "pillow"}
    ),
    "stores": Extra({"obstore": "obstore"}),
    "heic": Extra({"pi_heif": "pi-heif"}),
    "sevenzip": Extra({"py7zr": "py7zr"}),
}


def install_line(extra: str) -> str:
    """The command that installs an extra."""
    return f'pip install "{PACKAGE}[{extra}]"'


def check_extra(extra: str, asked: str) -> None:
    """Raises UsageError, with the command that installs it, if the extra that `asked` needs is not whole."""
    if missing := EXTRAS[extra].missing_packages():
        packages = f"the package{'s' if len(missing) > 1 else ''} {' and '.join(missing)}"
        raise UsageError(f"{asked}: needs {packages}, not installed here: {install_line(extra)}")
