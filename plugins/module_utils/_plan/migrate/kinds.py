# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Where objects have pod templates, kind by kind. A kind that is not here is not guessed.

Sources: the CustomResourceDefinitions of sigs.k8s.io/lws v0.9.0, github.com/ray-project/kuberay/ray-operator v1.5.1,
github.com/kubeflow/training-operator v1.9.3, github.com/kubeflow/mpi-operator v0.6.0, sigs.k8s.io/jobset v0.8.0 and
github.com/kserve/kserve v0.17.0, and volcano.sh/apis (batch/v1alpha1).
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, entries, table, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.model import Kind

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
_JOBS = {kind for kind in KINDS if kind.kind.endswith(("Job", "JobSet")) and kind.kind != "CronJob"}


class PodTemplate(NamedTuple):
    """A pod template of an object: its path, metadata (empty for bare specs), and spec, all as the object has them."""

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
            yield PodTemplate(place, {}, found)


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
