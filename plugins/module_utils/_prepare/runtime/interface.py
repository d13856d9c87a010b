# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What the room asks of a container runtime. A new one is a file with such a class, and a line in ``registry``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.command import Runner
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import File
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.keys import Effective
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.own import DROPIN, Own
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.memlock import UNLIMITED

# The options of what is to be configured, by part: see ``RuntimeRequest``.
Parts = Mapping[str, Dict[str, Any]]


@dataclass(frozen=True)
class Layout:
    """Places of one runtime on one node.

    ``runtime`` is its name. ``main`` is the file it reads first; k3s and RKE2 write that file at every start
    (``generated``), elsewhere it is the administrator's. Our own files go to ``dropins``, base specifications to
    ``specs``. ``ctr`` is the command for containerd's own API, empty where there is none.
    """

    runtime: str
    unit: str
    main: str
    dropins: str
    specs: str
    socket: str
    binaries: Tuple[str, ...]
    ctr: Tuple[str, ...] = ("ctr",)
    generated: bool = False


@dataclass(frozen=True)
class Installation:
    """A runtime as it is installed on one node; ``run`` runs the node's tools, ``binary`` only where that is live."""

    files: Files
    layout: Layout
    binary: str
    run: Runner


@dataclass
class RuntimePlan:
    """Files as they should be, and what to look at to know that nothing has changed since (``files``, ``globs``).

    ``before`` and ``effective`` are what is configured without and with our part, by containerd's names. ``differs``:
    what is installed means something else than ``effective``.
    """

    wanted: List[File] = field(default_factory=list)
    files: List[str] = field(default_factory=list)
    globs: List[str] = field(default_factory=list)
    before: Effective = field(default_factory=lambda: Effective({}, complete=False))
    effective: Effective = field(default_factory=lambda: Effective({}, complete=False))
    differs: bool = False
    handlers: List[str] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)


class ContainerRuntime(ABC):
    """One container runtime."""

    # Value of the option ``runtime``, and what people call it.
    name: str
    title: str
    # Its systemd units, the usual one first, and the name of its process.
    units: Tuple[str, ...]
    process: str
    # Paths that are there where it is installed.
    traces: Tuple[str, ...]
    # Runtimes that it brings along: their traces beside it do not run pods.
    brings: Tuple[str, ...] = ()
    # Whether failed NRI attaches leave sandbox records in it (containerd issue 13609).
    leaves_records = False
    # How an image gets into it where it imports no archives itself.
    other_import = ""

    @abstractmethod
    def layout(self, unit: str) -> Layout:
        """Its places by default, with this unit."""

    def configured(self, layout: Layout, arguments: Sequence[str]) -> Layout:
        """The layout as the arguments of the running daemon change it."""
        return layout

    @abstractmethod
    def plan(self, installed: Installation, parts: Parts, own: Own) -> RuntimePlan:
        """Files for all ``parts``; ``own`` are those that earlier runs wrote. Changes nothing.

        :raises HostError: the present configuration is broken, or the new one would not mean what it should.
        """

    def import_command(self, layout: Layout, archive: str) -> List[str]:
        """The command that imports an image archive; only without ``other_import``."""
        return [*layout.ctr, "-a", layout.socket, "-n", "k8s.io", "images", "import", archive]


def unit_limit(layout: Layout, wanted: int) -> File:
    """The drop-in of the systemd unit with this limit of locked memory in bytes."""
    value = "infinity" if wanted == UNLIMITED else str(wanted)
    return File(
        f"/etc/systemd/system/{layout.unit}.d/{DROPIN}memlock.conf",
        f"# Written by the Ansible collection zerocopy.rdma.\n[Service]\nLimitMEMLOCK={value}\n",
    )
