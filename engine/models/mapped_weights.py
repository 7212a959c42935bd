"""The weights of a network as it uses them, in a file that all processes of a machine map.

Processes that map a file share its pages of memory, so each engine beside the first holds no weights of its own, and
its modules are made without first values. The file lies in the user's cache folder, beside the automata. Its name is
the digest of all that decides its content: the stored weights, whether products are of integers, the code, and the
library. It holds the tensors, each at a multiple of 64 bytes as in torch's own memory, then their names and places,
then a checksum; it holds no code.

A file that does not match its checksum is written again. Without a cache folder, or on a full disk, each process holds
its own weights.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from cinnabar.engine.models.int8_matmul import take_integers, use_integer_products
from cinnabar.schemas.cache_files import CacheFiles, cache_folder, mark_used

_M = TypeVar("_M", bound=nn.Module)
#: About how many bytes tensors have, and the tensors with their names, which may be made one after the other.
Tensors = tuple[int, Iterable[tuple[str, Tensor]]]
#: The folder within the cache folder, and its most bytes; the reader's are 80 MB in int8 and 130 MB in float32. Who has
#: mapped a file that goes keeps it.
FOLDER, LIMIT = "weights", 512 << 20
_ALIGNED = 64
#: The length of the names and places, and the SHA-256 of all before it.
_END = struct.Struct("<Q32s")


def mapped_module(identity: object, integers: bool, empty: Callable[[], _M], load: Callable[[], _M]) -> _M:
    """Returns the module of `load` in evaluation, with its weights mapped from the cache folder if there is one.

    `repr(identity)` names the stored weights; `empty` makes the module without values. With `integers` its
    linear layers are in integers.
    """

    @cache
    def made() -> Tensors:
        loaded = load().eval()
        state = (use_integer_products(loaded) if integers else loaded).state_dict()
        return sum(tensor.nbytes for tensor in state.values()), state.items()

    held = mapped_tensors((identity, integers), _code(), made, FOLDER, LIMIT)
    with WithoutDrawing():
        module = empty().eval()
    take_integers(module, held)
    module.load_state_dict(held, assign=True)
    return module


def mapped_tensors(
    identity: object, code: str, make: Callable[[], Tensors], folder: str, limit: int
) -> dict[str, Tensor]:
    """Returns the tensors that `make` gives, mapped from a file in this folder of the cache, which is written once.

    Without a cache folder, or without room for them, they are in memory. `repr(identity)` names what they are made of,
    and `code` the code that makes them. limit: the most bytes of the folder.
    """
    cached = cache_folder()
    name = hashlib.sha256(repr((identity, code, torch.__version__, sys.byteorder)).encode()).hexdigest()
    path = None if cached is None else cached / folder / name
    held = None if path is None else _map_file(path)
    if path is not None and held is None and _write(path, *make(), limit):
        held = _map_file(path)
    return dict(make()[1]) if held is None else held


def digest_of(files: Iterable[Path]) -> str:
    """Returns a digest of the code in these files."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


@cache
def _code() -> str:
    """A digest of the code that decides a module's weights."""
    own = Path(__file__).parent
    reader = own / "reader"
    files = [*sorted(own.glob("*.py")), reader / "loading.py", *sorted((reader / "network").glob("*.py"))]
    files += sorted((own / "sentences").glob("*.py"))
    return digest_of(files)


def _map_file(path: Path) -> dict[str, Tensor] | None:
    """Returns the tensors of a file, which nobody may write to; None if there is none or it is broken."""
    try:
        size = path.stat().st_size
        if size < _END.size:
            return None
        # A private mapping: a write would give this process pages of its own, and never reach the file.
        whole = torch.from_file(str(path), shared=False, size=size, dtype=torch.uint8)
        data = whole.numpy().data
        length, digest = _END.unpack(data[-_END.size :])
        if hashlib.sha256(data[: -_END.size]).digest() != digest:
            return None
        index = json.loads(bytes(data[-_END.size - length : -_END.size]))
    except (OSError, RuntimeError):
        return None
    mark_used(path)
    return {
        name: whole[at : at + count].view(getattr(torch, dtype)).view(shape)
        for name, (at, count, dtype, shape) in index.items()
    }


def _write(path: Path, size: int, tensors: Iterable[tuple[str, Tensor]], limit: int) -> bool:
    """Writes the tensors one after the other, and returns False if that is impossible."""

    def parts() -> Iterator[bytes | memoryview]:
        digest, at, index = hashlib.sha256(), 0, {}
        for name, tensor in tensors:
            data = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
            index[name] = (at, data.nbytes, str(tensor.dtype).removeprefix("torch."), list(tensor.shape))
            at += data.nbytes + -data.nbytes % _ALIGNED
            for part in (data.numpy().data, bytes(-data.nbytes % _ALIGNED)):
                digest.update(part)
                yield part
        listed = json.dumps(index).encode()
        digest.update(listed)
        yield listed
        yield _END.pack(len(listed), digest.digest())

    return CacheFiles(path.parent, "*", limit).write(path, parts(), size)


#: The methods of a tensor that draw its values.
_DRAWING = (Tensor.uniform_, Tensor.normal_)


class WithoutDrawing(TorchFunctionMode):
    """Within it the parameters of new modules keep whatever their memory holds.

    To draw the reader's parameters takes 0.13 s, and the pages of memory that nobody writes to are never taken. The
    device `meta` would do the same, but its first use imports parts of torch for 0.6 s.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Leaves out the functions of `torch.nn.init` and all that draws."""
        named = dict(kwargs or {})
        if func in _DRAWING or (isinstance(func, FunctionType) and func.__module__ == "torch.nn.init"):
            return args[0] if args else named["tensor"]
        return func(*args, **named)
