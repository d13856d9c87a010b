# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The planned files of a container runtime."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import List

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import File
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.keys import Effective


@dataclass
class RuntimePlan:
    """The files as they should be. ``files`` and ``globs`` are the places to check for later changes.

    ``before`` and ``effective`` are the configuration without and with our settings, under containerd's names.
    ``differs``: the installed configuration differs from ``effective``.
    """

    wanted: List[File] = field(default_factory=list)
    files: List[str] = field(default_factory=list)
    globs: List[str] = field(default_factory=list)
    before: Effective = field(default_factory=lambda: Effective({}, complete=False))
    effective: Effective = field(default_factory=lambda: Effective({}, complete=False))
    differs: bool = False
    handlers: List[str] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)
