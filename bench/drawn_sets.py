"""Tells whether a change lowers the F1 of fourteen sets that stand for all, as kept in bench/drawn_sets.json.

    make test-sets                                          # ends with 1 if one of them, or their mean, is lower
    python -m bench.drawn_sets ../shared/data --record      # keeps what is measured

Twelve were drawn by seed; two have fallen once without notice. Twenty documents of each count that training never saw.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import mean

from bench.held_back_report import summary_of, unseen_sets
from bench.labelled_sets import DRAWN
from bench.reporting import table

KEPT = Path(__file__).with_name("drawn_sets.json")
SETS = (*DRAWN, "cuad_contracts", "broker_statements")
#: How much lower a set, and the mean of all, may be: the machines round differently.
SET_LOWER, MEAN_LOWER = 0.02, 0.003


def lower(kept: dict[str, float], now: dict[str, float]) -> list[str]:
    """Returns the sets of which the F1 is lower than the one kept, and "mean" if that of all is."""
    both = [name for name in kept if name in now]
    found = [name for name in both if now[name] < kept[name] - SET_LOWER]
    is_lower = both and mean(now[name] for name in both) < mean(kept[name] for name in both) - MEAN_LOWER
    return [*found, "mean"] if is_lower else found


def main() -> None:
    """Prints the F1 kept and measured of each set, and ends with 1 if one is lower."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", type=Path, help="the folder of labelled sets")
    parser.add_argument("--record", action="store_true", help="keep what is measured")
    asked = parser.parse_args()
    chosen = unseen_sets([asked.sets / name for name in SETS if (asked.sets / name).is_dir()], 20)
    now = {name: own["f1"] for name, own in summary_of("default", chosen)["sets"].items()}
    kept: dict[str, float] = json.loads(KEPT.read_text("utf-8"))
    print(table(("set", "kept", "now"), [(n, f"{kept.get(n, 0):.3f}", f"{f1:.3f}") for n, f1 in now.items()]))
    if asked.record:
        KEPT.write_text(json.dumps(dict(sorted(now.items())), indent=1) + "\n", "utf-8")
    elif found := lower(kept, now):
        raise SystemExit(f"lower than kept in {KEPT.name}: {', '.join(found)}")


if __name__ == "__main__":
    main()
