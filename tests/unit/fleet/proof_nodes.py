# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Recorded nodes for the checks of verify."""

from __future__ import annotations

import copy
from typing import Any, Callable

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.model import HostEvidence

Facts = Callable[..., dict[str, Any]]

DEFAULTS = {
    name: option["default"]
    for name, option in variables.options_of().items()
    if name.startswith("rdma_verify_") and "default" in option
}
LAB: dict[str, Any] = {"rdma_links_subnet": "10.0.0.0/24", "rdma_links_mtu": 9000, "rdma_discover_expect_hcas": 1}


def node(facts: dict[str, Any] | None, host: str = "lab-01", group: str = "lab", **values: Any) -> HostEvidence:
    return HostEvidence(host, group, None if facts is None else read.facts(facts), {**DEFAULTS, **values}, address=host)


def changed(facts: dict[str, Any], **port: Any) -> dict[str, Any]:
    """Facts whose first port has other values; ``netdev_x`` are those of its netdev."""
    result = copy.deepcopy(facts)
    own = result["hcas"][0]["ports"][0]
    own["netdev"] = own["netdev"] and dict(own["netdev"])
    for key, value in port.items():
        if key.startswith("netdev_"):
            own["netdev"][key[len("netdev_") :]] = value
        else:
            own[key] = value
    return result


def worst(checks: list[Check]) -> dict[str, tuple[str, str]]:
    """Subject and text of everything that is not right, by id."""
    return {check.id: (check.subject, check.text) for check in checks if check.verdict in ("warn", "fail")}
