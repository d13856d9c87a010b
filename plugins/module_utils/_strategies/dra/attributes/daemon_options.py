# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What the daemon shall be on a node, as ``_prepare/daemons/attributes.py`` takes it."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.daemon import NodeKnown
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import devices, planned

ATTRIBUTES, ENABLED = "rdma_driver_attributes", "rdma_driver_enabled"
_START = "_strategies.dra.attributes.main"


def wanted(values: Mapping[str, Any]) -> bool:
    """Whether a host with these variables has the daemon."""
    return bool(values.get(ATTRIBUTES) and values.get(ENABLED, True))


def options(values: Mapping[str, Any], known: NodeKnown) -> Dict[str, Any]:
    """The daemon's options for a host with these variables, in their types and with defaults."""
    facts = known.facts or Facts()
    found = planned.nics(values, facts, known.rails, known.leaf or "")
    return {
        "root": values["rdma_discover_root"],
        "devices": found,
        "untold": devices.untold(facts, found, known.leaf),
        "keep": known.may_lack_nics,
        "state": "present",
    }


def removal(values: Mapping[str, Any]) -> Dict[str, Any]:
    """The options of a host without a daemon."""
    return {"root": values["rdma_discover_root"], "state": "absent"}


def program() -> bytes:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._payload import program as packed

    return packed.build(_START)
