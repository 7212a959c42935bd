"""Compare the Triton kernels with their references; exit status 0 where they agree.

Run it with TRITON_INTERPRET=1 on a CPU, or without that on a CUDA device.
"""

from __future__ import annotations

import random

import numpy as np
import torch

from cinnabar.engine.canvas import VOCABULARY
from cinnabar.engine.constraint import Constraint
from cinnabar.kernels.class_logits import class_logits_reference
from cinnabar.kernels.class_logits_triton import class_logits_triton
from cinnabar.kernels.constrained_scan import constrained_scan_reference
from cinnabar.kernels.constrained_scan_triton import constrained_scan_triton
from cinnabar.kernels.tables import FLOOR, LEAST, POSSIBLE
from cinnabar.schemas.automata.automaton import Automaton, from_dfa
from cinnabar.schemas.form.form import Slot

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

# Each row: states, classes, lengths, spread of the logits, share of committed positions, and the reason.
CASES = [
    (1, 1, [1], 1.0, 0.0, "the least there is"),
    (5, 3, [4, 4], 3.0, 0.5, "two slots, half committed"),
    (63, 2, [3, 2], 3.0, 0.2, "one past a block of states, with DONE and beyond"),
    (3, 70, [3], 3.0, 0.0, "more classes and incoming edges than a block"),
    (6, 3, [6, 1, 4, 2], 1e4, 0.3, "several lengths, extreme logits"),
]


def language(states: int, classes: int, draw: random.Random) -> Automaton:
    """A random automaton of about this size; a ring through all states keeps them live."""
    table = [[draw.choice([-1, draw.randrange(states)]) for _ in range(classes)] for _ in range(states)]
    for state in range(states):
        table[state][0] = (state + 1) % states
    byte_class = [min(byte, classes - 1) for byte in range(256)]
    accepting = [draw.random() < 0.3 for _ in range(states)]
    accepting[-1] = True
    return from_dfa(np.array(table), np.array(byte_class), np.array(accepting))


def main() -> None:
    for number, (states, classes, lengths, spread, committed, reason) in enumerate(CASES):
        draw, noise = random.Random(number), torch.Generator().manual_seed(number)
        slots = [Slot(0, "", "string", language(states, classes, draw), False, "") for _ in lengths]
        tables = Constraint(DEVICE).tables(slots, torch.tensor(lengths))
        scores = torch.randn(len(slots), max(lengths), VOCABULARY, generator=noise).to(DEVICE) * spread
        scores = scores.log_softmax(-1).clamp_min(LEAST)
        total, best = class_logits_reference(scores, tables.classes)
        got_total, got_best = class_logits_triton(scores, tables.classes)
        torch.testing.assert_close(
            got_total, total, atol=1e-4, rtol=1e-5, msg=lambda m, r=reason: f"{r}: {m}"
        )
        assert torch.equal(got_best, best), reason

        total[:, tables.more] = FLOOR
        best[:, tables.more] = FLOOR
        keep = (torch.rand(total.shape, generator=noise) >= committed).to(DEVICE)
        fixed, sharp = torch.where(keep, total, FLOOR), torch.where(keep, best, FLOOR)
        want = constrained_scan_reference(tables.scan, fixed, total, sharp)
        got = constrained_scan_triton(tables.scan, fixed, total, sharp)
        possible = want.log_mass > POSSIBLE
        assert torch.equal(possible, got.log_mass > POSSIBLE), reason
        torch.testing.assert_close(got.log_mass[possible], want.log_mass[possible], atol=2e-3, rtol=1e-5)
        complete = want.best > POSSIBLE
        assert torch.equal(complete, got.best > POSSIBLE), reason
        assert torch.equal(got.best[complete], want.best[complete]), reason
        assert torch.equal(got.path[:, complete], want.path[:, complete]), reason
        owner = possible[tables.scan.class_slot]
        torch.testing.assert_close(
            got.posterior[:, owner].exp(),
            want.posterior[:, owner].exp(),
            atol=1e-2 if spread > 1e3 else 1e-4,
            rtol=0,
        )
    print(f"{len(CASES)} comparisons agree")


if __name__ == "__main__":
    main()
