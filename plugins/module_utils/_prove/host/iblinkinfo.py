# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The links of an InfiniBand fabric, by asking iblinkinfo of infiniband-diags.

Runs on nodes: Python 3.8, standard library.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Callable, Dict, List, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.iblinkinfo import parse
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.links import guid
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import command
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError

# A fabric of thousands of ports takes some seconds, each port that does not answer another second.
_SECONDS = 300
_SAID_AT_MOST = 300


@dataclass(frozen=True)
class FabricPort:
    """A port of this node from which its fabric is read; ``guid`` is its port GUID (``0x`` and 16 digits)."""

    hca: str
    port: int
    guid: str


# The option of the modules that read fabrics: what a FabricPort is made of.
FABRIC_PORTS: Dict[str, Any] = {
    "type": "list",
    "elements": "dict",
    "default": [],
    "options": {
        "hca": {"type": "str", "required": True},
        "port": {"type": "int", "required": True},
        "guid": {"type": "str", "required": True},
    },
}
Answer = Tuple[str, str]


def ask(port: FabricPort) -> Answer:
    """What iblinkinfo says of the fabric of a port, or why it says nothing."""
    try:
        done = command.run(["iblinkinfo", "--line", "--Ca", port.hca, "--Port", str(port.port)], timeout=_SECONDS)
    except HostError as error:
        return "", str(error)
    if done.rc == command.NOT_INSTALLED:
        return "", "iblinkinfo is not installed (package infiniband-diags)"
    if done.rc != 0:
        said = " ".join((done.err or done.out).split()) or f"exit status {done.rc}"
        return "", f"iblinkinfo: {said[:_SAID_AT_MOST]}"
    return done.out, ""


def fabrics(ports: Sequence[FabricPort], answer: Callable[[FabricPort], Answer] = ask) -> List[Dict[str, Any]]:
    """The links of each fabric that the ports are in, from the first of the ports that is in it."""
    found: List[Dict[str, Any]] = []
    known: Set[str] = set()
    for port in ports:
        if guid(port.guid) in known:
            continue
        text, error = answer(port)
        links = parse(text)
        known.update(link.guid for link in links)
        found.append({"hca": port.hca, "port": port.port, "error": error, "links": [asdict(link) for link in links]})
    return found
