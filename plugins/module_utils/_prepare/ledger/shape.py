# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Checks that JSON data from a file has the expected types."""

from __future__ import annotations

from typing import Any, Callable, Mapping

Shape = Callable[[Any], bool]


def text(value: Any) -> bool:
    return isinstance(value, str)


def number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def maybe(shape: Shape) -> Shape:
    return lambda value: value is None or shape(value)


def listed(shape: Shape) -> Shape:
    return lambda value: isinstance(value, list) and all(map(shape, value))


def by_name(shape: Shape) -> Shape:
    return lambda value: isinstance(value, dict) and all(map(shape, value.values()))


def record(required: Mapping[str, Shape], optional: Mapping[str, Shape]) -> Shape:
    """A dictionary with these fields; others are ignored."""

    def check(value: Any) -> bool:
        return (
            isinstance(value, dict)
            and all(name in value and shape(value[name]) for name, shape in required.items())
            and all(shape(value[name]) for name, shape in optional.items() if name in value)
        )

    return check
