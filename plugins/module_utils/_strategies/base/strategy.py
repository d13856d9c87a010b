# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What every strategy answers: how the pods of an inventory group reach RDMA.

A strategy is a folder beside this one and an entry of the registry. Nothing else in the library names a strategy:
preflight, provision, teardown and verify ask for these answers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Collection, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.daemon import StrategyDaemon
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.questions import Answers
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Network
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem

Object = Dict[str, Any]


@dataclass(frozen=True)
class ClusterState:
    """What is known of the cluster, ``None`` where nothing is: its version, ResourceSlices, names of DeviceClasses.

    ``kinds`` are the operators' kinds that it serves (``NicClusterPolicy.mellanox.com``), ``objects`` those that
    strategies look at (:meth:`Strategy.cluster_queries`), ``labels`` those of its nodes, ``daemon_sets`` those of all
    strategies' sets of objects, perhaps among others. ``kueue_classes`` are the DeviceClasses that Kueue maps to
    quotas.

    ``held`` are by DRA driver and node the pods that hold devices, ``parents`` the sets of objects that there are
    (namespace and name), ``extended_resources`` by node those in its status, ``counted`` the nodes on which we have
    written some, ``leaf_labelled`` those that have a label of their leaf from us.
    """

    kubernetes: Optional[Tuple[int, ...]] = None
    slices: Sequence[Mapping[str, Any]] = ()
    device_classes: Optional[Collection[str]] = None
    kinds: Optional[Collection[str]] = None
    objects: Optional[Sequence[Mapping[str, Any]]] = None
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    daemon_sets: Sequence[Mapping[str, Any]] = ()
    kueue_classes: Optional[Collection[str]] = None
    held: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    parents: Optional[Collection[Tuple[str, str]]] = None
    extended_resources: Optional[Mapping[str, Collection[str]]] = None
    counted: Optional[Collection[str]] = None
    leaf_labelled: Optional[Collection[str]] = None


@dataclass(frozen=True)
class ObjectSet:
    """The objects of one applyset, for all groups. ``namespace`` is that of the set's parent."""

    name: str
    namespace: str
    objects: List[Object]


@dataclass(frozen=True)
class PodRequest:
    """How a container of a pod asks for RDMA, and what it then has.

    ``hosts`` are the nodes on which a pod can ask so, each with the HCAs (``mlx5_0``) that the container can get there:
    ``number`` of them, or all of them with 0. They are left out where its claim says what it got.

    ``limits`` are extended resources with their number. ``template`` is the alias of a ResourceClaimTemplate, ``claim``
    that of a ResourceClaim, the objects of which are in the plan's sets; ``entry`` is what the inventory calls it.
    ``capabilities`` are to be added in the security context: without IPC_LOCK programs crash when they register memory
    beyond the limit of locked memory. ``namespace`` is where the pod has to be, empty where it may be in any.

    ``gpus`` is the number of GPUs that the claim has beside the NICs: the container does not ask for them otherwise.
    ``align`` is how its entry of the inventory wants them aligned, empty where it does not say.

    ``gpu_resource`` is the extended resource of GPUs of which the container must have one by itself: it then gets the
    HCAs nearest to its GPUs, and not all. With ``host_network`` the pod has to be on the network of its node.

    ``moves`` says that the netdevs of the HCAs go into the pod, ``networks`` (CIDR) that their addresses there are of
    these; otherwise they are those of the claim or of the node.
    """

    name: str
    hosts: Mapping[str, Sequence[str]]
    limits: Mapping[str, int] = field(default_factory=dict)
    number: int = 0
    template: str = ""
    claim: str = ""
    entry: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)
    capabilities: Sequence[str] = ("IPC_LOCK",)
    environment: Mapping[str, str] = field(default_factory=dict)
    namespace: str = ""
    moves: bool = False
    networks: Sequence[str] = ()
    gpus: int = 0
    host_network: bool = False
    gpu_resource: str = ""
    align: str = ""


@dataclass(frozen=True)
class NodeStatus:
    """What a node shows when the strategy works on it.

    ``drivers`` are DRA drivers that publish ResourceSlices for it, ``resources`` are extended resources with the number
    that capacity and allocatable shall both have. ``daemon_sets`` (namespace/name) have a pod on it, and on no node
    that is not of the inventory; ``foreign`` ones may be on further nodes. ``synced`` is the namespace in which the
    SR-IOV operator says of the node that all is done (SriovNetworkNodeState), empty where it has nothing to do there.
    ``owners`` are kinds of objects that an operator makes DaemonSets of, whose names and namespace only it knows.
    """

    drivers: Sequence[str] = ()
    resources: Mapping[str, int] = field(default_factory=dict)
    daemon_sets: Sequence[str] = ()
    foreign: Sequence[str] = ()
    synced: str = ""
    owners: Sequence[str] = ()


@dataclass(frozen=True)
class StrategyImage:
    """A container image that a node needs; ``archive`` is a path on the controller, empty where it is pulled."""

    name: str
    archive: str = ""


@dataclass(frozen=True)
class PolicyFields:
    """What of an operator's one policy, which others have fields of as well, is applied.

    ``object`` has no ``spec`` where that is nothing. ``without`` are fields that it must not have from others.
    """

    object: Object = field(default_factory=dict)
    without: Sequence[str] = ()

    def with_spec(self, spec: Mapping[str, Any]) -> PolicyFields:
        """The same with these fields, of components, added."""
        if not spec:
            return self
        return PolicyFields({**self.object, "spec": {**self.object.get("spec", {}), **spec}}, self.without)


@dataclass
class StrategyPlan:
    """All answers of one strategy for its hosts. Where there are problems, there are no objects.

    ``labels`` are by host (``None`` to be removed), ``requests`` by group how pods can ask for RDMA, ``status`` by host
    what it shows when all works. ``leftovers`` are by host the extended resources that it must not have: those of other
    groups, and those that it had before.
    ``counters`` are by host the extended resources that no plugin offers, with the number that provision writes.
    ``nodes`` are the labels as objects, for manifests; ``wait`` says whether to wait until all works. ``policy`` are
    fields of an operator's policy, which others have fields of as well; that of a single strategy counts.
    ``everywhere`` says that a device plugin runs on all nodes, also where it has nothing to offer.
    ``unknown`` are hosts without facts, and nodes outside the inventory that keep their plugin's configuration. They
    may need objects that are not in the plan: nothing is to be pruned then.
    ``joining`` are nodes that get a configuration of a device plugin that others have already, so that it has to be
    right before they are labelled; ``leaving`` are the labels of nodes that lose the one they have.
    ``unprepared`` is by host why it would not work on its node as it is now, which prepare can change.
    """

    sets: List[ObjectSet] = field(default_factory=list)
    labels: Dict[str, Dict[str, Optional[str]]] = field(default_factory=dict)
    requests: Dict[str, List[PodRequest]] = field(default_factory=dict)
    status: Dict[str, NodeStatus] = field(default_factory=dict)
    leftovers: Dict[str, List[str]] = field(default_factory=dict)
    counters: Dict[str, Dict[str, int]] = field(default_factory=dict)
    nodes: List[Object] = field(default_factory=list)
    wait: bool = False
    policy: PolicyFields = field(default_factory=PolicyFields)
    everywhere: bool = False
    unknown: List[str] = field(default_factory=list)
    joining: List[str] = field(default_factory=list)
    leaving: Dict[str, Dict[str, Optional[str]]] = field(default_factory=dict)
    warnings: List[str] = field(default_factory=list)
    problems: List[str] = field(default_factory=list)
    unprepared: Dict[str, str] = field(default_factory=dict)

    def without(self, hosts: Collection[str]) -> StrategyPlan:
        """The same with the nodes of these hosts as they are."""
        return replace(
            self,
            labels={host: own for host, own in self.labels.items() if host not in hosts},
            counters={host: own for host, own in self.counters.items() if host not in hosts},
            leftovers={host: own for host, own in self.leftovers.items() if host not in hosts},
            nodes=[node for node in self.nodes if node["metadata"]["name"] not in hosts],
            joining=[host for host in self.joining if host not in hosts],
            leaving={host: own for host, own in self.leaving.items() if host not in hosts},
        )


class ManifestNames(NamedTuple):
    """Names of files, empty where there is none."""

    objects: str = ""
    labels: str = ""
    claims: str = ""


def served(name: str, hosts: Sequence[InventoryHost]) -> List[InventoryHost]:
    """The hosts of one strategy."""
    return [host for host in hosts if plan_variables.strategy_of(host.variables) == name]


def of_fleet(hosts: Sequence[InventoryHost], known: plan_variables.Options) -> Dict[str, Any]:
    """Variables that have one value for all hosts, which preflight has looked at, with defaults for the others."""
    return {**plan_variables.defaults(known), **(hosts[0].variables if hosts else {})}


def object_set(end: str, values: Mapping[str, Any], objects: Sequence[Dict[str, Any]] = ()) -> ObjectSet:
    """A set of objects by how its name ends; ``values`` are those of the fleet."""
    name, namespace = (str(values[variable]) for variable in (plan_variables.SET, plan_variables.PARENT_NAMESPACE))
    return ObjectSet(f"{name}-{end}", namespace, list(objects))


@dataclass
class ClaimsStage:
    """What pods claim, for people in ``text``.

    ``unmet`` is by host why what is published there does not meet claims that its facts allow, or is not enough to tell
    its GPUs. ``unknown`` are hosts of which nothing is known, so that objects that they need may be missing.
    ``requests`` and ``status`` are those of :class:`StrategyPlan`.
    """

    objects: ObjectSet
    text: str = ""
    warnings: List[str] = field(default_factory=list)
    problems: List[str] = field(default_factory=list)
    unmet: Dict[str, List[str]] = field(default_factory=dict)
    unknown: List[str] = field(default_factory=list)
    requests: Dict[str, List[PodRequest]] = field(default_factory=dict)
    status: Dict[str, NodeStatus] = field(default_factory=dict)


class Strategy(ABC):
    """One strategy; ``roles`` have its variables, and apply it alone in a user's own playbook.

    ``also`` are further values of ``rdma_strategy`` that it serves beside its name, with the same objects and label.
    ``label`` is the label of nodes that have it at the moment, empty where it leaves nothing there. ``netns_modes`` are
    the RDMA netns modes in which it works; empty means that none is of concern. ``slices`` says whether it needs
    ``resource.k8s.io``. ``driver`` is the DRA driver that has to stay as long as pods hold devices of it, ``switch``
    the variable that switches it off, and ``driver_pods`` that of the namespace of its pods, with a selector of their
    labels. ``driver_set`` is how the name of its set of objects ends that has the DaemonSets of its driver or device
    plugin. ``beside`` are other DRA drivers that its roles deploy on all nodes, by the variable
    that says so.
    ``counts_only`` says that its resources stand for no devices, so that groups may have the same one. ``pods`` says
    whether pods with its label serve a node, and not a program of the node itself.
    """

    driver: str = ""
    switch: str = ""
    driver_set: str = ""
    driver_pods: Tuple[str, str] = ("", "")
    beside: Mapping[str, str] = MappingProxyType({})
    also: Tuple[str, ...] = ()
    name: str
    roles: Tuple[str, ...]
    label: str
    netns_modes: Tuple[str, ...]
    slices: bool
    counts_only: bool = False
    pods: bool = True
    # The operators' kinds that it has a use for, and their policy without any field.
    kinds: Tuple[str, ...] = ()
    no_fields: PolicyFields = PolicyFields()
    # File names of manifests: of its objects, of the labels of its nodes, and of what pods claim.
    manifests: ManifestNames = ManifestNames()
    # How the name of its set of objects ends that pods claim.
    claims_set: str = ""
    # The variable that says how many seconds drivers may take until they publish.
    publish_timeout: str = ""
    # Kinds of members of its sets that have to stay as long as pods and workloads use them.
    kept: Tuple[str, ...] = ()
    # Kinds that the cluster's admission may reject as long as nodes do not have their labels.
    rejectable: Tuple[str, ...] = ()
    # Whether its groups can have the OFED driver of the Network Operator (:meth:`with_ofed` says which).
    has_ofed: bool = False
    # The variable without which pods can request nothing of it, for people.
    asked_by: str = ""
    # What runs on its nodes beside the container runtime.
    daemon: Optional[StrategyDaemon] = None

    @property
    def names(self) -> Tuple[str, ...]:
        """All values of ``rdma_strategy`` that it serves."""
        return (self.name, *self.also)

    def own(self, hosts: Sequence[InventoryHost]) -> List[InventoryHost]:
        """Those of the hosts that have it."""
        return [host for host in hosts if plan_variables.strategy_of(host.variables) in self.names]

    def labels(
        self, hosts: Sequence[InventoryHost], own: Mapping[str, Dict[str, Optional[str]]]
    ) -> Dict[str, Dict[str, Optional[str]]]:
        """The labels of its ``own`` hosts, and of all others that they lose its label."""
        names = {host.name for host in self.own(hosts)}
        return {**{host.name: {self.label: None} for host in hosts if host.name not in names}, **own}

    @abstractmethod
    def plan(
        self, hosts: Sequence[InventoryHost], cluster: ClusterState, known: plan_variables.Options
    ) -> StrategyPlan:
        """The answers for all hosts, those of other strategies included, which only lose its labels."""

    def driver_plan(
        self, hosts: Sequence[InventoryHost], cluster: ClusterState, known: plan_variables.Options
    ) -> StrategyPlan:
        """What :meth:`plan` says of its driver or device plugin alone, without what pods claim."""
        return self.plan(hosts, cluster, known)

    def claims(
        self, hosts: Sequence[InventoryHost], cluster: ClusterState, known: plan_variables.Options, tolerant: bool
    ) -> Optional[ClaimsStage]:
        """What pods claim, ``None`` where they claim nothing of it. Raises ValueError for a slice that is none.

        Claims that facts allow but not what is published are ``unmet``, or without ``tolerant`` problems.
        """
        return None

    def node_check(self, values: Mapping[str, Any]) -> str:
        """The role whose entry point ``node_check`` a node with these variables, in their types, has to pass before the
        cluster is changed, empty for none.
        """
        return ""

    def charts(self, values: Mapping[str, Any]) -> Sequence[str]:
        """The roles that install DRA drivers with Helm between the steps for drivers and those for claims.

        Each has the entry points ``chart_check`` (whether it can be installed), ``chart``, ``chart_helm`` (whether it
        can be removed) and ``chart_absent``. ``values`` are variables of the fleet in their types.
        """
        return ()

    def device_plugin_gpus(
        self,
        allocatable: Mapping[str, Sequence[str]],
        labels: Mapping[str, Mapping[str, str]],
        hosts: Collection[str],
        values: Mapping[str, Any],
        more: Names,
    ) -> Dict[str, List[str]]:
        """By node the GPUs that a device plugin offers where its :meth:`charts` would offer them as well.

        ``allocatable`` and ``labels`` are those of all nodes, ``hosts`` those of the run.
        """
        return {}

    def expected(self, hosts: Sequence[InventoryHost]) -> Dict[str, Dict[str, Any]]:
        """By host what DRA drivers have to publish before its claims can be planned (``dra.expected_devices``)."""
        return {}

    def sets(self, part: str, values: Mapping[str, Any]) -> List[ObjectSet]:
        """Its set of objects in a part of the run (``_plan.steps``) without its objects; ``values`` as of the fleet."""
        return [object_set(end, values) for end in (self.claims_set if part == "claims" else self.driver_set,) if end]

    def address_pools(self, values: Mapping[str, Any], removal: bool) -> str:
        """Namespace with address pools that go with its set of objects, empty for none; ``removal`` of all of it."""
        return ""

    @abstractmethod
    def images(self, values: Mapping[str, Any]) -> List[StrategyImage]:
        """What a node with these variables needs, each in its type, defaults included."""

    @abstractmethod
    def resources(self, hosts: Sequence[InventoryHost], known: plan_variables.Options) -> List[str]:
        """Extended resources that groups of these hosts have with it, or would have by their variables.

        A device plugin that goes leaves its resources in the status of nodes; by these names they are found again.
        """

    def asked(self, values: Mapping[str, Any]) -> bool:
        """Whether pods on a host with these variables can request RDMA. The variables may have any type."""
        return True

    def lost(
        self,
        hosts: Sequence[InventoryHost],
        own: Sequence[InventoryHost],
        served: Mapping[str, str],
        known: plan_variables.Options,
    ) -> Dict[str, List[str]]:
        """By node the extended resources that its device plugin no longer offers when only its ``own`` hosts have it.

        ``served`` is the value of ``label`` by node, also of nodes that are not among the ``hosts``.
        """
        return {}

    def driver_labels(self, hosts: Sequence[InventoryHost], known: plan_variables.Options) -> Dict[str, str]:
        """Value of ``label`` by host, of those that have ``driver`` when all hosts have what they shall have."""
        return {}

    def one_value(self, hosts: Sequence[Mapping[str, Any]]) -> Sequence[str]:
        """Variables with one value for the whole fleet, where hosts have these (:mod:`_inventory.fleet_wide`)."""
        return ()

    def cluster_queries(self, hosts: Sequence[InventoryHost]) -> Sequence[Tuple[str, str]]:
        """Kind and name (empty for all) of objects that are to be known of the cluster; variables have any type."""
        return ()

    def lacking(
        self, hosts: Sequence[InventoryHost], cluster: ClusterState, known: plan_variables.Options
    ) -> Iterator[Tuple[str, Problem]]:
        """What the cluster lacks, or has in the way, of what hosts need of operators; variables have any type."""
        yield from ()

    def served_otherwise(self, values: Mapping[str, Any], label: str) -> Optional[Tuple[str, str]]:
        """Variable of its provider, and the one that serves a node with this value of its label, if that is another."""
        return None

    def doubt(self, word: str, found: Answers) -> str:
        """Why it is a doubtful choice by this value of ``rdma_strategy`` and these facts, empty if it fits."""
        return "" if found.nics[1] else "no node has a usable NIC"

    def with_ofed(self, values: Mapping[str, Any]) -> bool:
        """Whether a group with these variables can have the OFED driver of the Network Operator."""
        return False

    def networks(self, values: Mapping[str, Any]) -> List[Tuple[str, Network]]:
        """Networks that pods get addresses from, each with the variable that it is from. Raises PlanError.

        ``values`` are a host's variables in their types. Preflight compares them with all other networks.
        """
        return []
