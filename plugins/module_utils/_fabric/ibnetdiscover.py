# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The links of an InfiniBand fabric, as a file of ibnetdiscover has them: what switches, UFM and admins keep."""

from __future__ import annotations

import re
from typing import List, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.links import FabricLink, cut, guid

# ``out_switch``, ``out_ca``, ``out_switch_port`` and ``out_ca_port`` of ibnetdiscover.c (rdma-core).
_NODE = re.compile(r'(?P<kind>Switch|Ca|Rt|NULL)\s+[0-9]+ "[A-Z]-(?P<guid>[0-9a-f]{1,16})"\s+# "(?P<name>.*)".*')
_PORT = re.compile(
    r'\[(?P<port>[0-9]{1,5})\](?:\[ext [0-9]+\])?(?:\((?P<guid>(?:0x)?[0-9a-f]{1,16})\))?\s+"(?P<kind>[A-Z])-'
    r'(?P<peer>[0-9a-f]{1,16})"\[(?P<peer_port>[0-9]{1,5})\](?:\[ext [0-9]+\])?'
    r'(?:\((?P<peer_guid>(?:0x)?[0-9a-f]{1,16})\))?\s+# (?:lid [0-9]+ lmc [0-9]+ )?"(?P<name>.*)" lid [0-9]+'
    r" (?P<width>[0-9]{1,3})x(?P<speed>[A-Z]+[0-9]*)\b.*"
)
# Gb/s of a lane as iblinkinfo has them (``mad_dump_linkspeed``, ``mad_dump_linkspeedext`` of libibmad).
LANE = {
    "SDR": "2.5",
    "DDR": "5.0",
    "QDR": "10.0",
    "FDR10": "10.3125",
    "FDR": "14.0625",
    "EDR": "25.78125",
    "HDR": "53.125",
    "NDR": "106.25",
    "XDR": "212.5",
}


def parse(text: str) -> List[FabricLink]:
    """The links, each from both of its ends as far as the file has both. Links of a speed without a name are left out.

    An HCA's port is known by its port GUID, which the file has beside the port's number.
    """
    found: List[FabricLink] = []
    node: Optional[Tuple[str, str]] = None
    for line in text.splitlines():
        head = _NODE.fullmatch(line.rstrip())
        if head:
            node = (head["guid"], head["name"])
            continue
        match = _PORT.fullmatch(line.rstrip())
        if match is None or node is None or match["speed"] not in LANE:
            continue
        found.append(
            FabricLink(
                guid=guid(match["guid"] or node[0]),
                name=cut(node[1]),
                port=int(match["port"]),
                state="",
                width=f"{int(match['width'])}X",
                speed=LANE[match["speed"]],
                peer_guid=guid(match["peer_guid"] or match["peer"]),
                peer=cut(match["name"]),
                peer_port=int(match["peer_port"]),
            )
        )
    return found


def is_topology(text: str) -> bool:
    """Whether a file looks like one of ibnetdiscover."""
    return any(_NODE.fullmatch(line.rstrip()) for line in text.splitlines())
