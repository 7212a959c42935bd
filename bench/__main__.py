"""Runs a measurement of the project, or lists them all.

python -m bench                                   every measurement, with what it tells
python -m bench volume_report --documents 100     one of them; --help tells its options
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
#: Nothing is fetched or reported.
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}


def measurements() -> dict[str, str]:
    """Returns the modules of this folder that are programs, each with the first line of its docstring."""
    found = {}
    for path in sorted([*HERE.glob("*.py"), *HERE.glob("*/*.py")]):
        text = path.read_text("utf-8")
        name = ".".join(path.relative_to(HERE).with_suffix("").parts).removesuffix(".__main__")
        if 'if __name__ == "__main__"' in text and name != "__main__":
            found[name] = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    return found


def main() -> int:
    """Runs the measurement that is named first; the status is its own."""
    known = measurements()
    if len(sys.argv) < 2 or sys.argv[1] not in known:
        width = max(map(len, known))
        print("\n".join(f"{name:{width}}  {line}" for name, line in known.items()))
        return 0 if len(sys.argv) < 2 else 2
    os.environ |= OFFLINE | {"PREFECT_HOME": str(HERE.parent / ".prefect")}
    # A thread each, as the figures are told for one core.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    return subprocess.run([sys.executable, "-m", f"bench.{sys.argv[1]}", *sys.argv[2:]], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
