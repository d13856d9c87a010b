# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The files that the daemon writes: how, and which file of metrics is its own."""

from __future__ import annotations

import contextlib
import os

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import writing

PREFIX = "zerocopy_rdma_inject"
COUNTER = f"{PREFIX}_containers_total"
FIRST = f"# HELP {COUNTER} "


def temporary(path: str) -> str:
    """The file that becomes this one; its name stays the same, so that a killed daemon leaves one at most."""
    return f"{path}.tmp"


def write(path: str, text: str, mode: int = 0o644) -> None:
    """Replace a file, so that readers see the old or the new one. Raises OSError."""
    writing.replace(path, text.encode(), os.path.basename(temporary(path)), mode)


def remove(path: str) -> None:
    """Remove a file, if it exists: node_exporter would otherwise export its values forever."""
    with contextlib.suppress(OSError):
        writing.remove(path)


def is_ours(metrics: str) -> bool:
    """Whether metrics may replace a file with this content, because it is empty or has our metrics."""
    return metrics == "" or metrics.startswith(FIRST)
