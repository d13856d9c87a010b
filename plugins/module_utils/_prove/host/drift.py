# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Whether a host is as configured: what a comparison would have prepare change, turned into findings.

The modules of prepare already know what is wanted and what there is, so nothing is written here a second time that
could then say something else.
"""

from __future__ import annotations

import difflib
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import qos
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence, Map
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted, joined

# What a change of prepare's modules is about. A file alone is not in effect yet, or will not be after the next boot.
_KINDS = {
    "module": "modules",
    "rdma_netns_mode": "netns_mode",
    "initramfs": "initramfs",
    "sysctl": "sysctl",
    "connection": "links",
    "mtu": "mtu",
    "vfs": "vfs",
    "vf_guid": "vfs",
    "device": "links",
    "qos": "qos",
    "sandbox_record": "sandbox_records",
}
_SHOWN = 3
# A run that mends it is one with the tag of the runtime, whose sentence would be about that.
EXPORTER_REMEDY = "Configure the exporter as planned."
# Daemons that a node may have beside that of its strategy, by which their results are found.
_BESIDE = {
    "exporter": EXPORTER_REMEDY,
    "attributes": "Configure the daemon of attributes as planned.",
    "lldpd": "Configure lldpd as planned.",
}


def _mend(concern: str) -> str:
    """Which run of site mends what differs in a concern."""
    return {"packages": "kernel", "images": "driver", "daemons": "runtime"}.get(concern, concern)


def _lines(diff: Sequence[Map], path: str) -> List[str]:
    """What is different in a file."""
    found: List[str] = []
    for change in diff:
        if change.get("after_header", "").split(" (absent)")[0] != path:
            continue
        before, after = change["before"].splitlines(), change["after"].splitlines()
        for tag, from_, until, start, end in difflib.SequenceMatcher(None, before, after).get_opcodes():
            if tag != "equal":
                was = "; ".join(line.strip() for line in before[from_:until] if line.strip())
                will = "; ".join(line.strip() for line in after[start:end] if line.strip())
                if was and will:
                    found.append(f"has '{was}' instead of '{will}'")
                elif was or will:
                    found.append(f"has '{was}', which is not planned" if was else f"lacks '{will}'")
    return found


def _files(changes: Sequence[Map], diff: Sequence[Map]) -> List[str]:
    found = []
    for change in changes:
        if change["kind"] == "file":
            if change["before"] == "absent":
                found.append(f"{change['name']} is missing")
            else:
                lines = _lines(diff, change["name"])
                found.append(f"{change['name']} {joined(lines, _SHOWN)}" if lines else f"{change['name']} differs")
    return found


def _diff(result: Map) -> List[Map]:
    diff: Any = result.get("diff") or []
    return [diff] if isinstance(diff, Mapping) else list(diff)


def _live(node: HostEvidence, concern: str, result: Map, known: Sequence[Any]) -> Iterator[Check]:
    for change in result.get("changes") or []:
        kind, name = change["kind"], change["name"]
        what = _KINDS.get(kind)
        # Findings from the facts are reported already.
        if what is None or name in known or what == "netns_mode":
            continue
        text = f"{kind.replace('_', ' ')} {name} is {change['before']}, it should be {change['after']}"
        yield node.check(what, "fail", name, text, "", concern, before=change["before"], after=change["after"])


def _persistence(node: HostEvidence, what: str, result: Map, subject: str) -> Iterator[Check]:
    files = _files(result.get("changes") or [], _diff(result))
    if files:
        text = f"not as configured for the next boot: {joined(files, _SHOWN)}"
        yield node.check(what, "warn", subject, text, "", _mend(what), files=files)


def _kernel(node: HostEvidence, result: Map) -> Iterator[Check]:
    yield from _live(node, "kernel", result, list(node.known.system.modules))
    yield from _persistence(node, "kernel", result, "")
    for reason in result.get("reboot_reasons") or []:
        yield node.check("kernel", "warn", "", reason, "Reboot the node.")
    for option, why in (result.get("not_effective") or {}).items():
        remedy = "Remove the contradicting setting, then reboot the node."
        yield node.check("kernel", "fail", option, f"{option} is not in effect: {why}", remedy)


def _links(node: HostEvidence, result: Map) -> Iterator[Check]:
    wanted = "rdma_links_mtu" in node.values
    known = [port.netdev.name for _hca, port, _name in node.ports() if port.netdev] if wanted else []
    told = qos.wrong_netdevs(node)
    settings = [entry["name"] for entry in result.get("changes") or [] if entry["kind"] == "qos"]
    known += [name for name in settings if name.partition(" ")[0] in told]
    yield from _live(node, "links", result, known)
    yield from _persistence(node, "links", result, "")
    if result.get("unfinished"):
        yield node.check("links", "warn", "", "an interrupted change of the links was never completed", "", "links")


def _runtime(node: HostEvidence, result: Map) -> Iterator[Check]:
    changes = result.get("changes") or []
    files = _files(changes, _diff(result))
    service = next((change for change in changes if change["kind"] == "service"), None)
    unit = result.get("unit") or "the runtime"
    yield from _live(node, "runtime", result, [])
    if service is not None:
        why = (
            joined(files, _SHOWN) or "it does not answer on its NRI socket, or was not restarted since its last change"
        )
        text = f"{unit} does not run with the configured NRI, CDI and locked-memory limit: {why}"
        yield node.check("runtime", "fail", unit, text, "", "runtime", files=files)
    elif files:
        yield from _persistence(node, "runtime", result, unit)
    if result.get("restart_pending") and service is None:
        text = f"{unit} was configured, but not restarted since"
        yield node.check("runtime", "fail", unit, text, "", "restart")
    nri = result.get("nri")
    if nri is not None and not nri.get("enabled"):
        text = f"{unit} lets no NRI plugin connect, so containers get no RDMA device"
        yield node.check("runtime", "fail", unit, text, "", "runtime")
    records = result.get("sandbox_records") or []
    if records:
        text = f"{unit} will fail at its next start, or at a reboot: failed attaches left {joined(records, _SHOWN)}"
        yield node.check("sandbox_records", "fail", unit, text, "", "sandboxes", records=records)
    old = result.get("running_pods_keep_old_limit")
    if old:
        text = f"a lower limit of locked memory than configured in {counted(old, 'running pod')}"
        yield node.check("memlock", "warn", unit, text, "Restart these pods.", pods=old)


def _packages(node: HostEvidence, result: Map) -> Iterator[Check]:
    if result.get("unknown"):
        text = "it is unknown whether the packages are installed: the node has neither dpkg nor rpm"
        yield node.check("packages", "impossible", "", text, "Install rdma_kernel_packages by other means.")
    names = [change["name"] for change in result["changes"]]
    if names:
        text = f"packages are not installed: {joined(names)}"
        yield node.check("packages", "warn", "", text, "Install them.", "kernel", packages=names)


def _images(node: HostEvidence, result: Map) -> Iterator[Check]:
    for change in result["changes"]:
        text = f"{change['name']} is {'another image' if change['before'] else 'missing'} on this node"
        yield node.check("images", "fail", change["name"], text, "", "driver")


def _beside(result: Map) -> Dict[str, Map]:
    """What is said of daemons that a node may have beside that of its strategy."""
    return {name: result[name] for name in _BESIDE if result.get(name)}


def _daemons(node: HostEvidence, result: Map) -> Iterator[Check]:
    beside = _beside(result)
    others = [change for each in beside.values() for change in each.get("changes") or []]
    changes = [change for change in result.get("changes") or [] if change not in others]
    files = _files(changes, _diff(result))
    unit = result.get("unit")
    for name, each in beside.items():
        if each.get("changes"):
            why = joined(_files(each["changes"], _diff(result)), _SHOWN) or "it does not run, or is not enabled"
            text = f"{each['unit']} is not as configured: {why}"
            yield node.check("daemons", "fail", each["unit"], text, _BESIDE[name], "runtime")
    # On a node whose strategy has no daemon there is nothing, and nothing to say.
    if unit is None:
        yield from _persistence(node, "daemons", {**result, "changes": changes}, "")
        return
    if files or changes:
        why = joined(files, _SHOWN) or "it does not run, is not enabled, or was not restarted since its last change"
        yield node.check("daemons", "fail", unit, f"{unit} is not as configured: {why}", "", "runtime", files=files)
    elif not result.get("registered"):
        text = f"{unit} runs, but the container runtime has no connection with it: containers get no RDMA device"
        remedy = f"See journalctl --unit={unit}, and whether NRI is enabled."
        yield node.check("daemons", "fail", unit, text, remedy)
    if result.get("config_error"):
        text = f"{unit} runs with an older configuration: {result['config_error']}"
        yield node.check("daemons", "fail", unit, text, "", "runtime")
    refusal, refused = result.get("last_refusal"), result.get("refused")
    if refusal:
        text = f"{counted(refused or 0, 'container')} refused since {unit} started, the last one because: {refusal}"
        yield node.check("daemons", "warn", unit, text, f"See journalctl --unit={unit}.", refused=refused)


_CONCERNS = {
    "kernel": _kernel,
    "links": _links,
    "runtime": _runtime,
    "daemons": _daemons,
    "packages": _packages,
    "images": _images,
}
# Compared only where they are configured.
_OPTIONAL = ("packages", "images", "daemons")
_SETTLED = {
    "kernel": "kernel modules and their options are as configured, now and at boot",
    "links": "links are as configured, now and at boot",
    "packages": "all packages are installed",
    "images": "images from archives are as configured",
}


def _settled(concern: str, result: Map) -> str:
    if concern == "daemons" and result.get("unit") is None:
        names = [str(each["unit"]) for each in _beside(result).values()]
        return f"{' and '.join(names)} {'runs' if len(names) == 1 else 'run'} as configured"
    if concern == "daemons":
        known = result.get("runtime") or {}
        by = "" if result.get("registered_by") == "runtime" else ", as it says itself"
        return f"{known.get('name', 'the container runtime')} has {result['unit']} registered{by}"
    if concern in _SETTLED:
        return _SETTLED[concern]
    nri: Optional[Map] = result.get("nri")
    if nri is None:
        return "the container runtime is as configured"
    timeout = nri.get("request_timeout")
    return (
        f"NRI is in effect and answers with a request timeout of {timeout}, and the locked-memory limit and CDI are as"
        " configured"
    )


def _silent(concern: str, result: Map) -> bool:
    """Whether there is nothing to say of what is as configured: a node that shall have no daemon, and has none."""
    return concern == "daemons" and result.get("unit") is None and not _beside(result)


def of_node(node: HostEvidence) -> List[Check]:
    """Findings for each concern of prepare, or that it is as configured, or why that cannot be told."""
    found: List[Check] = []
    for concern, checks_of in _CONCERNS.items():
        result = node.drift.get(concern)
        if result is None:
            if concern not in _OPTIONAL:
                why = f": {node.uncompared}" if node.uncompared else ""
                found.append(node.check(concern, "impossible", "", f"it was not compared with the plan{why}"))
        elif result.get("error"):
            text = f"the configuration cannot be applied: {' '.join(str(result['error']).split())}"
            found.append(node.check(concern, "fail", "", text, "Fix this first.", _mend(concern)))
        else:
            checks = list(checks_of(node, result))
            if not checks and not _silent(concern, result):
                checks = [node.check(concern, "pass", "", _settled(concern, result))]
            found += checks
    return found
