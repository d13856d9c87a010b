# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Objects of manifests and of the API server, and where they have pod templates, kind by kind.

A kind that is not here is not guessed.

Sources: the CustomResourceDefinitions of sigs.k8s.io/lws v0.9.0, github.com/ray-project/kuberay/ray-operator v1.5.1,
github.com/kubeflow/training-operator v1.9.3, github.com/kubeflow/mpi-operator v0.6.0, sigs.k8s.io/jobset v0.8.0 and
github.com/kserve/kserve v0.17.0, and volcano.sh/apis (batch/v1alpha1).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import (
    at,
    entries,
    integer,
    strings,
    table,
    text,
)


class Kind(NamedTuple):
    """A kind whatever its version; the core group is ``""``."""

    group: str
    kind: str


class ObjectRef(NamedTuple):
    """An object of the cluster."""

    kind: Kind
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind.kind} {self.name}"


# Steps of a path: a key, "[]" for each entry of a list, "{}" for each value of a map.
_RAY = ("headGroupSpec.template", "workerGroupSpecs.[].template")
_LWS = ("leaderWorkerTemplate.leaderTemplate", "leaderWorkerTemplate.workerTemplate")
_LLM = ("template", "worker", "prefill.template", "prefill.worker", "router.scheduler.template")


def _below(start: str, paths: Tuple[str, ...]) -> Tuple[str, ...]:
    return tuple(f"{start}.{path}" for path in paths)


# Templates have metadata and spec, as a pod has.
_TEMPLATES: Dict[Kind, Tuple[str, ...]] = {
    Kind("", "Pod"): ("",),
    Kind("", "ReplicationController"): ("spec.template",),
    Kind("apps", "Deployment"): ("spec.template",),
    Kind("apps", "StatefulSet"): ("spec.template",),
    Kind("apps", "DaemonSet"): ("spec.template",),
    Kind("apps", "ReplicaSet"): ("spec.template",),
    Kind("batch", "Job"): ("spec.template",),
    Kind("batch", "CronJob"): ("spec.jobTemplate.spec.template",),
    Kind("batch.volcano.sh", "Job"): ("spec.tasks.[].template",),
    Kind("disaggregatedset.x-k8s.io", "DisaggregatedSet"): _below("spec.roles.[].spec", _LWS),
    Kind("jobset.x-k8s.io", "JobSet"): ("spec.replicatedJobs.[].template.spec.template",),
    Kind("kubeflow.org", "JAXJob"): ("spec.jaxReplicaSpecs.{}.template",),
    Kind("kubeflow.org", "MPIJob"): ("spec.mpiReplicaSpecs.{}.template",),
    Kind("kubeflow.org", "PyTorchJob"): ("spec.pytorchReplicaSpecs.{}.template",),
    Kind("kubeflow.org", "TFJob"): ("spec.tfReplicaSpecs.{}.template",),
    Kind("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _below("spec", _LWS),
    Kind("ray.io", "RayCluster"): _below("spec", _RAY),
    Kind("ray.io", "RayJob"): (*_below("spec.rayClusterSpec", _RAY), "spec.submitterPodTemplate"),
    Kind("ray.io", "RayService"): _below("spec.rayClusterConfig", _RAY),
}
# These have the fields of a pod's spec among others; "model" is a container of it.
_SPECS: Dict[Kind, Tuple[str, ...]] = {
    Kind("serving.kserve.io", "ClusterServingRuntime"): ("spec", "spec.workerSpec"),
    Kind("serving.kserve.io", "InferenceService"): (
        "spec.predictor",
        "spec.predictor.workerSpec",
        "spec.transformer",
        "spec.explainer",
    ),
    Kind("serving.kserve.io", "LLMInferenceService"): _below("spec", _LLM),
    Kind("serving.kserve.io", "LLMInferenceServiceConfig"): _below("spec", _LLM),
    Kind("serving.kserve.io", "ServingRuntime"): ("spec", "spec.workerSpec"),
}
KINDS = (*_TEMPLATES, *_SPECS)
# Their pods get annotations of the object itself, Multus' among them (github.com/kserve/kserve v0.17.0, packages
# llmisvc, with its approved prefixes, and inferenceservice of pkg/controller).
_PASSING = {Kind("serving.kserve.io", "InferenceService"), Kind("serving.kserve.io", "LLMInferenceService")}
_PASSED = "k8s.v1.cni.cncf.io/"
_JOBS = {kind for kind in KINDS if kind.kind.endswith(("Job", "JobSet")) and kind.kind != "CronJob"}


class PodTemplate(NamedTuple):
    """A pod template of an object: its path, metadata, and spec, all as the object has them.

    For bare specs, the metadata is what pods get of that of the object, as far as networks are concerned.
    """

    place: str
    metadata: Mapping[str, Any]
    spec: Mapping[str, Any]


def _walk(value: Any, steps: List[str], place: str) -> Iterator[Tuple[str, Mapping[str, Any]]]:
    if not steps:
        if isinstance(value, dict):
            yield place, value
        return
    step, rest = steps[0], steps[1:]
    if step == "[]":
        for index, entry in enumerate(value if isinstance(value, list) else ()):
            yield from _walk(entry, rest, f"{place}[{index}]")
        return
    for key in list(table(value)) if step == "{}" else [step]:
        yield from _walk(table(value).get(key), rest, f"{place}.{key}" if place else str(key))


def templates(kind: Kind, item: Mapping[str, Any]) -> Iterator[PodTemplate]:
    """Every pod template of an object of a kind of :data:`KINDS`."""
    for path in _TEMPLATES.get(kind, ()):
        for place, found in _walk(item, path.split(".") if path else [], ""):
            yield PodTemplate(place, table(found.get("metadata")), table(found.get("spec")))
    for path in _SPECS.get(kind, ()):
        for place, found in _walk(item, path.split("."), ""):
            yield PodTemplate(place, _passed(kind, item), found)


def _passed(kind: Kind, item: Mapping[str, Any]) -> Mapping[str, Any]:
    annotations = strings(at(item, "metadata", "annotations")) if kind in _PASSING else {}
    found = {name: value for name, value in annotations.items() if name.startswith(_PASSED)}
    return {"annotations": found} if found else {}


def network_holder(kind: Kind, item: Any, place: str) -> Any:
    """The map whose metadata names networks for the pods of the template at this place, ``None`` without one."""
    return item if kind in _PASSING else holder(kind, item, place)


def holder(kind: Kind, item: Any, place: str) -> Any:
    """The map that has the metadata and the spec of the template at this place, ``None`` where only a spec is there."""
    if kind in _SPECS:
        return None
    for step in place.replace("[", ".").replace("]", "").split(".") if place else ():
        item = item[int(step)] if isinstance(item, list) else item[step]
    return item


def finished(kind: Kind, item: Mapping[str, Any]) -> bool:
    """Whether a job has ended, and makes no pods any more."""
    if kind not in _JOBS:
        return False
    ended = {"Complete", "Completed", "Succeeded", "Failed", "Aborted", "Terminated"}
    status = table(item.get("status"))
    phases = (at(status, "state", "phase"), status.get("jobDeploymentStatus"), status.get("phase"))
    return any(isinstance(phase, str) and phase in ended for phase in phases) or any(
        text(condition.get("type")) in ended and condition.get("status") == "True"
        for condition in entries(status.get("conditions"))
    )


_REPLICAS = ("Deployment", "ReplicaSet", "StatefulSet")
_LEADER_WORKER_SET = Kind("leaderworkerset.x-k8s.io", "LeaderWorkerSet")


def pods_of(kind: Kind, item: Mapping[str, Any], place: str) -> Optional[int]:
    """How many pods an object makes of its template at this place.

    ``None`` where that depends on the cluster, or is written where this does not look.
    """

    def number(*steps: str) -> int:
        found = integer(at(item, *steps))
        return 1 if found is None else found

    if kind == Kind("", "Pod"):
        return 1
    if kind == Kind("", "ReplicationController") or (kind.group == "apps" and kind.kind in _REPLICAS):
        return number("spec", "replicas")
    jobs: Tuple[Tuple[str, Tuple[str, ...]], ...] = (
        ("Job", ("spec", "parallelism")),
        ("CronJob", ("spec", "jobTemplate", "spec", "parallelism")),
    )
    for name, steps in jobs:
        if kind == Kind("batch", name):
            return number(*steps)
    if kind == _LEADER_WORKER_SET:
        leader = isinstance(at(item, "spec", "leaderWorkerTemplate", "leaderTemplate"), dict)
        size = number("spec", "leaderWorkerTemplate", "size")
        each = 1 if place.endswith("leaderTemplate") else size - 1 if leader else size
        return number("spec", "replicas") * each
    return None


class Slot(NamedTuple):
    """Where an object is: an entry of the documents or of the items of a list.

    ``type`` is its kind where only its list says so (``DeploymentList``).
    """

    document: int
    holder: List[Any]
    place: int
    type: Mapping[str, str] = MappingProxyType({})

    def ref(self, namespace: str) -> ObjectRef:
        """What the object calls itself; ``namespace`` is its namespace if it names none."""
        item = self.holder[self.place]
        return ref_of({**self.type, **item} if isinstance(item, dict) else item, namespace)


def is_object(document: Any) -> bool:
    """Whether a document says which kind of object it is."""
    return bool(text(at(document, "apiVersion")) and text(at(document, "kind")))


def slots(documents: List[Any]) -> Iterator[Slot]:
    """Where the objects of documents are."""
    for number, document in enumerate(documents):
        kind = text(at(document, "kind"))
        if kind.endswith("List") and isinstance(at(document, "items"), list):
            version = text(document.get("apiVersion"))
            found = {"apiVersion": version, "kind": kind[: -len("List")]} if kind != "List" else {}
            for place in range(len(document["items"])):
                yield Slot(number, document["items"], place, found)
        else:
            yield Slot(number, documents, number)


def ref_of(item: Any, namespace: str) -> ObjectRef:
    """What an object calls itself; ``namespace`` is its namespace if it names none."""
    group, slash, _version = text(at(item, "apiVersion")).rpartition("/")
    kind = Kind(group if slash else "", text(at(item, "kind")))
    return ObjectRef(kind, text(at(item, "metadata", "namespace")) or namespace, text(at(item, "metadata", "name")))


def name_of(item: Any) -> str:
    """Kind, namespace and name of an object, as notes have them."""
    return str(ref_of(item, "")) if is_object(item) else ""
