# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The dashboard of the fleet: what is up, what is sick, and who uses how much bandwidth."""

from __future__ import annotations

from typing import List

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import counters as thresholds
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import families
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.figures import STATES
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring import series
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring.dashboard import (
    Panel,
    Query,
    bars,
    dashboard,
    graph,
    stat,
    table,
    variable,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring.series import ACTIVE, PORT, STATE, on

_GROUPS = '{group=~"$group"}'
_NODES = f"{series.NODE_INFO}{_GROUPS}"
RECEIVED, SENT = series.of_counter("port_rcv_data"), series.of_counter("port_xmit_data")
INTERVAL = "[$__rate_interval]"
BYTES = "Bps"
# Counters of the congestion control of RoCE, and what they mean.
CONGESTION = {
    "np_cnp_sent": "CNPs sent",
    "rp_cnp_handled": "CNPs handled",
    "np_ecn_marked_roce_packets": "packets marked by ECN",
    "out_of_sequence": "packets out of sequence",
}
PAUSES = f"{families.OWN}pfc_pause_frames_total"
WATCHED = (*thresholds.PER_SECOND, *thresholds.NEVER, "link_downed")


def _here(expression: str) -> str:
    return series.of_hosts(expression, _NODES)


def _number(expression: str) -> str:
    """The number of series, also where there are none."""
    return f"count({expression}) or vector(0)"


def pods(nodes: str, metric: str) -> str:
    """Bytes a second of pods that have a port in their network namespace, each port once for each pod."""
    held = f'{series.POD_INFO}{{how="netns"}}'
    moved = f"{held}\n* {on(PORT)} group_left () rate({metric}{INTERVAL})"
    each = f"max by (namespace, pod, {', '.join(PORT)}) (\n{series.of_hosts(moved, nodes)})"
    return f"topk(20, sum by (namespace, pod) ({each}))"


def firing(matchers: str) -> str:
    """The alerts of this collection that fire."""
    return f'ALERTS{{alertname=~"Rdma.+",alertstate="firing",{matchers}}}'


def _rails() -> Panel:
    up, every = (series.of_hosts(series.of_rails(each), _NODES) for each in (ACTIVE, STATE))
    # Also 0 where none of them is up.
    share = f"(count by (group, rail) ({up})\nor 0 * count by (group, rail) ({every}))\n"
    return bars(
        "Rails",
        Query(f"{share}/ count by (group, rail) ({every})", "{{group}} rail {{rail}}"),
        8,
        "percentunit",
        "Share of the ports of each rail that are up.",
    )


def _numbers() -> List[Panel]:
    rails = series.of_rails(STATE)
    down = series.of_rails(f"{STATE} != 4")
    return [
        stat("Nodes", _number(_NODES), description="Nodes whose exporter answers."),
        stat("Ports of rails", _number(_here(rails))),
        stat("Ports of rails that are down", _number(_here(down)), bad=True),
        stat(
            "Sick NICs",
            'sum(zerocopy_rdma_health_nics{state="sick",group=~"$group"}) or vector(0)',
            bad=True,
            description="As health judges them.",
        ),
        stat(
            "NICs kept from new pods",
            # Not 0 where the last run could not see the rules.
            'count(zerocopy_rdma_health_rule{effect!="None",group=~"$group"})\n'
            "or 0 * max(zerocopy_rdma_health_rules_known == 1)",
            description="By a DeviceTaintRule of health.",
        ),
        stat("Alerts", _number(firing('group=~"$group"')), bad=True),
    ]


def _traffic() -> List[Panel]:
    return [
        graph(
            "Bandwidth by group",
            [
                Query(f"sum by (group) ({_here(f'rate({metric}{INTERVAL})')})", f"{{{{group}}}} {way}")
                for metric, way in ((RECEIVED, "received"), (SENT, "sent"))
            ],
            unit=BYTES,
        ),
        graph(
            "Bandwidth by pod, sent",
            [Query(pods(_NODES, SENT), "{{namespace}}/{{pod}}")],
            unit=BYTES,
            description="The 20 pods that send most, over NICs in their network namespaces.",
        ),
    ]


def _troubles() -> List[Panel]:
    errors = [
        Query(
            f"topk(5, {_here(f'increase({series.of_counter(name)}{INTERVAL}) > 0')})",
            f"{{{{host}}}} {{{{device}}}}/{{{{port}}}} {name}",
        )
        for name in WATCHED
    ]
    congestion = [
        Query(f"sum by (group) ({_here(f'rate({series.of_counter(name)}{INTERVAL})')})", f"{{{{group}}}} {text}")
        for name, text in CONGESTION.items()
    ]
    pauses = Query(
        f"sum by (group, direction) ({_here(f'rate({PAUSES}{INTERVAL})')})", "{{group}} PFC pauses {{direction}}"
    )
    return [
        graph("Error counters", errors, description="Of each counter the five ports on which it grows most."),
        graph("Congestion", [*congestion, pauses], unit="pps", description="Packets a second (RoCE)."),
    ]


def fleet() -> str:
    """The file."""
    states = [Query(f"count({_here(f'{STATE} == {number}')})", word) for number, word in STATES.items()]
    columns = ("group", "host", "device", "pci_address", "check", "exempt")
    panels = [
        *_numbers(),
        graph("Ports by state", states, 16, stacked=True),
        _rails(),
        table(
            "NICs that are sick",
            [Query(f"zerocopy_rdma_health_sick{_GROUPS}")],
            columns,
            12,
            description="As health has it.",
        ),
        table(
            "Firing alerts",
            [Query(firing('group=~"$group"'))],
            ("group", "host", "severity", "alertname", "device", "port", "rail"),
            12,
        ),
        *_traffic(),
        *_troubles(),
    ]
    group = variable("group", "Group", f"label_values({series.NODE_INFO}, group)", many=True)
    text = "RDMA ports of all nodes, from the exporter of zerocopy.rdma; sick NICs from its playbook health."
    return dashboard("RDMA fleet", text, [group], panels)
