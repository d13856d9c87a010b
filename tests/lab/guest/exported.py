# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the exporter says, read without the collection's own reader; on a guest and on the controller."""

from __future__ import annotations

from typing import Dict, List, Tuple

Series = Dict[Tuple[str, str], str]


def series(text: str) -> Series:
    """Values by name and labels, the latter as they are written."""
    found: Series = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            key, _blank, value = line.rpartition(" ")
            name, _brace, labels = key.partition("{")
            found[name, labels[:-1]] = value
    return found


def looks(found: Series) -> int:
    """How often the exporter has looked."""
    return int(found["rdma_exporter_looks_total", ""])


def holders(found: Series, pod: str) -> List[str]:
    """The labels of the ports that a pod has."""
    return [labels for name, labels in found if name == "rdma_port_pod_info" and f'pod="{pod}"' in labels]


def port(name: str) -> str:
    """The labels of counters of an HCA's first port."""
    return f'device="{name}",port="1"'
