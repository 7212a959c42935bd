"""What was made of schemas is kept as long as all together weighs no more than a bound, whatever its number."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import update_wrapper
from typing import Generic, ParamSpec, TypeVar

_K = TypeVar("_K", bound=Hashable)
_T = TypeVar("_T")
_P = ParamSpec("_P")


class KeptByWeight(Generic[_K, _T]):
    """Values by their keys, from several threads; the newest stays, however much it weighs."""

    def __init__(self, most: int, weight: Callable[[_T], int]) -> None:
        """`most` is the greatest sum of the weights, mostly in bytes."""
        self._most, self._weight_of = most, weight
        self._kept: OrderedDict[_K, tuple[_T, int]] = OrderedDict()
        #: What all that is kept weighs.
        self.weight = 0
        self._lock = threading.Lock()

    def get(self, key: _K) -> _T | None:
        """Returns the value of a key, None if it is not kept."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def put(self, key: _K, value: _T) -> _T:
        """Keeps a value, unless its key has one, and drops those used longest ago; returns what is kept."""
        weight = self._weight_of(value)
        with self._lock:
            self.weight += 0 if key in self._kept else weight
            value, _ = self._kept.setdefault(key, (value, weight))
            self._kept.move_to_end(key)
            while self.weight > self._most and len(self._kept) > 1:
                self.weight -= self._kept.popitem(last=False)[1][1]
            return value

    def clear(self) -> None:
        """Drops everything."""
        with self._lock:
            self._kept.clear()
            self.weight = 0


class _Remembered(Generic[_P, _T]):
    def __init__(self, make: Callable[_P, _T], most: int, weight: Callable[[_T], int]) -> None:
        self._make = make
        self._kept = KeptByWeight[Hashable, _T](most, weight)
        self.cache_clear = self._kept.clear
        update_wrapper(self, make)

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        key = (args, tuple(sorted(kwargs.items())))
        kept = self._kept.get(key)
        return self._kept.put(key, self._make(*args, **kwargs)) if kept is None else kept


def kept_by_weight(most: int, weight: Callable[[_T], int]) -> Callable[[Callable[_P, _T]], _Remembered[_P, _T]]:
    """Remembers what a function returns, never None, as `lru_cache` does; bounded by the sum of the weights."""
    return lambda make: _Remembered(make, most, weight)
