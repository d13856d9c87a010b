# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The document of health as metrics in Prometheus' text format (version 0.0.4).

The age of the last verdict is the time since the run, which an alert watches: rules stay when nobody looks any more.
"""

from __future__ import annotations

from typing import Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.document import HealthDocument
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.memory import SICK
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats.prometheus import (
    Labels,
    gauge,
    seconds,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.text import clean

_PREFIX = "zerocopy_rdma_health"


def metrics(whole: HealthDocument) -> str:
    """The whole file. Raises DocumentError."""
    states: Dict[Labels, int] = {}
    for group, known in whole.groups.items():
        states.update({(clean(group), state): number for state, number in known.states.items()})
    sick: Dict[Labels, int] = {}
    effects: Dict[Labels, int] = {}
    for nic in whole.nics:
        own = tuple(map(clean, (nic.host, nic.group, nic.name, nic.nic)))
        if nic.state == SICK:
            check = nic.findings[0].check if nic.findings else ""
            sick[(*own, clean(check), "true" if nic.exempt else "false")] = 1
        effects.update({(*own, effect): 1 for effect in nic.effects or ()})
    # Without a series, nothing would tell of a host that was never reached.
    looked: Dict[Labels, int] = {(clean(host),): seconds(at).get((), 0) for host, at in whole.hosts.items()}
    nic_labels = ("host", "group", "device", "pci_address")
    lines = [
        *gauge(f"{_PREFIX}_run_timestamp_seconds", "Time of the last run of health.", (), seconds(whole.created)),
        *gauge(f"{_PREFIX}_host_timestamp_seconds", "When a host was last looked at, 0: never.", ("host",), looked),
        *gauge(f"{_PREFIX}_nics", "NICs by state.", ("group", "state"), states),
        *gauge(f"{_PREFIX}_sick", "A NIC that is sick (always 1).", (*nic_labels, "check", "exempt"), sick),
        *gauge(f"{_PREFIX}_rule", "A NIC that has a DeviceTaintRule (always 1).", (*nic_labels, "effect"), effects),
        *gauge(f"{_PREFIX}_rules_known", "Whether the run has seen the rules.", (), {(): int(whole.rules is not None)}),
        *gauge(f"{_PREFIX}_problems", "Reasons why NICs were not tainted.", (), {(): len(whole.problems)}),
    ]
    return "".join(f"{line}\n" for line in lines)
