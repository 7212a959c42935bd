"""The automata of a batch as device tables, and from them the constrained posterior and witness of every slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
import torch

from cinnabar.engine.backend import backend_of
from cinnabar.engine.lifting import BYTES, Ints, Lifted, Vocabulary, lift
from cinnabar.kernels.class_logits import class_logits
from cinnabar.kernels.constrained_scan import constrained_scan, segment_max, segment_sum
from cinnabar.kernels.tables import FLOOR, LEAST, POSSIBLE, ClassTables, Edges, ScanTables
from cinnabar.schemas.form.form import Slot

#: Positions of a new slot, and of the longest slot after growing.
FIRST_LENGTH, LONGEST = 16, 64
#: From this many positions in a batch on, slots of each length are computed apart; tables that are kept.
APART, KEPT = 4_096, 2


@dataclass(frozen=True, slots=True)
class Tables:
    """Device tables for G slots in the order of the scan (longest first).

    order: [G] int64, each slot's index in the batch. token_class: [G, V] int64, numbered within the slot.
    class_size: [C] float32. more: [G] int64, the class of MORE, numbered over the batch.
    """

    order: torch.Tensor
    scan: ScanTables
    classes: ClassTables
    token_class: torch.Tensor
    class_size: torch.Tensor
    more: torch.Tensor


@dataclass(frozen=True, slots=True)
class Outlook:
    """The token logits of G slots of at most L positions under the constraint.

    log_mass: [G] float32, log share of the allowed texts, including texts that continue beyond the slot.
    complete: [G] bool, whether a whole text fits; if not, `witness` means nothing.
    more: [G] float32, the share of values that continue beyond the slot.
    witness: [G, L] int64, the most probable whole text, PAD after its end; it agrees with all committed positions.
    posterior: [G, L] float32, of the witness's token. runner_up: [G, L] float32, of the likeliest token.
    choices: [G, L] float32, how many tokens are possible; one where the position is forced.
    The posterior of a position is conditioned on the committed tokens of the *other* positions only, so that a
    committed position can be doubted.
    """

    log_mass: torch.Tensor
    complete: torch.Tensor
    more: torch.Tensor
    witness: torch.Tensor
    posterior: torch.Tensor
    runner_up: torch.Tensor
    choices: torch.Tensor

    def put(self, at: torch.Tensor, part: Outlook) -> None:
        """Writes the outlook of the slots `at` ([G] int64) in place; `part` may have fewer positions."""
        for field in fields(Outlook):
            whole, found = getattr(self, field.name), getattr(part, field.name)
            if found.dim() > 1:
                whole[at, : found.shape[1]] = found
            else:
                whole[at] = found


def blank_outlook(slots: int, positions: int, pad: int, device: torch.device) -> Outlook:
    """Returns the outlook of slots that are not spelled out; it also pads slots that are shorter than L."""
    shape = (slots, positions)
    return Outlook(
        log_mass=torch.full((slots,), FLOOR, device=device),
        complete=torch.zeros(slots, dtype=torch.bool, device=device),
        more=torch.zeros(slots, device=device),
        witness=torch.full(shape, pad, dtype=torch.long, device=device),
        posterior=torch.ones(shape, device=device),
        runner_up=torch.zeros(shape, device=device),
        choices=torch.ones(shape, device=device),
    )


def _sorted_by(key: Ints, lifted: Lifted) -> tuple[Ints, Ints, Ints]:
    order = np.lexsort((lifted.label, lifted.source, lifted.target, key))
    return lifted.source[order], lifted.target[order], lifted.label[order]


def _offsets(counts: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _ragged(begin: Ints, counts: Ints) -> Ints:
    """Returns begin[0], begin[0] + 1, … (counts[0] numbers), then counts[1] numbers from begin[1], and so on."""
    return np.arange(int(counts.sum())) + np.repeat(begin - _offsets(counts)[:-1], counts)


class Constraint:
    """Lifts automata once (`engine/lifting.py`) and keeps them side by side, so that tables for any slots are a gather.

    The device chooses the kernels (`engine/backend.py`).
    """

    def __init__(self, device: torch.device, vocabulary: Vocabulary = BYTES) -> None:
        self.device, self.vocabulary = device, vocabulary
        self.backend = backend_of(device)
        self._index: dict[tuple[str, bool], int] = {}
        self._lifted: list[Lifted] = []
        self._pool: dict[str, Ints] = {}
        self._built: dict[bytes, Tables] = {}

    def outlook(
        self, slots: Sequence[Slot], tokens: torch.Tensor, length: torch.Tensor, token_logits: torch.Tensor
    ) -> Outlook:
        """Returns the posterior and the witness of these slots.

        tokens: [G, L] int64, MASK where open. length: [G] int64. token_logits: [G, L, V] float32, V tokens in the
        vocabulary.
        """
        longest = int(length.max())
        if len(slots) * longest < APART:
            return self._outlook(slots, tokens, length, token_logits)
        # In one table a few long slots would pad all others to their own length.
        result = blank_outlook(len(slots), longest, self.vocabulary.pad, tokens.device)
        for size in sorted(set(length.tolist())):
            at = (length == size).nonzero().squeeze(1)
            own = [slots[i] for i in at.tolist()]
            result.put(at, self._outlook(own, tokens[at], length[at], token_logits[at, :size]))
        return result

    def _outlook(
        self, slots: Sequence[Slot], tokens: torch.Tensor, length: torch.Tensor, token_logits: torch.Tensor
    ) -> Outlook:
        longest = int(length.max())
        tables = self.tables(slots, length)
        order, scan = tables.order, tables.scan
        placed = tokens[order, :longest]
        scores = token_logits[order, :longest].float().log_softmax(-1).clamp_min_(LEAST)
        total, best = class_logits(scores, tables.classes, self.backend)

        free = total.clone()
        last = scan.length - 1
        grows = scan.length < LONGEST
        free[:, tables.more] = FLOOR
        free[last[grows], tables.more[grows]] = total[last[grows], tables.more[grows]]
        committed = placed >= 0
        fixed_at = committed.t().index_select(1, scan.class_slot)
        slot, at = committed.nonzero(as_tuple=True)
        chosen = tables.token_class[slot, placed[slot, at]] + scan.class_offsets[slot]
        fixed = torch.where(fixed_at, FLOOR, free)
        fixed[at, chosen] = 0.0
        sharp = torch.where(fixed_at, FLOOR, best)
        sharp[at, chosen] = 0.0
        sharp[:, tables.more] = FLOOR
        found = constrained_scan(scan, fixed, free, sharp, self.backend)

        local = (found.path - scan.class_offsets[:-1]).t()
        beyond = found.path.t() < 0
        pad = self.vocabulary.pad
        witness = torch.where(committed, placed, pad).masked_fill_(beyond, pad)
        # Most positions are padding; only positions of a text need a token.
        spelled = ~(committed | beyond) & (local != tables.token_class[:, pad, None])
        slot, at = spelled.nonzero(as_tuple=True)
        member = tables.token_class[slot] == local[slot, at].unsqueeze(1)
        witness[slot, at] = torch.where(member, scores[slot, at], 2 * LEAST).argmax(-1)
        complete = found.best > POSSIBLE

        # The share of a token is that of its class times its share within the class.
        class_of = (tables.token_class.gather(1, witness).clamp_min(0) + scan.class_offsets[:-1, None]).t()
        within = scores.gather(2, witness.unsqueeze(2)).squeeze(2) - total.gather(1, class_of).t()
        posterior = (found.posterior.gather(1, class_of).t() + within).exp_().clamp_(0.0, 1.0)
        peak = (found.posterior + (best - total)).t().contiguous()
        runner_up = segment_max(peak, scan.class_offsets).exp_().clamp_(0.0, 1.0)
        possible = torch.where(found.posterior > POSSIBLE, tables.class_size, 0.0).t().contiguous()
        choices = segment_sum(possible, scan.class_offsets)
        rows = torch.arange(len(order), device=self.device)
        more = found.posterior[last, tables.more].exp().clamp_(0.0, 1.0)

        back = torch.empty_like(order)
        back[order] = rows
        return Outlook(
            log_mass=found.log_mass[back],
            complete=complete[back],
            more=more[back],
            witness=witness[back],
            posterior=posterior.masked_fill(beyond, 1.0)[back],
            runner_up=runner_up[back],
            choices=choices.masked_fill(beyond, 1.0)[back],
        )

    def tables(self, slots: Sequence[Slot], length: torch.Tensor) -> Tables:
        """Returns the tables of these slots at these lengths; it keeps the last ones for the steps that follow."""
        known = [self._number(slot) for slot in slots]
        lengths = length.cpu().numpy()
        key = np.asarray(known).tobytes() + lengths.tobytes()
        if key not in self._built:
            while len(self._built) > KEPT:
                self._built.pop(next(iter(self._built)))
            self._built[key] = self._build(np.asarray(known, np.int64), lengths)
        return self._built[key]

    def _number(self, slot: Slot) -> int:
        key = (slot.automaton.fingerprint, slot.nullable)
        if key not in self._index:
            self._index[key] = len(self._lifted)
            self._lifted.append(lift(slot.automaton, self.vocabulary, slot.nullable))
            self._pool.clear()
        return self._index[key]

    def _fill_pool(self) -> None:
        """Concatenates all lifted automata into the arrays of the pool."""
        every, pool = self._lifted, self._pool
        for name, key in (("target", "target"), ("source", "source"), ("label", "label")):
            parts = [_sorted_by(getattr(item, key), item) for item in every]
            for field, column in zip(("source", "target", "label"), zip(*parts, strict=True), strict=True):
                pool[f"{name}.{field}"] = np.concatenate(column)
        pool["edges"] = np.array([len(item.source) for item in every])
        pool["states"] = np.array([len(item.final) for item in every])
        pool["classes"] = np.array([item.classes for item in every])
        pool["tokens"] = np.array([len(item.tokens) for item in every])
        pool["final"] = np.concatenate([item.final for item in every]).astype(np.int64)
        pool["token"] = np.concatenate([item.tokens for item in every])
        pool["token_class"] = np.stack([item.token_class for item in every])

    def _build(self, known: Ints, lengths: Ints) -> Tables:
        if not self._pool:
            self._fill_pool()
        pool = self._pool
        order = np.argsort(-lengths, kind="stable")
        which, length = known[order], lengths[order]
        begin = {name: _offsets(pool[name])[:-1][which] for name in ("edges", "states", "classes", "tokens")}
        count = {name: pool[name][which] for name in begin}
        offsets = {name: _offsets(count[name]) for name in begin}
        state0, class0 = offsets["states"][:-1], offsets["classes"][:-1]
        edge = _ragged(begin["edges"], count["edges"])
        state_shift, class_shift = np.repeat(state0, count["edges"]), np.repeat(class0, count["edges"])

        def edges(name: str, segments: int) -> Edges:
            source = pool[f"{name}.source"][edge] + state_shift
            target = pool[f"{name}.target"][edge] + state_shift
            label = pool[f"{name}.label"][edge] + class_shift
            segment = {"source": source, "target": target, "label": label}[name]
            cuts = _offsets(np.bincount(segment, minlength=segments))
            return Edges(*map(self._put, (source, target, label, segment, cuts)))

        slots = np.arange(len(which))
        states, classes = int(count["states"].sum()), int(count["classes"].sum())
        token = pool["token"][_ragged(begin["tokens"], count["tokens"])]
        owner = np.repeat(slots, count["tokens"])
        token_class = pool["token_class"][which]
        segment = token_class[owner, token] + class0[owner]
        sizes = np.bincount(segment, minlength=classes)
        final = pool["final"][_ragged(begin["states"], count["states"])]
        reach = np.searchsorted(-length, -np.arange(int(length[0])), side="left")
        of = [offsets[name] for name in ("states", "classes", "edges")]
        active = tuple((int(g), int(of[0][g]), int(of[1][g]), int(of[2][g])) for g in reach)
        return Tables(
            order=self._put(order),
            scan=ScanTables(
                by_target=edges("target", states),
                by_source=edges("source", states),
                by_label=edges("label", classes),
                start=self._put(state0),
                final=self._put(np.where(final > 0, 0.0, FLOOR).astype(np.float32)),
                state_offsets=self._put(offsets["states"]),
                state_slot=self._put(np.repeat(slots, count["states"])),
                class_offsets=self._put(offsets["classes"]),
                class_slot=self._put(np.repeat(slots, count["classes"])),
                length=self._put(length),
                active=active,
            ),
            classes=ClassTables(
                member=self._put(owner * self.vocabulary.size + token),
                segment=self._put(segment),
                offsets=self._put(_offsets(sizes)),
            ),
            token_class=self._put(token_class),
            class_size=self._put(sizes.astype(np.float32)),
            more=self._put(offsets["classes"][1:] - 1),
        )

    def _put(self, array: npt.NDArray[np.generic]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)


def shortest(slot: Slot) -> int | None:
    """Returns the bytes of the shortest text that the slot can spell out (not `null`), None if there is none."""
    automaton = slot.automaton
    if not automaton.states:
        return None
    ahead = automaton.transitions[0].copy()
    if slot.nullable:
        ahead[automaton.byte_class[ord("n")]] = -1
    sizes = automaton.distance[ahead[ahead >= 0]] + 1
    return 0 if automaton.accepting[0] else int(sizes.min()) if len(sizes) else None


def first_length(slot: Slot) -> int:
    """Returns the positions of a new slot: 16, or the next power of two that fits its shortest text, at most 64."""
    size, length = shortest(slot) or 0, FIRST_LENGTH
    while length < size and length < LONGEST:
        length *= 2
    return length
