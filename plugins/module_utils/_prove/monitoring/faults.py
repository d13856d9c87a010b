# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Alerts about error counters, what the kernel's log says of HCAs, and HCAs that are gone."""

from __future__ import annotations

from typing import List

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import counters as thresholds
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import kernel_log
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.kernel_faults import ENDING
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.warnings import LINK_ERRORS, warning
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import counters
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.facts import INTENTS, WARNINGS
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring import series, templates
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring.alert import Alert, of_check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring.templates import Number

# Seconds that are looked back: for what may happen so often, and for what must not happen at all.
_RATE, _EVER = 300, 3600
_LINK_DOWNED, _FLAPS = "link_downed", "rdma_port_flaps_total"
_COUNTED = "as the exporter has counted"
_PORT = f"{templates.label('device')}/{templates.label('port')}"
# A device that has no name any more has its PCI address.
_DEVICE = "{{ or $labels.device $labels.pci_address }}"


def _counter(name: str, expression: str, limit: float, seconds: int) -> Alert:
    text = counters.sentence(_PORT, name, Number(), limit, seconds, _COUNTED)
    return of_check(
        counters.WHAT,
        counters.verdict(limit),
        series.of_hosts(series.of_rails(series.of_hardware(expression))),
        text,
        counters.REMEDY,
        "a counter of a rail has grown by more than this in five minutes"
        if limit
        else "a counter of a rail has grown in the last hour",
        lasts="",
        among=f"`{name}` {limit:.0f}" if limit else f"`{name}`",
        code=LINK_ERRORS,
        counter=name,
    )


def _grown(metric: str, limit: float, seconds: int) -> str:
    return f"increase({metric}[{seconds}s]) > {limit:g}"


def _counters() -> List[Alert]:
    found = [
        _counter(name, _grown(series.of_counter(name), rate * _RATE, _RATE), rate * _RATE, _RATE)
        for name, rate in thresholds.PER_SECOND.items()
    ]
    found += [_counter(name, _grown(series.of_counter(name), 0, _EVER), 0, _EVER) for name in thresholds.NEVER]
    # The kernel counts no links of RoCE that went down, or always 0 (mlx5), but the exporter does. What happens while
    # no exporter runs is only in the kernel's counter: the greater one counts.
    downed = series.of_counter(_LINK_DOWNED)
    more = f"increase({downed}[{_EVER}s]) > increase({_FLAPS}[{_EVER}s])"
    greater = f"{more} or {_grown(_FLAPS, 0, _EVER)} or {_grown(downed, 0, _EVER)}"
    return [*found, _counter(_LINK_DOWNED, greater, 0, _EVER)]


def _reported() -> List[Alert]:
    """What the kernel has reported: until it is over, or for as long as verify warns where it never says so."""
    found = []
    for rule in kernel_log.RULES:
        what, verdict, remedy = WARNINGS[rule.code]
        kind = f'{{kind="{rule.code}"}}'
        counted = f"{series.FAULTS}{kind}"
        lasting = f"{counted} and {series.ACTIVE_FAULT}{kind} == 1"
        numbers = (1, Number())
        texts = [warning(rule.code, _DEVICE, count=number, kind=rule.code).text for number in numbers]
        expression = lasting if rule.code in ENDING else f"{counted} > 0"
        found.append(
            of_check(
                what,
                verdict,
                series.of_hosts(expression),
                templates.by([f"eq {templates.VALUE} 1.0"], texts),
                remedy,
                f"the kernel has reported this{', and not that it is over' if rule.code in ENDING else ''}",
                lasts="",
                among=f"`{rule.code}`",
                code=rule.code,
            )
        )
    return found


def _gone() -> Alert:
    what, verdict, remedy = INTENTS["ports_missing"]
    return of_check(
        what,
        verdict,
        series.of_hosts(f"{series.PRESENT} == 0"),
        f"{_DEVICE} is neither on the node nor in a pod",
        remedy,
        "the HCA of a rail, or one that was there an hour ago, is neither on the node nor in a pod",
        code="ports_missing",
    )


def alerts() -> List[Alert]:
    """All of them."""
    return [*_counters(), *_reported(), _gone()]
