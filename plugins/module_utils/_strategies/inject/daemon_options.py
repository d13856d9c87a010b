# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What the daemon of the strategy ``inject`` shall be on a node, as ``_prepare/daemons/inject.py`` takes it."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.daemon import NodeKnown

# Where its program begins.
START = "_strategies.inject.daemon.main"
_OWN = ("policy", "namespaces", "missing", "umad", "memlock", "environment", "metrics", "log_level")
# Variables of another role, since facts depend on them as well.
_DISCOVERED = ("root", "drivers", "gpu_vendors", "allow_software")


def options(values: Mapping[str, Any], _known: NodeKnown) -> Dict[str, Any]:
    """The daemon's options for a host with these variables, in their types and with defaults."""
    return {
        **{name: values[f"rdma_inject_{name}"] for name in _OWN},
        **{name: values[f"rdma_discover_{name}"] for name in _DISCOVERED},
        "exclude": [*values["rdma_inject_exclude"], *(values["rdma_driver_exclude"] or [])],
        "link_layer": values["rdma_discover_expect_link_layer"] or "any",
        "state": "present",
    }


def removal(values: Mapping[str, Any]) -> Dict[str, Any]:
    """The options of a host without a daemon."""
    return {"root": values["rdma_discover_root"], "state": "absent"}


def program() -> bytes:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._payload import program as packed

    return packed.build(START)
