# What is used of sortedcontainers, which ships no types.
from collections.abc import Callable, Iterator
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

class SortedDict(dict[K, V]):
    def irange(
        self,
        minimum: K | None = ...,
        maximum: K | None = ...,
        inclusive: tuple[bool, bool] = ...,
        reverse: bool = ...,
    ) -> Iterator[K]: ...
    def peekitem(self, index: int = ...) -> tuple[K, V]: ...
    def bisect_left(self, value: K) -> int: ...
    def bisect_right(self, value: K) -> int: ...
    @property
    def key(self) -> Callable[[K], object] | None: ...
