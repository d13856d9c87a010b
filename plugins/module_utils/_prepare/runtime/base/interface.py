# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The interface of container runtimes. A new one is a file with such a class and a line in ``registry``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files

# A plan is made only where something may differ. What is sent to a node is compiled there in each call.
if TYPE_CHECKING:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.keys import RuntimePlan
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.ownership import OurFiles

Parts = Mapping[str, Dict[str, Any]]


@dataclass(frozen=True)
class RuntimeLayout:
    """Paths of one runtime on one node.

    ``runtime`` is its name. ``main`` is the file it reads first, which k3s and RKE2 generate at every start
    (``generated``). Our files go to ``dropins``, base specifications to ``specs``. ``ctr`` is the command for
    containerd's API, empty for other runtimes. ``placed``: root and state are on the daemon's command line.
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
    placed: bool = False


@dataclass(frozen=True)
class Installation:
    """A runtime installed on one node. ``run`` runs the node's tools; ``binary`` is empty below another root."""

    files: Files
    layout: RuntimeLayout
    binary: str
    run: Runner


class ContainerRuntime(ABC):
    """One container runtime."""

    # Value of the option ``runtime``, and the usual spelling.
    name: str
    title: str
    # Its systemd units, the usual one first, and the name of its process.
    units: Tuple[str, ...]
    process: str
    # Paths that exist where it is installed.
    traces: Tuple[str, ...]
    # Runtimes that it includes: their traces on the same node are not a second runtime.
    brings: Tuple[str, ...] = ()
    # Variables of its environment, and the options that they set unless its command line has these options.
    environment: Mapping[str, str] = MappingProxyType({})
    # Whether failed NRI attaches leave sandbox records in it (containerd issue 13609).
    leaves_records = False
    # How to load an image, if the runtime cannot import archives.
    other_import = ""

    @abstractmethod
    def layout(self, unit: str) -> RuntimeLayout:
        """Its default paths, with this unit."""

    def configured(self, layout: RuntimeLayout, arguments: Sequence[str]) -> RuntimeLayout:
        """The layout with the changes made by the running daemon's arguments."""
        return layout

    @abstractmethod
    def plan(self, installed: Installation, parts: Parts, own: OurFiles) -> RuntimePlan:
        """Plan the files for all ``parts`` without changing anything; ``own`` are files that earlier runs wrote.

        :raises HostError: the present configuration is broken, or the new one would not mean what it should.
        """

    def import_command(self, layout: RuntimeLayout, archive: str) -> List[str]:
        """The command that imports an image archive; only without ``other_import``."""
        return [*layout.ctr, "-a", layout.socket, "-n", "k8s.io", "images", "import", archive]


def given(arguments: Sequence[str], names: Mapping[str, str]) -> Dict[str, str]:
    """The options on a daemon's command line, by what ``names`` makes of their long and short names.

    Go's flag package takes one dash or two, and the value behind ``=`` or as the next argument.
    """
    found: Dict[str, str] = {}
    left: List[str] = list(arguments[1:])
    while left:
        word, equals, value = left.pop(0).partition("=")
        option = names.get(word.lstrip("-")) if word.startswith("-") else None
        if option is not None:
            found[option] = value if equals or not left else left.pop(0)
    return found
