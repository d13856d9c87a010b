# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The links of an InfiniBand fabric, by iblinkinfo of infiniband-diags.

Runs on nodes: Python 3.8, standard library.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any, Callable, Dict, List, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import command
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError

# A fabric of thousands of ports takes some seconds, each port that does not answer another second.
_SECONDS = 300
_SAID_AT_MOST = 300

# ``print_port`` of iblinkinfo.c (rdma-core) in its line mode. A name is what its node calls itself.
_LINE = re.compile(
    r'(?P<guid>0x[0-9a-f]+) "(?P<name>.*?)" +(?P<lid>[0-9]+) +(?P<port>[0-9]+)\[[^]]*\] ==\('
    r" *(?:(?P<width>[0-9]+X) +(?P<speed>[0-9.]+) Gbps)? *(?P<state>[A-Za-z]+)/ *(?P<physical>[A-Za-z ]+)\)==> +"
    r"(?:(?P<peer_guid>0x[0-9a-f]+) +[0-9]+ +(?P<peer_port>[0-9]+))?"
    r'\[[^]]*\] "(?P<peer>.*)" \((?P<notes>[^()]*)\) *'
)
_COULD = re.compile(r"Could be ([0-9.]+X|[0-9.]+ Gbps|[A-Z]+[0-9]*)")


@dataclass(frozen=True)
class FabricPort:
    """A port of this node from which its fabric is read; ``guid`` is its port GUID (``0x`` and 16 digits)."""

    hca: str
    port: int
    guid: str


@dataclass(frozen=True)
class FabricLink:
    """One end of a link that is up.

    ``width`` (``4X``) and ``speed`` of a lane in Gb/s are those it runs at, ``could`` what both ends can do beyond that
    (``4X``, ``25.78125 Gbps``). ``state`` is ``Initialize`` as long as no subnet manager has set the port up.
    """

    guid: str
    name: str
    port: int
    state: str
    width: str
    speed: str
    peer_guid: str
    peer: str
    peer_port: int
    could: Tuple[str, ...] = ()


def _guid(text: str) -> str:
    return f"0x{int(text, 16):016x}"


def parse(text: str) -> List[FabricLink]:
    """The links of ``iblinkinfo --line``, each from both of its ends, without ports that nothing is connected to."""
    found = []
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is None or match["peer_guid"] is None or match["width"] is None:
            continue
        found.append(
            FabricLink(
                guid=_guid(match["guid"]),
                name=match["name"].strip(),
                port=int(match["port"]),
                state=match["state"],
                width=match["width"],
                speed=match["speed"],
                peer_guid=_guid(match["peer_guid"]),
                peer=match["peer"].strip(),
                peer_port=int(match["peer_port"]),
                could=tuple(_COULD.findall(match["notes"])),
            )
        )
    return found


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
        if _guid(port.guid) in known:
            continue
        text, error = answer(port)
        links = parse(text)
        known.update(link.guid for link in links)
        found.append({"hca": port.hca, "port": port.port, "error": error, "links": [asdict(link) for link in links]})
    return found
