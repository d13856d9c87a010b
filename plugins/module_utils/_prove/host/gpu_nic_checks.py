# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The verdicts of a host's pairs of GPU and NIC as checks: one for all pairs that are alike.

What differs between alike pairs, such as the addresses of bridges, is in the evidence of each.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import gpu_nic
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.boot_proposal import BootProposal, proposal
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.gpu_nic import PairVerdict, Part
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import ranges
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import joined

ID = "gpu_nic"
_SUBJECTS = 16
_ISOLATION = (
    "Without ACS redirection, all devices below these bridges reach each other past the IOMMU: leave it on where "
    "virtual machines get them or their VFs."
)
_ALREADY = {
    gpu_nic.IOMMU: "The kernel's command line asks for passthrough already: find out what prevents it, such as memory"
    " encryption, or a port that firmware marks as external.",
    gpu_nic.ACS: "The kernel's command line names these bridges already: find out whether the kernel is older than"
    " 4.19, or who has set ACS since it booted.",
}
_OTHER_PROCESSOR = "Let the IOMMU pass addresses through; the kernel parameter depends on the processor."


def _redirecting(verdicts: Sequence[PairVerdict]) -> List[str]:
    parts = [part for verdict in verdicts for part in verdict.parts if (part.name, part.state) == (gpu_nic.ACS, "on")]
    return sorted({text.partition(" ")[0] for part in parts for text in part.about})


def boot(node: HostEvidence, verdicts: Sequence[PairVerdict]) -> BootProposal:
    """What the command line of the host's kernel would need for all of its pairs; the last option for ACS counts."""
    system = node.known.system
    translated = any(part.state == "translated" for verdict in verdicts for part in verdict.parts)
    return proposal(system.kernel_parameters, translated and system.arch == "x86_64", _redirecting(verdicts))


def _boot_remedy(node: HostEvidence, verdicts: Sequence[PairVerdict], bad: Sequence[Part]) -> str:
    """In words, for a person: nothing of this collection carries it out."""
    names = [part.name for part in bad if part.name in _ALREADY]
    if not names:
        return ""
    wanted = boot(node, verdicts)
    known = wanted.present is not None
    now = f"now: {' '.join(wanted.present or ['nothing of the kind'])}" if known else "what is there now is not known"
    texts = []
    if wanted.add:
        gone = f", remove {' '.join(wanted.remove)} there" if wanted.remove else ""
        line = f"Add {' '.join(wanted.add)} to the kernel's command line ({now}){gone}, and reboot"
        texts.append(f"{line}; the documentation of alignment says in which file.")
        texts += [_ISOLATION] if gpu_nic.ACS in names else []
    asked = " ".join(wanted.add)
    for name, word in ((gpu_nic.IOMMU, "iommu"), (gpu_nic.ACS, "disable_acs_redir")):
        if name in names and word not in asked:
            other = name == gpu_nic.IOMMU and node.known.system.arch != "x86_64"
            texts.append(_OTHER_PROCESSOR if other else _ALREADY[name])
    return " ".join(texts)


def _said(parts: Sequence[Part], about: Dict[str, List[str]]) -> str:
    return "; ".join(part.known.text.format(about=joined(about[part.name])) for part in parts)


def _table(verdict: PairVerdict) -> Dict[str, str]:
    """What is so of each part, and of what."""
    return {part.name: ": ".join(filter(None, [part.state, ", ".join(part.about)])) for part in verdict.parts}


def _check(node: HostEvidence, alike: Sequence[PairVerdict], every: Sequence[PairVerdict]) -> Check:
    first = alike[0]
    about = {
        name: list(dict.fromkeys(text for verdict in alike for text in verdict.parts[place].about))
        for place, name in enumerate(gpu_nic.PARTS)
    }
    bad, unknown, right = (
        [part for part in first.parts if part.known.verdict == verdict] for verdict in ("warn", "impossible", "pass")
    )
    pairs = joined([verdict.name for verdict in alike])
    said = [f"not known: {_said(unknown, about)}"] if unknown else []
    if bad:
        said.insert(0, _said(bad, about))
    elif not unknown:
        said.append(", ".join(part.known.text for part in right))
    remedies = [part.known.remedy for part in [*bad, *unknown]]
    remedy = " ".join(filter(None, [_boot_remedy(node, every, bad), *dict.fromkeys(remedies)]))
    evidence: Dict[str, Any] = {"pairs": {verdict.name: _table(verdict) for verdict in alike}}
    if bad:
        evidence["kernel_parameters"] = boot(node, every).as_dict()
    subject = joined([verdict.name for verdict in alike], _SUBJECTS)
    return node.check(ID, first.verdict, subject, f"{pairs}: {'; '.join(said)}", remedy, **evidence)


def of_node(node: HostEvidence) -> Iterator[Check]:
    """A check for all pairs of a host whose parts have the same states, and one for GPUs without a NIC."""
    verdicts = gpu_nic.of_facts(node.known)
    alike: Dict[Tuple[Tuple[str, str], ...], List[PairVerdict]] = {}
    for verdict in verdicts:
        alike.setdefault(tuple((part.name, part.state) for part in verdict.parts), []).append(verdict)
    for members in alike.values():
        yield _check(node, members, verdicts)
    paired = {verdict.gpu for verdict in verdicts}
    lonely = [str(gpu.index) for gpu in node.known.gpus if gpu.index not in paired]
    if lonely:
        text = f"GPU {ranges(lonely)} has no NIC that is fit for workloads, so there is no pair to judge"
        yield node.check(ID, "impossible", "", text, "See the other findings about ports of this host.")
