# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Whole numbers of JSON and YAML. To Python, ``true`` is one of them."""

from __future__ import annotations

from typing import Any, Callable

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import RefusedError


def is_integer(value: Any) -> bool:
    """Whether it is a whole number, and no boolean."""
    return isinstance(value, int) and not isinstance(value, bool)


def between(least: int, most: int, unit: str = "") -> Callable[[int], int]:
    """A rule for whole numbers within these limits; ``unit`` (`` seconds``) follows the limits where they are named."""

    def rule(value: int) -> int:
        if not least <= value <= most:
            raise RefusedError(f"it must be {least} to {most}{unit}")
        return value

    return rule
