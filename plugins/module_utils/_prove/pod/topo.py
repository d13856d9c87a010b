# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What ``nvidia-smi topo -m`` says in a pod: the path class of each of its GPUs to each NIC."""

from __future__ import annotations

import re
from typing import Dict, List

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.topology import PATH_CLASSES

_COLOUR = re.compile(r"\x1b\[[0-9;]{0,16}m")
_GPU = re.compile(r"GPU[0-9]{1,4}")
_LEGEND = re.compile(r"^\s*(NIC[0-9]{1,4}): (\S{1,64})\s*$", re.MULTILINE)


def matrix(output: str) -> List[Dict[str, str]]:
    """Of each GPU, in nvidia-smi's order (that of PCI addresses), the path class by HCA; empty for anything else.

    Older versions have the HCAs' own names as columns.
    """
    plain = _COLOUR.sub("", output)
    names = dict(_LEGEND.findall(plain))
    columns: List[str] = []
    found: List[Dict[str, str]] = []
    for line in plain.splitlines():
        cells = [cell.strip() for cell in line.split("\t")]
        if not columns and not cells[0] and any(map(_GPU.fullmatch, cells)):
            columns = cells
        elif columns and _GPU.fullmatch(cells[0]):
            pairs = zip(columns[1:], cells[1:])
            found.append({names.get(name, name): path for name, path in pairs if path in PATH_CLASSES})
    return found
