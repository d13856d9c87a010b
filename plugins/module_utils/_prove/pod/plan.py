# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which pods are to be run to see that the claims do on real nodes what they say."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.content_hash import hashed
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.natural import natural_key

_LONGEST = 40


@dataclass(frozen=True)
class Pod:
    """``entry`` is the name in ``rdma_claims_templates``, ``alias`` that of one of its ResourceClaimTemplates.

    ``template`` is the object itself, whose name has the hash of its content. Of an entry in ``rdma_claims_claims`` it
    is ``claim`` instead.
    """

    name: str
    namespace: str
    node: str
    group: str
    entry: str
    alias: str
    template: Optional[str] = None
    server: bool = False
    peer: Optional[str] = None
    claim: Optional[str] = None


_OF_PLAN = ("group", "entry", "alias")


def plain(pod: Pod) -> Dict[str, Any]:
    """The pod as a dictionary, in which ``pod`` is what the module pod_probe takes."""
    found = asdict(pod)
    options = {name: value for name, value in found.items() if name not in _OF_PLAN and value is not None}
    return {"pod": options, **_about(found)}


def pod_of(value: Mapping[str, Any]) -> Pod:
    """The opposite."""
    return Pod(**value["pod"], **_about(value))


def _about(value: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: value[name] for name in _OF_PLAN}


def _name(alias: str, node: str) -> str:
    digest = hashlib.sha256(f"{alias}/{node}".encode()).hexdigest()[:8]
    return f"rdma-verify-{alias[:_LONGEST].rstrip('-')}-{digest}"


def _pairs(nodes: Sequence[str], measured: bool) -> Dict[str, str]:
    """The server of each node that measures."""
    return dict(zip(nodes[1::2], nodes[::2])) if measured else {}


def _nics(template: Mapping[str, Any]) -> bool:
    """Whether a template asks for anything that can be measured."""
    requests = template["spec"]["spec"]["devices"]["requests"]
    return any(request["name"].startswith("nic") for request in requests)


def waves(
    objects: Sequence[Mapping[str, Any]],
    names: Mapping[str, Sequence[str]],
    hosts: Mapping[str, Sequence[str]],
    groups: Mapping[str, str],
    sample: int = 2,
    bandwidth: bool = True,
) -> List[List[Pod]]:
    """The pods, those of a wave at the same time: in each wave a node has one pod.

    ``objects`` and ``names`` are of the plan of claims, ``hosts`` those of each entry of ``rdma_claims_templates``,
    ``groups`` the group of each host. Of each group ``sample`` nodes are taken (0: all), in their natural order. Of two
    neighbours the second measures against the first.
    """
    found: Dict[str, Mapping[str, Any]] = {}
    for manifest in objects:
        if manifest["kind"] == "ResourceClaimTemplate":
            found.setdefault(manifest["metadata"]["name"], manifest)
    used: Dict[str, int] = {}
    result: List[List[Pod]] = []
    for entry, aliases in names.items():
        for alias in aliases:
            for group in sorted({groups[host] for host in hosts[entry]}, key=natural_key):
                nodes = sorted((host for host in hosts[entry] if groups[host] == group), key=natural_key)
                nodes = nodes[:sample] if sample else nodes
                # After all that these nodes have had before.
                wave = max((used.get(node, 0) for node in nodes), default=0)
                result += [[] for _more in range(wave + 1 - len(result))]
                result[wave] += _pods(found[alias], nodes, group, entry, bandwidth)
                used.update(dict.fromkeys(nodes, wave + 1))
    return result


def single(
    objects: Sequence[Mapping[str, Any]], hosts: Mapping[str, str], groups: Mapping[str, str]
) -> List[List[Pod]]:
    """Pods with the single claims, in waves as well: one after another on each node.

    ``hosts`` has the host of each entry of ``rdma_claims_claims`` that is in the run.
    """
    found: Dict[str, Mapping[str, Any]] = {}
    for manifest in objects:
        if manifest["kind"] == "ResourceClaim" and manifest["metadata"]["name"] in hosts:
            found.setdefault(manifest["metadata"]["name"], manifest)
    result: List[List[Pod]] = []
    used: Dict[str, int] = {}
    for alias, manifest in found.items():
        node, namespace = hosts[alias], manifest["metadata"]["namespace"]
        wave = used[node] = used.get(node, -1) + 1
        result += [[] for _more in range(wave + 1 - len(result))]
        claim = hashed(alias, manifest["spec"])
        result[wave].append(
            Pod(_name(f"claim-{alias}", node), namespace, node, groups[node], alias, alias, claim=claim)
        )
    return result


def _pods(template: Mapping[str, Any], nodes: Sequence[str], group: str, entry: str, bandwidth: bool) -> List[Pod]:
    alias, namespace = template["metadata"]["name"], template["metadata"]["namespace"]
    servers = _pairs(nodes, bandwidth and _nics(template))
    return [
        Pod(
            name=_name(alias, node),
            namespace=namespace,
            node=node,
            group=group,
            entry=entry,
            alias=alias,
            template=hashed(alias, template["spec"]),
            server=node in servers.values(),
            peer=_name(alias, servers[node]) if node in servers else None,
        )
        for node in nodes
    ]
