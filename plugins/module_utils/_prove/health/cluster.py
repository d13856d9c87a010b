# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""DeviceTaintRules of a cluster: what there is, and the set of ours made as it is planned.

Which version of ``resource.k8s.io`` has them, if any, is asked of the API server: v1 in Kubernetes 1.37, v1beta2 in
1.36 and v1alpha3 before, both off by default (kubernetes/api, resource/*/types.go, ``DeviceTaintRule``).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.health_policy import EFFECTS, bars
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health import taints
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.taints import (
    Device,
    NicState,
    NodeState,
    Rule,
    TaintPlan,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import pages
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import ACCEPT, Api, Resource
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.dra_version import GROUP
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import GroupKind, Object, metadata
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import FIELD_MANAGER, Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.converge import Convergence
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.managed import applied_by
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.parent import PART_OF, Parent
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.plan import ApplysetRequest
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model

KIND = GroupKind(GROUP, "DeviceTaintRule")
_SLICE, _CLAIM = GroupKind(GROUP, "ResourceSlice"), GroupKind(GROUP, "ResourceClaim")
UNSERVED = (
    "the API server serves no DeviceTaintRule, so no NIC is kept from new pods: they are part of Kubernetes 1.37, and"
    " in 1.36 of the API resource.k8s.io/v1beta2 with the feature gates DRADeviceTaints and DRADeviceTaintRules"
)
_At = Tuple[str, str, str]


@dataclass(frozen=True)
class TaintRequest:
    """The set, and what is known of the fleet; without ``nodes`` the set is removed."""

    name: str
    namespace: str
    nodes: Mapping[str, NodeState] = field(default_factory=dict)
    nics: Sequence[NicState] = ()
    check: bool = False
    diff: bool = False


def of_options(params: Mapping[str, Any], check: bool, diff: bool) -> TaintRequest:
    """What the options of the module ask for. Raises ClusterError."""
    present = params["state"] == "present"
    try:
        nodes = {str(host): taints.node_state(own) for host, own in params["nodes"].items()}
        nics = [taints.nic_state(own) for own in params["nics"]]
    except (TypeError, ValueError, KeyError) as error:
        raise ClusterError(f"nodes and nics must be results of the module health: {error!r}") from error
    if present and not nodes:
        raise ClusterError("nodes is empty; to remove all rules, use state=absent")
    return TaintRequest(params["name"], params["namespace"], nodes if present else {}, nics, check, diff)


def _held(claim: Object) -> List[_At]:
    """Driver, pool and device of all that a claim has; who only watches a device does not hold it."""
    status = claim.get("status") or {}
    results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or []
    names = ("driver", "pool", "device")
    return [
        (str(driver), str(pool), str(device))
        for driver, pool, device in (
            [each.get(name) for name in names] for each in results if not each.get("adminAccess")
        )
    ]


def _ours(item: Object, parent: Parent) -> bool:
    """Anybody can give a rule the label of a set, so it must have been applied by this tool as well."""
    labels = metadata(item).get("labels") or {}
    return labels.get(PART_OF) == parent.id and applied_by(FIELD_MANAGER, item) is not None


def _rule(item: Object) -> Optional[Rule]:
    """A rule of ours, ``None`` for one that somebody has made unreadable: the set's next run replaces it."""
    noted, spec = metadata(item).get("annotations") or {}, item.get("spec") or {}
    selector, taint = spec.get("deviceSelector") or {}, spec.get("taint") or {}
    found: List[Any] = [noted.get(taints.HOST), noted.get(taints.NIC)]
    found += [selector.get(name) for name in ("driver", "pool", "device")]
    found += [taint.get("effect"), taint.get("value") or ""]
    whole = all(isinstance(value, str) for value in found) and taint.get("effect") in EFFECTS
    return Rule(*found) if whole else None


def _selects(item: Object, at: _At) -> bool:
    """Whether a rule of others is about a device. What a newer API may select by else, is left out: then it counts."""
    selector = (item.get("spec") or {}).get("deviceSelector")
    if not isinstance(selector, dict):
        return False
    wanted = (selector.get("driver"), selector.get("pool"), selector.get("device"))
    return all(value is None or value == own for value, own in zip(wanted, at))


class _Cluster:
    """What the API server has at one moment, asked for again for each plan."""

    def __init__(self, client: Client, request: TaintRequest, kind: Resource, api: Api) -> None:
        self._client, self._request, self._kind, self._api = client, request, kind, api
        self._parent = Parent(request.name, request.namespace)
        self.plan = TaintPlan()

    def _list(self, kind: GroupKind) -> List[Object]:
        found = self._api.find(kind)
        return pages.read(self._client, found.path(), None, lambda item: [item]) if found else []

    def objects(self) -> List[Object]:
        """The rules that there shall be, by what the cluster has now. Raises ClusterError."""
        rules = pages.read(self._client, self._kind.path(), None, lambda item: [item])
        own = [item for item in rules if _ours(item, self._parent)]
        others = [item for item in rules if not _ours(item, self._parent) and self._bars(item)]
        held: Set[_At] = set()
        for claim in self._list(_CLAIM):
            held.update(_held(claim))
        devices = []
        for each in self._devices():
            at = (each.driver, each.pool, each.name)
            barred = each.is_barred or any(_selects(item, at) for item in others)
            devices.append(Device(*at, str(each.node), each.pci, barred, at in held))
        known = [rule for rule in map(_rule, own) if rule]
        self.plan = taints.plan(self._request.nodes, self._request.nics, devices, known)
        return [self._object(rule) for rule in self.plan.rules]

    def _bars(self, item: Object) -> bool:
        return bars(str(((item.get("spec") or {}).get("taint") or {}).get("effect")))

    def _devices(self) -> List[model.SliceDevice]:
        drivers = {node.driver for node in self._request.nodes.values()}
        try:
            return [device for device in model.devices(self._list(_SLICE)) if device.driver in drivers]
        except ValueError as error:
            raise ClusterError(f"the ResourceSlices cannot be used: {error}") from error

    def _object(self, rule: Rule) -> Object:
        return {
            "apiVersion": self._kind.api_version,
            "kind": self._kind.kind,
            "metadata": {
                "name": taints.rule_name(self._request.name, rule),
                "annotations": {taints.HOST: rule.host, taints.NIC: rule.nic},
            },
            "spec": {
                "deviceSelector": {"driver": rule.driver, "pool": rule.pool, "device": rule.device},
                "taint": {"key": taints.KEY, "value": rule.value, "effect": rule.effect},
            },
        }


def _result(found: Mapping[str, Any], plan: TaintPlan, served: str) -> Dict[str, Any]:
    outcomes = [{"host": host, "nic": nic, "outcome": what} for (host, nic), what in plan.outcomes.items()]
    return {
        **found,
        "api_version": served,
        "rules": [asdict(rule) for rule in plan.rules],
        "outcomes": outcomes,
        "problems": plan.problems,
        "notes": plan.notes,
    }


def converge(client: Client, request: TaintRequest) -> Dict[str, Any]:
    """The module's result. Raises ClusterError.

    Of two runs at the same time, the later one plans with what the earlier one has made: the budget holds for both.
    """
    api = Api(client.all(lambda root: client.get(root, accept=ACCEPT), ["/api", "/apis"]))
    kind = api.find(KIND)
    objects = ApplysetRequest(
        name=request.name,
        namespace=request.namespace,
        force_conflicts="members",
        present=False,
        check=request.check,
        diff=request.diff,
    )
    if kind is None or not request.nodes:
        # Without the kind, what there was of it is gone, and its parent goes as well.
        found = Convergence(client, objects).finish()
        return _result(found, TaintPlan(notes=[UNSERVED] if request.nodes else []), "")
    cluster = _Cluster(client, request, kind, api)
    found = Convergence(client, objects, cluster.objects).finish()
    return _result(found, cluster.plan, kind.api_version)
