# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The links of an InfiniBand fabric, as ``iblinkinfo --line`` of infiniband-diags prints them.

Runs on nodes: Python 3.8, standard library.
"""

from __future__ import annotations

import re
from typing import List

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.links import FabricLink, cut, guid

# ``print_port`` of iblinkinfo.c (rdma-core) in its line mode. A name is what its node calls itself.
_LINE = re.compile(
    r'(?P<guid>0x[0-9a-f]{1,16}) "(?P<name>.*?)" +(?P<lid>[0-9]+) +(?P<port>[0-9]{1,5})\[[^]]*\] ==\('
    r" *(?:(?P<width>[0-9]{1,3}X) +(?P<speed>[0-9]{1,6}(?:\.[0-9]{1,9})?) Gbps)? *(?P<state>[A-Za-z]+)/ *"
    r"(?P<physical>[A-Za-z ]+)\)==> +(?:(?P<peer_guid>0x[0-9a-f]{1,16}) +[0-9]+ +(?P<peer_port>[0-9]{1,5}))?"
    r'\[[^]]*\] "(?P<peer>.*)" \((?P<notes>[^()]*)\) *'
)
_COULD = re.compile(r"Could be ([0-9.]+X|[0-9.]+ Gbps|[A-Z]+[0-9]*)")


def parse(text: str) -> List[FabricLink]:
    """The links, each from both of its ends, without ports that nothing is connected to."""
    found = []
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is None or match["peer_guid"] is None or match["width"] is None:
            continue
        found.append(
            FabricLink(
                guid=guid(match["guid"]),
                name=cut(match["name"]),
                port=int(match["port"]),
                state=match["state"],
                width=match["width"],
                speed=match["speed"],
                peer_guid=guid(match["peer_guid"]),
                peer=cut(match["peer"]),
                peer_port=int(match["peer_port"]),
                could=_COULD.findall(match["notes"]),
            )
        )
    return found
