# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Examples for each group: which request they use, and what they are called."""

from __future__ import annotations

import posixpath
import textwrap
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Collection, Dict, Iterator, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import label_of_group
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import PodRequest
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, shown, wrong
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads import expected, merge, operators, plain, pod
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads.pod import GroupAsk, Manifest, Settings

_WIDTH = 100
# By the beginning of the line below which they say something; each of them is said once per file.
_COMMENTS: Mapping[str, str] = {
    "type: Recreate": "A new pod would wait for the NICs of the old one, so the old one goes first.",
    "- IPC_LOCK": "With this capability, root in the container may lock memory beyond the limit, as RDMA does.",
    "- /bin/sh": "Sets NCCL_IB_HCA, UCX_NET_DEVICES and others for this pod's devices, then runs the command. "
    "Ends the pod with the reason if RDMA would not be used.",
    "- name: ZEROCOPY_RDMA_DEVICES": "The pod does not start with fewer RDMA devices.",
    "- name: ZEROCOPY_RDMA_MTU": "The pod does not start with a smaller MTU on the netdev of a RoCE port.",
    "- name: ZEROCOPY_RDMA_RAILS": "Which rails reach each other (rdma_links_rail_reachability): the script sets NCCL "
    "and UCX up for it.",
    "- name: rdma-check": "Ends with the reason if the pod's RDMA devices are not as planned: the application then "
    "does not start.",
    "- name: UCX_TLS": "Without tcp, so that a transfer that cannot use RDMA fails instead of being slow.",
    "- name: UCX_IB_ROCE_REACHABILITY_MODE": "A rank may send to a rank on another rail, in another subnet: the "
    "network has to route between rails.",
    "- name: VLLM_NIXL_SIDE_CHANNEL_HOST": "At this address, over the pod network, the other side asks for what it "
    "needs to read the KV cache.",
    "medium: Memory": "NCCL and vLLM exchange data between processes here; the default of 64 MiB is too little.",
    "k8s.v1.cni.cncf.io/networks": "Multus moves the netdev of the NIC into the pod.",
    "resourceClaimTemplateName:": "The name ends with a hash of the template's content. After a change of the "
    "template, create the examples again.",
    "resourceClaimName:": "A claim for one NIC of one node: the pod runs on that node.",
    "ray.io/overwrite-container-cmd": "KubeRay leaves the command as it is, and sets a variable to its own command.",
    "num-gpus:": "KubeRay counts GPUs of limits only.",
    "- mpirun": "A rank does not get the environment of sshd, so each rank runs the script in its own pod.",
}


def _comment(text: str, indent: str) -> List[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")


def _commented(text: str) -> List[str]:
    left = dict(_COMMENTS)
    lines: List[str] = []
    for line in text.splitlines():
        bare = line.lstrip()
        for start in [start for start in left if bare.startswith(start)]:
            lines += _comment(left.pop(start), line[: len(line) - len(bare)])
        lines.append(line)
    return lines


def rendered(title: str, notes: Sequence[str], objects: Sequence[Mapping[str, Any]]) -> str:
    """A file: what it is and what it needs, then the objects."""
    import yaml

    # Nothing is the same object twice, so that there are no anchors, which people and some tools do not read.
    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def scalar(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, scalar)

    plain: List[Dict[str, Any]] = [dict(item) for item in objects]
    body = yaml.dump_all(plain, Dumper=Dumper, sort_keys=False, explicit_start=True, width=1000)
    head = [line for text in (title, *notes) for line in _comment(text, "")]
    return "\n".join([*head, *_commented(body)]) + "\n"


_KINDS = {"ResourceClaimTemplate": "template", "ResourceClaim": "claim"}
# Ranks of the example with a claim for each.
_RANKS = 4
_APPLY_FIRST = "First apply rdma-env.yml in this directory: it contains the script that the containers start with."
_APART = (
    "Not all rails reach each other: ranks of prefill and decode that exchange KV caches need NICs on rails that do, so"
    " have the claim of each rank ask for a rail."
)
_VOLCANO = (
    "Volcano's own scheduler fails on pods with ResourceClaimTemplates (volcano#5119), so Kubernetes' scheduler places"
    " them, one by one instead of all or none. Single claims (rdma_claims_claims), one for each of the two pods, need"
    " no template."
)

# (kind, name or alias in the plan) -> (name in the cluster, namespaces, ResourceClaimSpec)
Claims = Mapping[Tuple[str, str], Tuple[str, Sequence[str], Mapping[str, Any]]]


@dataclass(frozen=True)
class Example:
    """One file; ``path`` is relative to the directory of the examples."""

    path: str
    objects: List[Manifest]
    content: str


@dataclass(frozen=True)
class GivenManifest:
    """A manifest of somebody's own, ``text``, in which a container gets RDMA as pods of this group do.

    ``request`` is one of the group's, by default that of its examples.
    """

    path: str
    text: str
    container: str
    group: str
    request: str = ""


@dataclass
class Workloads:
    """``adds`` has for each group and request what is added to a pod; ``groups`` are those with examples."""

    examples: List[Example] = field(default_factory=list)
    adds: Dict[str, Dict[str, Manifest]] = field(default_factory=dict)
    problems: List[str] = field(default_factory=list)


def claim_specs(objects: Sequence[Mapping[str, Any]]) -> Iterator[Tuple[str, Mapping[str, Any]]]:
    """Kind and manifest of each claim and template among the plan's objects."""
    for manifest in objects:
        if manifest["kind"] in _KINDS:
            yield _KINDS[manifest["kind"]], manifest


def claims_of(objects: Sequence[Mapping[str, Any]], names: Mapping[Tuple[str, str], str]) -> Claims:
    """The claims of the plan's objects. ``names`` are those in the cluster, by kind and alias."""
    found: Dict[Tuple[str, str], Tuple[str, List[str], Mapping[str, Any]]] = {}
    for kind, manifest in claim_specs(objects):
        alias = manifest["metadata"]["name"]
        spec = manifest["spec"]["spec"] if kind == "template" else manifest["spec"]
        _name, namespaces, _spec = found.setdefault((kind, alias), (names[kind, alias], [], spec))
        namespaces.append(manifest["metadata"]["namespace"])
    return found


def ask_of(request: PodRequest, claims: Claims, wanted: str, mtu: int = expected.UNKNOWN) -> GroupAsk:
    """The request with its claim. The namespace is ``wanted`` if the claim is there too, else the claim's first.

    ``mtu`` is that of the nodes, in bytes.
    """
    kind, alias = ("template", request.template) if request.template else ("claim", request.claim)
    if not alias:
        return GroupAsk(request, nics=request.number, namespace=request.namespace, mtu=mtu)
    name, namespaces, spec = claims[kind, alias]
    gpus, nics = pod.counts(spec)
    namespace = wanted if wanted in namespaces else namespaces[0]
    return GroupAsk(request, name, gpus, nics, namespace, expected.mtu_of_claim(spec) or mtu, namespaces)


def _chosen(asks: Sequence[GroupAsk]) -> List[GroupAsk]:
    """Of a group's requests those for prefill and decode: one with GPUs and NICs for both, else two single claims."""
    both = [ask for ask in asks if ask.gpus and not ask.request.claim]
    if both:
        return [max(both, key=lambda ask: ask.gpus)]
    single = [ask for ask in asks if ask.request.claim]
    return single[:2] or [ask for ask in asks if ask.nics or not ask.claim][:1] or list(asks[:1])


def _per_rank(asks: Sequence[GroupAsk]) -> List[GroupAsk]:
    return [ask for ask in asks if ask.request.template and ask.gpus == 1 and ask.nics][:1]


def _of_group(
    name: str, asks: Sequence[GroupAsk], settings: Settings
) -> Iterator[Tuple[str, str, List[str], List[Manifest]]]:
    """Name, title, notes and objects of each example. The names of the objects begin with ``name``."""
    both = _chosen(asks)
    first = both[0]
    routed = "Requests need a router that sends them to both, such as llm-d's with its sidecar for decode."
    yield "vllm", "vLLM, prefill and decode in pods of their own.", [routed], plain.vllm(name, both, settings)
    for ask in _per_rank(asks):
        title = f"vLLM, prefill and decode, with one claim for each of {_RANKS} ranks."
        note = "vLLM gives each rank the NIC beside its GPU (VLLM_GPU_NIC_PCIE_MAPPING), if its version supports this."
        notes = [note, routed, *([_APART] if settings.rails not in ("", expected.ALL_RAILS) else [])]
        yield "vllm-per-rank", title, notes, plain.vllm_per_rank(name, ask, settings, _RANKS)
    title = "SGLang, prefill and decode in pods of their own."
    note = "Requests need a router that sends them to both, such as sglang_router with --pd-disaggregation."
    yield "sglang", title, [note], plain.sglang(name, both, settings)
    title = "A bandwidth test of NCCL on two pods, for the MPI Operator."
    note = "The log has to say NET/IB, not NET/Socket. The image needs sshd, Open MPI and nccl-tests."
    if settings.images["nccl_tests"]:
        yield "nccl-test", title, [note], operators.mpi(name, first, settings)
    note = "NCCL's log in the workers has to say NET/IB, not NET/Socket."
    yield "ray", "A Ray cluster, for KubeRay.", [note], operators.ray(name, first, settings)
    note = "KServe merges the container main with that of its presets, which has the image."
    yield "kserve", "KServe LLMInferenceService, prefill and decode.", [note], operators.kserve(name, both, settings)
    title = "vLLM, prefill and decode, as a DisaggregatedSet (LeaderWorkerSet 0.9 or newer)."
    yield "disaggregated-set", title, [routed], operators.disaggregated(name, both, settings)
    title = "vLLM, one model on two pods, as a LeaderWorkerSet."
    yield "leader-worker-set", title, [], operators.leader_worker(name, first, settings)
    title = "vLLM, one model on two pods, as a Volcano job."
    notes = ["NCCL's log has to say NET/IB, not NET/Socket."]
    if any(ask.claim for ask in both):
        notes.append("Pods with claims need Volcano 1.12 or newer: the Job of older versions has no field for claims.")
    if any(map(operators.volcano_fails, both)):
        notes.append(_VOLCANO)
    yield "volcano", title, notes, operators.volcano(name, both, settings)


def _beginning(label: str) -> str:
    """How the names of a group's objects begin: that of a Service must begin with a letter before Kubernetes 1.36."""
    return label if label[0].isalpha() else f"g-{label}"


def _about(ask: GroupAsk) -> str:
    entry = ask.request.entry or ask.request.name
    devices = [counted(ask.gpus, "GPU")] * bool(ask.gpus) + [counted(ask.nics, "NIC")] * bool(ask.nics)
    return f"{entry} ({', '.join(devices)})" if devices else entry


def workloads(
    offered: Mapping[str, Sequence[PodRequest]],
    claims: Claims,
    settings: Settings,
    script: str,
    requests: Mapping[str, str],
    given: Sequence[GivenManifest] = (),
    amd: Collection[str] = (),
    gpus: Mapping[str, int] = MappingProxyType({}),
    mtus: Mapping[str, Mapping[str, int]] = MappingProxyType({}),
    rails: Mapping[str, str] = MappingProxyType({}),
) -> Workloads:
    """Examples of all groups that have RDMA. ``requests`` names for some groups the request that they use.

    That is what the inventory calls it, or its own name. ``given`` are manifests that are completed beside them.
    ``amd`` are the groups whose GPUs are AMD's, ``gpus`` is by group how many each of its nodes has,
    ``mtus`` by group and name of the request the least MTU of its NICs on the nodes, ``rails`` by group which rails
    reach each other.
    """
    if settings.check not in pod.CHECKS:
        right = f"it must be one of {', '.join(pod.CHECKS)}"
        return Workloads(problems=[str(PlanError(wrong(pod.CHECK_VARIABLE, settings.check, right)))])

    def settings_of(group: str) -> Settings:
        own = settings.of_amd() if group in amd else settings
        return replace(own, of_node=gpus.get(group), rails=rails.get(group, ""))

    found = Workloads()
    every: Dict[str, List[GroupAsk]] = {}
    labels: Dict[str, str] = {}
    for group, own in offered.items():
        of_group = mtus.get(group, {})
        known = [
            ask_of(request, claims, settings.namespace, of_group.get(request.name, expected.UNKNOWN)) for request in own
        ]
        wanted = requests.get(group)
        used = [ask for ask in known if wanted in (None, "", ask.request.name, ask.request.entry)]
        if not known:
            continue
        if not used:
            right = ", ".join(ask.request.name for ask in known)
            found.problems.append(f"{group}: rdma_workloads_requests names {shown(wanted)}, it must be one of {right}")
            continue
        try:
            label = label_of_group(group)
        except PlanError as error:
            found.problems.append(f"{group}: {error}")
            continue
        other = labels.setdefault(_beginning(label), group)
        if other != group:
            problem = wrong(
                "rdma_group", group, f"whose files or objects would be named like those of {other}: rename one of them"
            )
            found.problems.append(f"{group}: {PlanError(problem)}")
            continue
        its = settings_of(group)
        found.adds[group] = {ask.request.name: pod.adds(ask, its) for ask in known}
        _add_group(found, group, label, used, its, script)
        every[group] = known if wanted in (None, "") else used
    for manifest in given:
        its = settings_of(manifest.group)
        try:
            found.examples.append(_completed(manifest, every, {example.path for example in found.examples}, its))
        except merge.MergeError as error:
            found.problems.append(f"rdma_workloads_manifests: {manifest.path}: {error}")
    return found


def _completed(
    manifest: GivenManifest, every: Mapping[str, Sequence[GroupAsk]], taken: Collection[str], settings: Settings
) -> Example:
    """Raises MergeError."""
    if manifest.group not in every:
        there = ", ".join(every) or "none"
        raise merge.MergeError(f"its group is {shown(manifest.group)}, groups whose pods can request RDMA: {there}")
    asks = every[manifest.group]
    names = [ask.request.name for ask in asks]
    mine = (
        [ask for ask in asks if manifest.request in (ask.request.name, ask.request.entry)] if manifest.request else asks
    )
    if not mine:
        raise merge.MergeError(f"its request is {shown(manifest.request)}, it must be one of {', '.join(names)}")
    path = f"{label_of_group(manifest.group)}/{posixpath.basename(manifest.path)}"
    if path in taken:
        raise merge.MergeError(f"{path} is an example already: give the file another name")
    return Example(path, [], merge.merged(manifest.text, manifest.container, _chosen(mine)[0], settings))


def _add_group(
    found: Workloads, group: str, label: str, asks: Sequence[GroupAsk], settings: Settings, script: str
) -> None:
    requested = f"Pods of group {group} get RDMA through {', '.join(_about(ask) for ask in _chosen(asks))}."
    places: Dict[str, None] = {}
    for name, title, notes, objects in _of_group(_beginning(label), asks, settings):
        places.update(dict.fromkeys(item["metadata"]["namespace"] for item in objects))
        content = rendered(title, [requested, *notes, _APPLY_FIRST], objects)
        found.examples.append(Example(f"{label}/{name}.yml", objects, content))
    maps = [pod.config_map(place, script) for place in places]
    content = rendered("The script that the containers of the other examples start with.", [], maps)
    found.examples.append(Example(f"{label}/{pod.SCRIPT[:-3]}.yml", maps, content))
