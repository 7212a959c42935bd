"""Keys and values of the positions that a language model has read."""

from __future__ import annotations

import torch

#: The position of a place of the cache that holds nothing.
NOWHERE = -1


class Cache:
    """Keys and values of R rows, each of S places; the rows' texts may have different lengths.

    positions: [R, S] int64, the position in the row's text that each place holds, NOWHERE for none. Places are filled
    from the left for all rows at once.
    """

    def __init__(self, layers: int, rows: int, device: torch.device) -> None:
        self.length = 0
        self.positions = torch.full((rows, 0), NOWHERE, dtype=torch.long, device=device)
        self._keys: list[torch.Tensor | None] = [None] * layers
        self._values: list[torch.Tensor | None] = [None] * layers

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.positions.shape[0]

    def place(self, positions: torch.Tensor) -> None:
        """Appends places with these positions ([R, T] int64) for all layers; `put` fills them."""
        self.positions = torch.cat([self.positions[:, : self.length], positions], 1)

    def put(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Writes keys and values ([R, H, T, D]) into the last T places; returns those of all places."""
        kept, end = self.length, self.length + keys.shape[2]
        return self._write(self._keys, layer, keys, kept, end), self._write(self._values, layer, values, kept, end)

    def keep(self, length: int) -> None:
        """Keeps the first `length` places only."""
        self.length = length
        self.positions = self.positions[:, :length]

    def select(self, rows: torch.Tensor) -> None:
        """Keeps these rows ([K] int64), in this order; a row may come more than once."""
        self.positions = self.positions[rows]
        for held in (self._keys, self._values):
            for layer, whole in enumerate(held):
                held[layer] = None if whole is None else whole[:, :, : self.length][rows]

    def copy(self, rows: torch.Tensor) -> Cache:
        """Returns a cache of these rows ([K] int64); a row may come more than once."""
        made = Cache(len(self._keys), 0, self.positions.device)
        made.length, made.positions = self.length, self.positions
        made._keys, made._values = [*self._keys], [*self._values]
        made.select(rows)
        return made

    def forget(self, rows: torch.Tensor, begin: int) -> None:
        """Empties the places from `begin` on in these rows ([K] int64)."""
        self.positions[rows, begin:] = NOWHERE

    def compact(self) -> None:
        """Moves what each row holds to the left, in its order, and drops the places that no row needs."""
        held = self.positions != NOWHERE
        length = int(held.sum(1).max()) if self.rows else 0
        # A stable sort keeps the order of the places that hold something.
        order = (~held).to(torch.int8).argsort(dim=1, stable=True)[:, :length]
        self.positions = self.positions.gather(1, order)
        for kept in (self._keys, self._values):
            for layer, whole in enumerate(kept):
                if whole is not None:
                    index = order[:, None, :, None].expand(-1, whole.shape[1], -1, whole.shape[3])
                    kept[layer] = whole.gather(2, index)
        self.length = length

    def bytes(self) -> int:
        """The bytes of memory that keys and values take."""
        held = [*self._keys, *self._values]
        return sum(whole.numel() * whole.element_size() for whole in held if whole is not None)

    def _write(
        self, held: list[torch.Tensor | None], layer: int, part: torch.Tensor, begin: int, end: int
    ) -> torch.Tensor:
        whole = held[layer]
        if whole is None or whole.shape[2] < end:
            # Room for twice the places makes appending linear.
            rows, heads, _, width = part.shape
            room = part.new_empty(rows, heads, end if whole is None else 2 * end, width)
            if whole is not None:
                room[:, :, :begin] = whole[:, :, :begin]
            held[layer] = whole = room
        whole[:, :, begin:end] = part
        return whole[:, :, :end]
