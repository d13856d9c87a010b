# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The document of health for people: a table of NICs, and why the run fails."""

from __future__ import annotations

from typing import Dict, List, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health import taints
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.document import (
    HealthDocument,
    HealthEvent,
    HealthNic,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.memory import SETTLING, SICK, UNSEEN
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.text import clean
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import aligned, counted, joined

UP_TO = 40
_FINDINGS_UP_TO = 20
# NICs with their past below the table, and events of each.
_PASTS_UP_TO = 20
_EVENTS_UP_TO = 4
_SAID: Dict[str, str] = {
    taints.HELD: "a pod holds it",
    taints.OVER: "over the budget",
    taints.NO_DEVICE: "no device of it is published",
    taints.NO_TAINTS: "its strategy has no taints",
}
_ORDER = (SICK, UNSEEN, SETTLING)


def rule(nic: HealthNic) -> str:
    """The effects of its rules, and why it has no other ones."""
    if nic.effects is None:
        return "unknown"
    effects = "+".join(dict.fromkeys(nic.effects)) or "-"
    said = _SAID.get(nic.outcome, "")
    return f"{effects} ({said})" if said else effects


def why(nic: HealthNic) -> str:
    """One line about its state."""
    if nic.exempt:
        return f"exempt: {nic.exempt}"
    if nic.state == SETTLING:
        return f"well since {nic.well_since}, {counted(nic.good, 'look')}"
    return joined([finding.text for finding in nic.findings], 1)


def by_state(nics: Sequence[HealthNic]) -> List[HealthNic]:
    """The worst first."""
    return sorted(nics, key=lambda nic: _ORDER.index(nic.state))


def _nics(nics: Sequence[HealthNic]) -> List[str]:
    if not nics:
        return []
    rows = [["group", "host", "NIC", "PCI address", "state", "since", "times", "rule", "why"]]
    for nic in by_state(nics)[:UP_TO]:
        where = [nic.group, nic.host, nic.name, nic.nic]
        rows.append([*where, nic.state, nic.since or "-", str(nic.times), rule(nic), why(nic)])
    shown = aligned([[" ".join(clean(cell).split()) for cell in row] for row in rows])
    more = len(nics) - UP_TO
    return [*shown, *([f"and {more} more, in health.json"] if more > 0 else [])]


def said(event: HealthEvent) -> str:
    """What happened, without when."""
    more = event.effect or joined(list(dict.fromkeys(finding.check for finding in event.findings)))
    return f"{event.what} ({more})" if more else event.what


def _pasts(whole: HealthDocument) -> List[str]:
    """What happened to the NICs of the table before, where it is more than its line says."""
    known = {(past.host, past.nic): past for past in whole.histories}
    lines = []
    for nic in by_state(whole.nics)[:UP_TO]:
        past = known.get((nic.host, nic.nic))
        if past and len(past.events) > 1:
            events = [f"{event.at} {said(event)}" for event in past.events[-_EVENTS_UP_TO:]]
            lines.append(f"{nic.host} {nic.name}: {', '.join(events)}")
    more = len(lines) - _PASTS_UP_TO
    return [*lines[:_PASTS_UP_TO], *([f"and the past of {more} more, in health.json"] if more > 0 else [])]


def of_no_nic(whole: HealthDocument) -> List[Check]:
    """Checks that are not about a NIC of the table."""
    told = {(nic.host, finding.text) for nic in whole.nics for finding in nic.findings}
    return [check for check in whole.checks if (check.host, check.text) not in told]


def _findings(whole: HealthDocument) -> List[str]:
    lines = [
        f"{check.verdict.upper()}  {check.id}  {check.host or 'fleet'}: {check.text}"
        for check in sorted(of_no_nic(whole), key=lambda check: check.verdict != "fail")
    ]
    more = len(lines) - _FINDINGS_UP_TO
    return [*lines[:_FINDINGS_UP_TO], *([f"and {more} more, in health.json"] if more > 0 else [])]


def headline(whole: HealthDocument) -> str:
    """How many NICs are sick, and of which hosts nothing is known."""
    every = sum(group.nics for group in whole.groups.values())
    sick, unseen = (sum(group.states[state] for group in whole.groups.values()) for state in (SICK, UNSEEN))
    # Not those of which nothing bad was ever seen.
    settling = sum(nic.state == SETTLING for nic in whole.nics)
    kept = sum(nic.outcome == taints.TAINTED or (nic.outcome == taints.LEFT and _barred(nic)) for nic in whole.nics)
    head = f"{sick} of {counted(every, 'NIC')} {'is' if sick == 1 else 'are'} sick"
    barred = "unknown how many are kept from new pods" if whole.rules is None else f"{kept} kept from new pods"
    more = [barred, f"{unseen} could not be looked at" if unseen else "", f"{settling} settling" if settling else ""]
    never = [host for host, at in whole.hosts.items() if not at]
    more += [f"{fold(never)} {'was' if len(never) == 1 else 'were'} never looked at"] if never else []
    return ", ".join([head, *filter(None, more)])


def table(whole: HealthDocument) -> str:
    """What matters, worst first, on a page or two whatever the number of hosts."""
    parts = [[f"{headline(whole)} (collection {whole.collection}, {whole.created})"]]
    parts += [_nics(whole.nics), _pasts(whole), whole.problems, whole.notes, _findings(whole)]
    return "\n\n".join("\n".join(clean(" ".join(line.split("\n"))) for line in part) for part in parts if part) + "\n"


def _barred(nic: HealthNic) -> bool:
    return any(effect != "None" for effect in nic.effects or ())


def failure(whole: HealthDocument, failed: Sequence[str], path: str) -> str:
    """Why health fails, empty if it does not: ``failed`` are texts of checks, ``path`` that of the document, if any."""
    sick = [nic for nic in whole.nics if nic.state == SICK and not nic.exempt]
    if not failed and not whole.problems:
        return ""
    parts = [f"{counted(len(sick), 'NIC')} {'is' if len(sick) == 1 else 'are'} sick"] if sick else []
    parts += [f"{counted(len(failed), 'check')} failed, the first because: {failed[0].rstrip('.')}"] if failed else []
    parts += [f"{problem}" for problem in whole.problems]
    return f"{'. '.join(parts)}." + (f" Everything is in {path}." if path else "")
