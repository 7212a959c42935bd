"""The time of a pass of open blocks on a GPU by a model on paper: bytes, operations, launches, and the host.

    python -m bench.engine.time_model

A pass takes the longer one of the time of its bytes (weights, keys and values, logits) and of its operations, and then
what each launch costs beyond its work, the constraint's scan, and what the host does while the device waits; in two
parts, it does so while the device computes the other one (engine/diffusion/contexts.py tells from where on). The
constants are assumptions: memory and tensor cores of an H100 SXM by its data sheet, of which programs reach the shares
given here; 1.5 µs between two kernels of a captured graph; and on the host .5 ms and 20 µs a row.

The scan is five launches a pass, and one copy to the host. Its programs stand beside each other, three for each row, so
that it lasts as long as one of them: position by position, a tile of 1,024 edges in half a microsecond. The graph is
that of an invoice, 24,552 edges; what more rows than the device holds programs for take comes on top.

`python -m bench engine.device --device cuda` prints the roofline beside what it measures.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace

from bench.engine.device_shapes import COMMITTED, SHAPES, Shape
from bench.engine.releases import parameters_of
from bench.reporting import table
from cinnabar.engine.diffusion.contexts import worth_two_parts
from cinnabar.engine.models.language.memory import position_bytes

HEAD = (
    "rows", "block", "launches a layer", "bytes, ms", "operations, ms", "launches, ms", "scan, ms", "host, ms",
    "ms a pass", "tokens/s",
)  # fmt: skip


#: Launches of a layer, as `bench.engine.launches` counts them.
BY_MODULES, FUSED = 57, 11
#: Edges of the graph of a record.
EDGES = 24_552


@dataclass(frozen=True, slots=True)
class Machine:
    """Bytes and operations a second that programs reach; seconds of a launch; of the host, and by row; of a tile."""

    bytes: float = 0.85 * 3.35e12
    operations: float = 0.6 * 989e12
    launch: float = 1.5e-6
    host: float = 0.5e-3
    host_row: float = 20e-6
    tile: float = 0.5e-6
    #: Programs of the scan that run beside each other: four on each of 132 multiprocessors.
    programs: int = 528


@dataclass(frozen=True, slots=True)
class PassTime:
    """The parts of a pass in seconds."""

    bytes: float
    operations: float
    launches: float
    scan: float
    host: float

    @property
    def roofline(self) -> float:
        """The least time of the device: of bytes or operations."""
        return max(self.bytes, self.operations)

    @property
    def whole(self) -> float:
        """The seconds of a pass."""
        return self.roofline + self.launches + self.scan + self.host


def pass_time(shape: Shape, rows: int, launches: int, machine: Machine | None = None) -> PassTime:
    """Returns the time of a pass over the open blocks of so many rows in bfloat16, all positions scored."""
    machine, traits = machine or Machine(), shape.traits
    head = traits.vocabulary * traits.width
    layers = parameters_of(traits) - head * (1 if traits.tied else 2)
    scored, seen = rows * traits.block, shape.prompt + traits.block
    moved = 2 * (layers + head) + rows * seen * position_bytes(traits, "bfloat16") + 4 * scored * traits.vocabulary
    attended = 4 * traits.heads * traits.head_width * traits.layers * seen * scored
    done = 2 * (layers + head) * scored + attended
    return PassTime(
        moved / machine.bytes,
        done / machine.operations,
        launches * traits.layers * machine.launch,
        5 * machine.launch + traits.block * -(-EDGES // 1024) * machine.tile * -(-3 * rows // machine.programs),
        machine.host + rows * machine.host_row,
    )


def _in_two(half: PassTime) -> PassTime:
    """Returns the time of both halves of a batch; of the host, what lasts longer than the device."""
    device = half.roofline + half.launches + half.scan
    both = (2 * one for one in (half.bytes, half.operations, half.launches, half.scan, max(half.host - device, 0.0)))
    return PassTime(*both)


def rows_of(name: str, vocabulary: int = 151_936) -> list[list[str]]:
    """Returns the lines of a shape: blocks of 32 and 4, batches of 1, 8 and 128, by modules, fused, in parts."""
    found = []
    for block in (32, 4):
        for rows in (1, 8, 128):
            shape = SHAPES[name]
            shape = replace(shape, traits=replace(shape.traits, vocabulary=vocabulary, block=block))
            ways = {str(launches): pass_time(shape, rows, launches) for launches in (BY_MODULES, FUSED)}
            if worth_two_parts(rows, block):
                ways[f"{FUSED}, two parts"] = _in_two(pass_time(shape, rows // 2, FUSED))
            for way, time in ways.items():
                rate = rows * min(COMMITTED, block / 2) / time.whole
                cells = (time.bytes, time.operations, time.launches, time.scan, time.host, time.whole)
                said = (f"{1000 * one:.2f}" for one in cells)
                found.append([str(rows), str(block), way, *said, f"{rate:,.0f}"])
    return found


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default="sdar-4b")
    asked = parser.parse_args()
    print(f"{asked.shape}, bfloat16, prompts of {SHAPES[asked.shape].prompt} tokens; a pass commits {COMMITTED} tokens")
    print("of a row in blocks of 32, 2 in blocks of 4\n")
    print(table(HEAD, rows_of(asked.shape)))


if __name__ == "__main__":
    main()
