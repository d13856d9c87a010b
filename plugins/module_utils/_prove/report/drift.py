# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Differences of a fleet's nodes from the plan, with equal ones shown once, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple
from typing import Counter as Counts

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.answers import fault_of_comparison
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import preview
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted, joined

Map = Mapping[str, Any]

# The variables of a host in which the role rdma_drift leaves its comparison, and what it was compared with.
RESULT, PLAN = "rdma_drift_result", "rdma_drift_plan"
# The comparison with what the node was before, which teardown begins with.
REVERT = "__rdma_drift_revert"
# In the order in which they are changed, each with those before it whose changes may do away with its error: a driver
# that is missing, or a port that shows only once its driver is loaded.
CONCERNS: Mapping[str, Tuple[str, ...]] = {
    "packages": (),
    "kernel": ("packages",),
    "links": ("packages", "kernel"),
    "runtime": ("packages",),
    "daemons": ("packages", "runtime"),
    "images": ("packages", "runtime"),
}
_PREPARED = ("packages", "kernel", "links", "runtime", "daemons")
# Those that a tag of their own selects.
_PARTS = ("kernel", "links", "runtime")
# What a change is called where its module's word is not the field's.
_NOUNS = {
    "connection": "link",
    "sandbox_record": "sandbox record",
    "rdma_netns_mode": "RDMA netns mode",
    "vf_guid": "GUID of VF",
}
_SIGNS = "+~-"
# What is done with a service, by what it then is.
_VERBS = {"reloaded": "reload", "started": "start", "stopped": "stop"}


@dataclass(frozen=True)
class HostDrift:
    """What one host said; ``result`` is the comparison of the module ``node``, ``None`` where there is none.

    ``failure`` is why there is none although the host was asked. ``unaddressed`` is what its links cannot have.
    """

    host: str
    group: str
    result: Optional[Map] = None
    failure: str = ""
    unaddressed: Sequence[str] = ()

    @property
    def concerns(self) -> Mapping[str, Map]:
        return (self.result or {}).get("concerns") or {}

    @property
    def differs(self) -> bool:
        return bool((self.result or {}).get("differs"))


def read(host: str, group: str, result: Any) -> HostDrift:
    """What one host said, from what the task has registered. Whatever it is, the other hosts have their own."""
    wrong = "" if result is None else fault_of_comparison(result)
    if wrong:
        return HostDrift(host, group, None, f"its comparison cannot be used: {wrong}")
    if result and result.get("failed"):
        return HostDrift(host, group, None, _line(result.get("msg") or "the comparison failed"))
    return HostDrift(host, group, result)


@dataclass
class DriftGroup:
    """Hosts of one group that differ in the same way."""

    group: str
    concerns: Dict[str, str]
    hosts: List[str] = field(default_factory=list)


def to_prepare(result: Map) -> bool:
    """Whether a node goes through the roles of prepare."""
    concerns = result.get("concerns") or {}
    return any(_differs(concerns[name]) for name in _PREPARED if name in concerns)


def _differs(concern: Map) -> bool:
    return any(concern.get(key) for key in ("changed", "unfinished", "error"))


def blocked(answers: Sequence[HostDrift]) -> Dict[str, List[str]]:
    """Why each host cannot be compared, without errors that a change before them may do away with."""
    found: Dict[str, List[str]] = {}
    for answer in answers:
        if answer.failure:
            found[answer.host] = [answer.failure]
        for name, concern in answer.concerns.items():
            cures = [answer.concerns[other]["changed"] for other in CONCERNS.get(name, ()) if other in answer.concerns]
            if concern["error"] and not any(cures):
                found.setdefault(answer.host, []).append(_titled(name, concern["error"]))
    return found


def _line(text: Any) -> str:
    return " ".join(str(text).split())


def _titled(name: str, text: Any) -> str:
    """A text below its concern, which some texts begin with."""
    return f"{name}: {_line(text).removeprefix(f'{name}: ')}"


def _counted(sign: str, noun: str, count: int) -> str:
    return sign + counted(count, noun)


def _files(changes: Sequence[Map]) -> Iterator[str]:
    """Profiles are only counted, since hosts have one for each rail; other files are named."""
    profiles: Counts[str] = Counter()
    names: Dict[str, List[str]] = {}
    for change in changes:
        sign = "+" if change["before"] == "absent" else "-" if change["after"] == "absent" else "~"
        if change["name"].endswith(".nmconnection"):
            profiles[sign] += 1
        else:
            names.setdefault(sign, []).append(str(change["name"]))
    for sign in _SIGNS:
        if sign in names:
            yield f"{_counted(sign, 'file', len(names[sign]))} ({joined(names[sign])})"
    for sign in _SIGNS:
        if sign in profiles:
            yield _counted(sign, "profile", profiles[sign])


def _others(changes: Sequence[Map]) -> Iterator[str]:
    by_words: Dict[Tuple[str, str], List[str]] = {}
    for change in changes:
        kind, after = change["kind"], change["after"]
        if kind == "service":
            words = (_VERBS.get(str(after), "restart"), "")
        elif kind == "module":
            words = ("load" if after == "loaded" else "unload", "")
        elif kind == "package":
            words = ("install", "")
        elif kind == "image":
            words = ("import", "")
        else:
            words = (_NOUNS.get(kind, str(kind)), f" {change['before']} -> {after}")
        by_words.setdefault(words, []).append(str(change["name"]))
    for (verb, state), names in by_words.items():
        yield f"{verb} {joined(names)}{state}"


def described(name: str, concern: Map) -> str:
    """What would be changed, in a few words: ``+8 profiles; load rdma_cm, rdma_ucm``."""
    if concern["error"]:
        return f"cannot be compared: {_line(concern['error']).removeprefix(f'{name}: ')}"
    changes = concern["changes"]
    files = [change for change in changes if change["kind"] == "file"]
    others = [change for change in changes if change["kind"] != "file"]
    parts = [", ".join(_files(files)), *_others(others)]
    if concern.get("unfinished"):
        parts.append("complete an interrupted run")
    return "; ".join(part for part in parts if part)


def kinds(answers: Sequence[HostDrift]) -> List[DriftGroup]:
    """Each way in which hosts of a group differ, in the order of the first host."""
    found: Dict[Tuple[Any, ...], DriftGroup] = {}
    for answer in answers:
        if answer.differs:
            differing = {name: concern for name, concern in answer.concerns.items() if _differs(concern)}
            concerns = {name: described(name, concern) for name, concern in differing.items()}
            kind = found.setdefault((answer.group, *concerns.items()), DriftGroup(answer.group, concerns))
            kind.hosts.append(answer.host)
    return list(found.values())


def _notes(answers: Sequence[HostDrift]) -> Dict[str, List[str]]:
    """Hosts by each warning and each reason to reboot the node."""
    found: Dict[str, List[str]] = {}
    for answer in answers:
        for name, concern in answer.concerns.items():
            reboots = [f"needs a reboot: {text}" for text in concern["reboot_reasons"]]
            for text in (*concern["warnings"], *reboots):
                found.setdefault(_titled(name, text), []).append(answer.host)
    return found


def left(answers: Sequence[HostDrift]) -> List[str]:
    """What teardown leaves on nodes, for a terminal; empty if it leaves nothing."""
    found: Dict[str, List[str]] = {}
    for answer in answers:
        texts = [answer.failure or "no answer"] if answer.result is None or not answer.concerns else []
        for name, concern in answer.concerns.items():
            texts += [_titled(name, text) for text in (*concern["warnings"], concern["error"]) if text]
        for text in dict.fromkeys(texts):
            found.setdefault(text, []).append(answer.host)
    if not found:
        return []
    lines = [f"  {fold(hosts)}: {text}" for text, hosts in found.items()]
    finish = "To finish, put back the original of each file that was kept, or delete it, and run teardown again."
    return ["Not reverted, or in need of attention:", *lines, finish]


def _preview(answers: Sequence[HostDrift], diff: bool) -> Iterator[str]:
    """What a run would write: each address of the links that change, and with ``diff`` each difference."""
    changing = [answer for answer in answers if answer.concerns.get("links", {}).get("changed")]
    rows = [row for answer in changing for row in preview.rows(answer.host, answer.group, _links(answer))]
    without: Dict[str, List[str]] = {}
    for answer in answers:
        for text in answer.unaddressed:
            without.setdefault(text, []).append(answer.host)
    if rows or without:
        lines = [*preview.table(rows)] if rows else []
        # A host that is not in the table, or not with all of its rails, is not to be taken for one that needs nothing.
        lines += [f"{fold(hosts)}: {text}" for text, hosts in without.items()]
        yield from ("", "Addresses:", *(f"  {line}" for line in lines))
    for name in CONCERNS if diff else ():
        of_hosts = {
            answer.host: preview.Differences(answer.concerns[name].get("diff") or [], _links(answer))
            for answer in answers
            if answer.concerns.get(name, {}).get("changed")
        }
        yield from preview.differences(name, of_hosts)


def _links(answer: HostDrift) -> Sequence[Map]:
    return answer.concerns.get("links", {}).get("links") or []


def _named(hosts: Sequence[str], text: str) -> str:
    """A failure below its hosts, which its own lines may begin with."""
    named = f"{fold(hosts)}: "
    return named + text.removeprefix(named).replace(f" {named}", "; ")


def _only(answers: Sequence[HostDrift]) -> str:
    """A sentence about which parts were compared where these are not all, as with ``--tags``."""
    compared = [name for name in _PARTS if any(name in answer.concerns for answer in answers)]
    if not compared or len(compared) == len(_PARTS):
        return ""
    return f" Only {'this part was' if len(compared) == 1 else 'these parts were'} compared: {joined(compared)}."


def _text(
    answers: Sequence[HostDrift],
    found: Sequence[DriftGroup],
    silent: Sequence[str],
    shown: Sequence[str],
    diff: bool,
) -> str:
    differ = {host for kind in found for host in kind.hosts}
    stopped = differ.intersection(blocked(answers))
    differing = len(differ) - len(stopped)
    failed: Dict[str, List[str]] = {}
    for answer in answers:
        if answer.failure:
            failed.setdefault(answer.failure, []).append(answer.host)
    lines = [
        f"{differing} of {counted(len(answers), 'node')} {'differs' if differing == 1 else 'differ'} from the plan"
        + (f", {len(stopped)} cannot be compared." if stopped else ".")
    ]
    if not differ:
        asked = len(answers) - len(silent) - sum(map(len, failed.values()))
        lines = [f"{counted(asked, 'node')} of {len(answers)} compared: as planned."]
    lines[0] += _only(answers)
    for kind in found:
        lines += ["", f"{kind.group}: {counted(len(kind.hosts), 'node')}: {fold(kind.hosts)}"]
        width = max(map(len, kind.concerns))
        lines += [f"  {name.ljust(width)}  {text}" for name, text in kind.concerns.items()]
    changes = (change for answer in answers for own in answer.concerns.values() for change in own.get("changes") or [])
    if not diff and any(change["kind"] == "file" for change in changes):
        lines += ["", "--diff shows the differences of these files."]
    notes = _notes(answers)
    if notes:
        lines += ["", "Warnings:", *(f"  {fold(hosts)}: {text}" for text, hosts in notes.items())]
    if silent:
        lines += ["", f"No answer: {fold(silent)}"]
    if failed:
        lines += ["", "Not compared, and not to be changed:"]
        lines += [f"  {_named(hosts, text)}" for text, hosts in failed.items()]
    return "\n".join([*lines, *shown]) + "\n"


def view(answers: Sequence[HostDrift], check: bool = False, diff: bool = False) -> Dict[str, Any]:
    """The overview of all hosts: ``text``, and for JSON ``kinds``, ``hosts``, ``differ``, ``blocked``, ``silent``.

    With ``check`` or ``diff``, the text is a preview.
    """
    found = kinds(answers)
    silent = [answer.host for answer in answers if answer.result is None and not answer.failure]
    return {
        "text": _text(answers, found, silent, list(_preview(answers, diff)) if check or diff else (), diff),
        "differ": [answer.host for answer in answers if answer.differs],
        "silent": silent,
        "blocked": blocked(answers),
        "kinds": [{"group": kind.group, "hosts": kind.hosts, "concerns": kind.concerns} for kind in found],
        "hosts": {
            answer.host: {"group": answer.group, "differs": answer.differs, "concerns": dict(answer.concerns)}
            for answer in answers
            if answer.result is not None
        },
    }
