# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The daemons of a node: those of strategies, and the exporter of metrics and lldpd, which no strategy owns."""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.neighbours import lldp_netdevs
from ansible_collections.zerocopy.rdma.plugins.module_utils._payload import program
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.daemon import NodeKnown

EXPORTER, LLDPD = "exporter", "lldpd"
_START = "_exporter.main"
_OWN = ("directory", "listen", "interval")
# Variables of another role, since facts depend on them as well.
_DISCOVERED = ("root", "gpu_vendors")


def options(
    values: Mapping[str, Any],
    wanted: bool,
    known: Optional[NodeKnown] = None,
    host: str = "",
    group: str = "",
) -> Dict[str, Dict[str, Any]]:
    """By name the options of all daemons on a host with these variables (in their types).

    Those that it shall not have go, and without ``wanted`` all of them. ``host`` and ``group`` are its names.
    """
    known = known or NodeKnown()
    found = registry.daemons(values, wanted, known)
    if wanted and values["rdma_exporter_enabled"]:
        found[EXPORTER] = {"host": host, "group": group, **_exporter(values, known)}
    else:
        found[EXPORTER] = {"root": values["rdma_discover_root"], "state": "absent"}
    found[LLDPD] = {"root": values["rdma_discover_root"], "state": "absent"}
    if wanted and values["rdma_cabling_lldpd"]:
        netdevs = None if known.facts is None else lldp_netdevs(known.facts)
        found[LLDPD] = {**found[LLDPD], "netdevs": netdevs, "state": "present"}
    return found


def _exporter(values: Mapping[str, Any], known: NodeKnown) -> Dict[str, Any]:
    return {
        **{name: values[f"rdma_exporter_{name}"] for name in _OWN},
        **{name: values[f"rdma_discover_{name}"] for name in _DISCOVERED},
        "rails": [dict(rail) for rail in known.rails],
        "keep": known.may_lack_nics,
        "rate_gbps": float(values["rdma_discover_expect_rate_gbps"] or 0),
        "runtime": values["rdma_runtime_flavour"],
        "state": "present",
    }


def programs() -> Dict[str, Callable[[], bytes]]:
    """By the name of each daemon what makes its program."""
    return {**registry.programs(), EXPORTER: lambda: program.build(_START)}
