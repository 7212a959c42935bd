"""Keys and values of the positions that a language model has read."""

from __future__ import annotations

import torch

#: The position of a token that pads a row.
NOWHERE = -1


class Cache:
    """Keys and values of R rows; the rows' texts may have different lengths.

    Each row holds the first `lengths` ([R] int64, on the host) positions of its text, each at the place of its number.
    """

    def __init__(self, layers: int, rows: int, device: torch.device) -> None:
        self.lengths = torch.zeros(rows, dtype=torch.long)
        self._device = device
        self._keys: list[torch.Tensor | None] = [None] * layers
        self._values: list[torch.Tensor | None] = [None] * layers
        self._active: torch.Tensor | None = None
        self._end = 0
        self._begin = -1
        self._index: tuple[torch.Tensor, torch.Tensor] | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.lengths)

    @property
    def positions(self) -> torch.Tensor:
        """[K, S] int64, the position that each place of the active rows holds, NOWHERE for none."""
        lengths = self.lengths if self._active is None else self.lengths[self._active]
        places = torch.arange(self._end)
        return torch.where(places < lengths[:, None], places, NOWHERE).to(self._device)

    def narrow(self, rows: torch.Tensor | None) -> None:
        """Makes these rows ([K] int64, on the host) the active ones, which the model reads next; None for all."""
        self._active = None if rows is None or len(rows) == self.rows else rows

    def place(self, positions: torch.Tensor) -> None:
        """Takes in tokens of the active rows at these positions ([K, T] int64) for all layers; `put` fills them.

        The positions of a row continue its text; NOWHERE pads a row.
        """
        where = positions.cpu()
        active = torch.arange(self.rows) if self._active is None else self._active
        before = self.lengths[active]
        after = torch.maximum(before, where.amax(1) + 1) if where.shape[1] else before
        self.lengths[active] = after
        self._end = int(after.max()) if len(after) else 0
        begin = int(before[0]) if len(before) else 0
        width = where.shape[1]
        even = self._active is None and bool((where == torch.arange(begin, begin + width)).all())
        # Rows in step are written as one slice, which is faster.
        self._begin = begin if even else -1
        padded = torch.where(where == NOWHERE, self._end, where)
        self._index = (active[:, None].to(self._device), padded.to(self._device))

    def put(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Writes keys and values ([K, H, T, D]) of the placed tokens; returns those of all places."""
        return self._write(self._keys, layer, keys), self._write(self._values, layer, values)

    def keep(self, lengths: torch.Tensor) -> None:
        """Keeps the first positions of each row only; lengths: [R] int64, on the host."""
        self.lengths = torch.minimum(self.lengths, lengths)

    def select(self, rows: torch.Tensor) -> None:
        """Keeps these rows ([K] int64, on the host), in this order; a row may come more than once."""
        self.narrow(None)
        self.lengths = self.lengths[rows]
        length = int(self.lengths.max()) if len(rows) else 0
        for held in (self._keys, self._values):
            for layer, whole in enumerate(held):
                held[layer] = None if whole is None else whole[:, :, :length][rows.to(self._device)]

    def copy(self, rows: torch.Tensor) -> Cache:
        """Returns a cache of these rows; see `select`."""
        made = Cache(len(self._keys), 0, self._device)
        made.lengths, made._keys, made._values = self.lengths, [*self._keys], [*self._values]
        made.select(rows)
        return made

    def bytes(self) -> int:
        """The bytes of memory that keys and values take."""
        held = [*self._keys, *self._values]
        return sum(whole.numel() * whole.element_size() for whole in held if whole is not None)

    def _write(self, held: list[torch.Tensor | None], layer: int, part: torch.Tensor) -> torch.Tensor:
        whole, end = held[layer], self._end
        # One place more takes what pads a row.
        if whole is None or whole.shape[2] <= end:
            _, heads, _, width = part.shape
            # Room for twice the places makes appending linear. Zeros, for even a value without weight must be a number.
            room = part.new_zeros(self.rows, heads, 1 + (end if whole is None else 2 * end), width)
            if whole is not None:
                room[:, :, : whole.shape[2]] = whole
            held[layer] = whole = room
        if self._begin >= 0:
            whole[:, :, self._begin : self._begin + part.shape[2]] = part
            return whole[:, :, :end]
        assert self._index is not None
        rows, places = self._index
        whole[rows, :, places] = part.transpose(1, 2)
        return whole[:, :, :end] if self._active is None else whole[rows.squeeze(1), :, :end]
