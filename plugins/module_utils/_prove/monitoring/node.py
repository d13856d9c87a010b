# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The dashboard of one node: its topology, who holds which port, and what its ports do."""

from __future__ import annotations

from typing import List

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.figures import STATES
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring import links, series
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring.dashboard import (
    Panel,
    Query,
    dashboard,
    graph,
    stat,
    table,
    timeline,
    variable,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring.fleet import (
    BYTES,
    CONGESTION,
    INTERVAL,
    PAUSES,
    RECEIVED,
    SENT,
    WATCHED,
    firing,
    pods,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring.series import DEVICE, STATE, on

_HOST = 'host="$host"'
_NODE = f"{series.NODE_INFO}{{{_HOST}}}"
_PORT = "{{device}}/{{port}}"


def _here(expression: str) -> str:
    return series.of_hosts(expression, _NODE)


def _by_port(expression: str) -> str:
    return f"max by (device, port) ({_here(expression)})"


def _topology() -> Panel:
    """What is where: one row for each port."""
    device = ("gpu", "place", "board_id", "firmware_version")
    joined = f"{series.PORT_INFO}\n* {on(DEVICE)} group_left ({', '.join(device)}) {series.DEVICE_INFO}"
    carried = f"0 * {STATE}\n+ {on(DEVICE)} group_left () {links.carries()}"
    shown = ("device", "port", "rail", "pci_address", "netdev", "link_layer", *device)
    return table(
        "Topology",
        [
            Query(_here(joined)),
            Query(_by_port(STATE), "state", STATES),
            Query(_by_port(f"{series.RATE} / 125e6"), "Gb/s"),
            Query(_by_port(f"{series.EXPECTED_RATE} / 125e6"), "Gb/s expected"),
            Query(_by_port(carried), "Gb/s of PCIe"),
        ],
        shown,
        description="gpu has the PCI addresses of the GPUs that are nearest to the NIC; place is host or pod.",
    )


def _numbers() -> List[Panel]:
    age = _here(f"time() - {series.LAST_LOOK}")
    return [
        stat("Ports", f"count({_here(STATE)}) or vector(0)"),
        stat("Ports that are not active", f"count({_here(f'{STATE} != 4')}) or vector(0)"),
        stat("Pods with a port", f"count(count by (namespace, pod) ({_here(series.POD_INFO)})) or vector(0)"),
        stat("Alerts", f"count({firing(_HOST)}) or vector(0)", bad=True),
        stat("Last look", f"max({age})", unit="s", description="Seconds since the exporter has looked."),
        stat(
            "Left out",
            f"count({_here(series.HUNG)}) or vector(0)",
            bad=True,
            description="What the exporter leaves out because reading it hangs or fails.",
        ),
    ]


def _graphs() -> List[Panel]:
    traffic = [(RECEIVED, "received"), (SENT, "sent")]
    errors = [
        Query(_by_port(f"increase({series.of_counter(name)}{INTERVAL}) > 0"), f"{_PORT} {name}") for name in WATCHED
    ]
    congestion = [
        Query(_by_port(f"rate({series.of_counter(name)}{INTERVAL})"), f"{_PORT} {CONGESTION[name]}")
        for name in CONGESTION
    ]
    pauses = Query(
        f"sum by (device, port, direction) ({_here(f'rate({PAUSES}{INTERVAL})')})",
        f"{_PORT} PFC pauses {{{{direction}}}}",
    )
    heat = Query(f"max by (device, sensor) ({_here('rdma_device_temperature_celsius')})", "{{device}} {{sensor}}")
    power = Query(f"max by (device, sensor) ({_here('rdma_device_power_watts')})", "{{device}} {{sensor}}")
    return [
        graph(
            "Bandwidth by port",
            [Query(_by_port(f"rate({metric}{INTERVAL})"), f"{_PORT} {way}") for metric, way in traffic],
            unit=BYTES,
        ),
        graph("Bandwidth by pod, sent", [Query(pods(_NODE, SENT), "{{namespace}}/{{pod}}")], unit=BYTES),
        graph("Error counters", errors),
        graph("Congestion", [*congestion, pauses], unit="pps"),
        graph("Temperature", [heat], unit="celsius"),
        graph("Power", [power], unit="watt"),
    ]


def node() -> str:
    """The file."""
    held = ("namespace", "pod", "container", "claim", "device", "port", "rail", "gpu", "how")
    reported = ("device", "pci_address", "kind")
    panels = [
        *_numbers(),
        _topology(),
        timeline("States of ports", Query(_by_port(STATE), _PORT, STATES)),
        table("Pods", [Query(_here(series.POD_INFO))], held),
        table(
            "Firing alerts",
            [Query(firing(_HOST))],
            ("severity", "alertname", "device", "port", "rail", "kind"),
            12,
        ),
        table(
            "Faults in the kernel's log",
            [Query(_here(f"{series.FAULTS} > 0"), "messages")],
            reported,
            12,
        ),
        *_graphs(),
    ]
    group = variable("group", "Group", f"label_values({series.NODE_INFO}, group)", many=True)
    host = variable("host", "Host", f'label_values({series.NODE_INFO}{{group=~"$group"}}, host)', many=False)
    text = "RDMA ports of one node, the GPUs beside them and the pods that hold them, from the exporter."
    return dashboard("RDMA node", text, [group, host], panels)
