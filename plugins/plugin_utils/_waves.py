# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Sizes and limits of waves, as users state them."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, DefaultDict, Dict, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import waves
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.value_rules import SERIAL_MAX
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import drift
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _groups, _inventory


def sizes(ramp: Any) -> List[waves.Size]:
    """The sizes of a ramp, which may be a single one."""
    return list(ramp) if isinstance(ramp, (list, tuple)) else [ramp]


def of_hosts(hosts: Sequence[str], hostvars: _inventory.Hostvars, ramp: Any = waves.RAMP) -> List[List[str]]:
    """The waves in which those of the hosts are changed that differ from their plan."""
    groups = {host: _groups.of(hostvars, host) for host in hosts}
    at_most = limits(groups, hostvars)
    changing: List[waves.WaveMember] = []
    for host in hosts:
        result = _inventory.raw(hostvars[host], drift.RESULT)
        if result is not None and drift.to_prepare(result):
            changing.append(waves.WaveMember(host, groups[host], at_most.get(groups[host], 0)))
    return waves.waves(changing, sizes(ramp))


def limits(groups: Mapping[str, str], hostvars: _inventory.Hostvars) -> Dict[str, int]:
    """How many hosts of each group may be changed at a time, where a host of it says so (``rdma_serial_max``).

    ``groups`` has the group of each host.
    """
    stated: DefaultDict[str, List[waves.Size]] = defaultdict(list)
    for host, group in groups.items():
        if _inventory.raw(hostvars[host], SERIAL_MAX) is not None:
            stated[group].append(hostvars[host][SERIAL_MAX])
    return waves.limits(stated, Counter(groups.values()))
