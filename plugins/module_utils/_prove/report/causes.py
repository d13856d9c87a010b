# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which finding is probably the consequence of which other one on the same host."""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import VERDICTS, Check

BAD = ("fail", "warn")

# By the id of a cause, the checks that fail because of it. A cause may itself be the consequence of another one.
CONSEQUENCES: Mapping[str, Tuple[str, ...]] = {
    "host.packages": ("host.kernel", "host.links", "host.modules"),
    "host.kernel": ("host.modules", "host.netns_mode", "host.sysctl"),
    "host.modules": ("host.devices", "host.gid", "pod.nodes"),
    "host.subnet_manager": ("host.port_state", "host.reachable", "host.bandwidth", "pod.port"),
    "host.port_state": ("host.ports", "host.reachable", "host.bandwidth", "host.gid", "cluster.slices", "pod.port"),
    "host.links": ("host.address", "host.mtu", "host.routes", "host.vfs", "host.qos"),
    "host.qos": ("host.pauses",),
    "host.pkey": ("pod.pkey",),
    "host.address": ("host.gid", "host.reachable", "pod.netdev"),
    "host.routes": ("host.reachable",),
    "host.duplicate_address": ("host.reachable",),
    "host.mtu": ("host.path_mtu",),
    "host.path_mtu": ("host.bandwidth", "bandwidth"),
    "host.reachable": ("host.bandwidth",),
    "host.port_rate": ("bandwidth",),
    "host.pcie_link": ("bandwidth",),
    "host.link_errors": ("bandwidth",),
    "host.sandbox_records": ("host.runtime",),
    "host.memlock": ("pod.memlock", "pod.bandwidth"),
    "host.netns_mode": ("cluster.driver", "pod.nodes", "pod.netdev"),
    "host.runtime": ("cluster.driver", "pod.runs", "pod.allocation", "pod.netdev", "pod.memlock"),
    "host.images": ("cluster.driver",),
    "cluster.driver": ("cluster.slices", "pod.runs", "pod.allocation", "pod.netdev"),
    "cluster.slices": ("pod.runs", "pod.allocation", "pod.path"),
    "cluster.taints": ("pod.runs", "pod.allocation"),
    "cluster.resources": ("pod.runs", "pod.nodes"),
    "pod.runs": ("pod.allocation",),
    "pod.nodes": ("pod.fallback", "pod.bandwidth"),
    "pod.port": ("pod.fallback", "pod.bandwidth"),
    "pod.memlock": ("pod.bandwidth",),
    "pod.netdev": ("pod.bandwidth", "pod.return"),
}

# Id and verdict of a finding.
FindingKey = Tuple[str, str]


class Causes:
    """What is wrong on each host."""

    def __init__(self, checks: Sequence[Check]) -> None:
        self._bad: Dict[str, Dict[str, List[Check]]] = {}
        for check in checks:
            if check.verdict in BAD and check.host:
                self._bad.setdefault(check.host, {}).setdefault(check.id, []).append(check)

    def root(self, host: Optional[str], name: str, verdict: str, subject: str = "") -> Optional[FindingKey]:
        """The finding from which this one follows in the end, if from any. A failure is not put below a warning."""
        bad = self._bad.get(host or "", {})
        for cause, consequences in CONSEQUENCES.items():
            same = [check for check in bad.get(cause, []) if _may_be_same(check.subject, subject)]
            worst = max(same, key=lambda check: VERDICTS.index(check.verdict), default=None)
            if name in consequences and worst and VERDICTS.index(worst.verdict) >= VERDICTS.index(verdict):
                return self.root(host, cause, worst.verdict, worst.subject) or (cause, worst.verdict)
        return None


def _may_be_same(left: str, right: str) -> bool:
    """Two ports (``mlx5_0/1``) are different ones; anything else may be about the same."""
    return left == right or not ("/" in left and "/" in right)
