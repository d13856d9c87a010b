# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Annotations that we write to a Node, when something else or a newer version of the collection has written them."""

from __future__ import annotations

import json
import reprlib
from typing import Any

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import state_version

# The key of it in the JSON of an annotation.
VERSION = "version"
# The API server allows 256 KiB.
_SHORT = reprlib.Repr()
_SHORT.maxstring = 200


class AnnotationError(ValueError):
    """An annotation of a node has a value that is not read; the message says why."""


class WrongAnnotationError(AnnotationError):
    """It has a value that we do not write; ``right`` is what it must be, ``when`` it can go.

    ``label`` is one that goes with it.
    """

    def __init__(self, node: str, annotation: str, value: object, right: str, when: str = "", label: str = "") -> None:
        told = "missing" if value is None else _SHORT.repr(value)
        what, command = ("both", f" && kubectl label node {node} {label}-") if label else ("it", "")
        remove = f"remove {what}{when} (kubectl annotate node {node} {annotation}-{command})"
        super().__init__(f"{node}: annotation {annotation} is {told}, it must be {right}: {remove}")


def content(node: str, annotation: str, written: Any) -> Any:
    """The JSON in an annotation of a node, without its version, which is the first if none is stated.

    ``None`` if it has no JSON, or states what is no version. Raises AnnotationError if a newer version of the
    collection has written it, so that it must stay.
    """
    try:
        found = json.loads(written)
    except (TypeError, ValueError, RecursionError):
        return None
    if isinstance(found, dict):
        try:
            state_version.known(found.pop(VERSION, None), state_version.FIRST, state_version.FIRST)
        except state_version.NewerVersionError as error:
            raise AnnotationError(f"{node}: annotation {annotation} {error}") from error
        except state_version.VersionError:
            return None
    return found
