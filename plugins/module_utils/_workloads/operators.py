# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Examples for operators that a cluster may have: KServe, KubeRay, MPI Operator, LeaderWorkerSet, Volcano."""

from __future__ import annotations

from typing import List, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.names import LONGEST_LABEL, shortened
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads import plain, pod
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads.pod import (
    GroupAsk,
    Manifest,
    PodContainer,
    Settings,
)

_NODES = 2
_MASTER_PORT = 23456
# A pod of a LeaderWorkerSet has a label of the set's name, "-0-" and ten digits. A DisaggregatedSet makes sets that are
# named after it, with "-0-", eight digits and the role (validateGeneratedNames of its webhook).
_LONGEST_LEADER_WORKER_SET = LONGEST_LABEL - len("-0-0123456789")
_LONGEST_DISAGGREGATED_SET = _LONGEST_LEADER_WORKER_SET - len("-0-01234567-prefill")


def _metadata(name: str, ask: GroupAsk, settings: Settings) -> Manifest:
    return {"name": name, "namespace": pod.namespace_of(ask, settings)}


def kserve(prefix: str, asks: Sequence[GroupAsk], settings: Settings) -> List[Manifest]:
    """An LLMInferenceService with prefill and decode. KServe merges ``main`` with the container of its presets."""
    roles = []
    for number in range(2):
        ask = asks[number % len(asks)]
        gpus = pod.ranks_of(ask, settings)
        # In the presets decode is behind the sidecar on port 8000, prefill is not.
        port = 8000 if number else 8001
        command = [
            "vllm",
            "serve",
            "/mnt/models",
            f"--served-model-name={pod.literal(settings.model)}",
            f"--port={port}",
        ]
        command += [f"--tensor-parallel-size={gpus}", f"--kv-transfer-config={plain.CONNECTOR}"]
        container = PodContainer("main", "", command, plain.nixl(settings), fields=plain.NIXL_FIELDS)
        roles.append(pod.pod_of(container, pod.adds(ask, settings)))
    metadata = _metadata(f"{prefix}-kserve", asks[0], settings)
    annotations = asks[0].request.annotations
    if annotations:
        metadata["annotations"] = dict(annotations)
    return [
        {
            "apiVersion": "serving.kserve.io/v1alpha1",
            "kind": "LLMInferenceService",
            "metadata": metadata,
            "spec": {
                "model": {"uri": f"hf://{settings.model}", "name": settings.model},
                "replicas": 1,
                "router": {"scheduler": {}, "route": {}, "gateway": {}},
                "template": roles[0],
                "prefill": {"replicas": 1, "template": roles[1]},
            },
        }
    ]


def ray(prefix: str, ask: GroupAsk, settings: Settings) -> List[Manifest]:
    """A RayCluster whose workers have GPUs and NICs; its head has none."""
    image = settings.images["ray"]
    start = ["/bin/bash", "-c", "ulimit -n 65536; $KUBERAY_GEN_RAY_START_CMD"]
    worker = PodContainer("ray-worker", image, start, {"NCCL_DEBUG": "INFO"})
    head = {"spec": {"containers": [{"name": "ray-head", "image": image, "command": start}]}}
    metadata = _metadata(f"{prefix}-ray", ask, settings)
    metadata["annotations"] = {"ray.io/overwrite-container-cmd": "true"}
    gpus = str(pod.gpus_of(ask, settings))
    return [
        {
            "apiVersion": "ray.io/v1",
            "kind": "RayCluster",
            "metadata": metadata,
            "spec": {
                "headGroupSpec": {"rayStartParams": {"num-gpus": "0"}, "template": head},
                "workerGroupSpecs": [
                    {
                        "groupName": "gpu",
                        "replicas": _NODES,
                        "minReplicas": _NODES,
                        "maxReplicas": _NODES,
                        # KubeRay counts limits only, and a claim is not a limit.
                        "rayStartParams": {"num-gpus": gpus},
                        "template": pod.template_of(worker, pod.adds(ask, settings), {}),
                    }
                ],
            },
        }
    ]


def mpi(prefix: str, ask: GroupAsk, settings: Settings) -> List[Manifest]:
    """all_reduce_perf of nccl-tests on all GPUs of two pods. A rank gets nothing of sshd's environment, so each of them
    runs the script itself."""
    gpus = pod.ranks_of(ask, settings)
    image = settings.images["nccl_tests"]
    parts = pod.adds(ask, settings)
    variables = {entry["name"]: entry["value"] for entry in parts["container"]["env"]}
    command = ["mpirun", "--allow-run-as-root", "-np", str(gpus * _NODES), "-bind-to", "none"]
    for name, value in {"NCCL_DEBUG": "INFO", **variables}.items():
        command += ["-x", f"{name}={value}"]
    command += [*pod.WITH_RDMA, "all_reduce_perf", "-b", "8", "-e", "8G", "-f", "2", "-g", "1"]
    launcher = {"spec": {"containers": [{"name": "mpi", "image": image, "command": command}]}}
    worker = pod.template_of(PodContainer("mpi", image, ()), parts, {})
    return [
        {
            "apiVersion": "kubeflow.org/v2beta1",
            "kind": "MPIJob",
            "metadata": _metadata(f"{prefix}-nccl-test", ask, settings),
            "spec": {
                "slotsPerWorker": gpus,
                "runPolicy": {"cleanPodPolicy": "Running"},
                "mpiReplicaSpecs": {
                    "Launcher": {"replicas": 1, "template": launcher},
                    "Worker": {"replicas": _NODES, "template": worker},
                },
            },
        }
    ]


def disaggregated(prefix: str, asks: Sequence[GroupAsk], settings: Settings) -> List[Manifest]:
    """Prefill and decode in one DisaggregatedSet, which rolls them out together."""
    roles = []
    for number, role in enumerate(("prefill", "decode")):
        ask = asks[number % len(asks)]
        container = plain.vllm_container(settings, pod.ranks_of(ask, settings), {})
        template = pod.template_of(container, pod.adds(ask, settings), {"role": role})
        groups = {"size": 1, "workerTemplate": template}
        roles.append({"name": role, "spec": {"replicas": 1, "leaderWorkerTemplate": groups}})
    return [
        {
            "apiVersion": "disaggregatedset.x-k8s.io/v1",
            "kind": "DisaggregatedSet",
            "metadata": _metadata(shortened(f"{prefix}-disaggregated", _LONGEST_DISAGGREGATED_SET), asks[0], settings),
            "spec": {"roles": roles},
        }
    ]


def _multi_node_vllm(settings: Settings, gpus: int, rank: str, master: str, serves: bool) -> PodContainer:
    """One of the pods across which vLLM runs. No shell reads this, so Kubernetes fills in the variables of an operator.

    Without Ray, which vLLM's image no longer has.
    """
    command = ["vllm", "serve", pod.literal(settings.model), f"--port={plain.VLLM_PORT}"]
    command += [f"--tensor-parallel-size={gpus}", f"--pipeline-parallel-size={_NODES}"]
    command += ["--distributed-executor-backend=mp", f"--nnodes={_NODES}", f"--node-rank={rank}"]
    command += [f"--master-addr={master}", f"--master-port={_MASTER_PORT}", *([] if serves else ["--headless"])]
    ports = {**({"http": plain.VLLM_PORT} if serves else {}), "master": _MASTER_PORT}
    # A pod may have addresses on several networks.
    fields = {"env": [{"name": "VLLM_HOST_IP", **plain.POD_IP}]}
    return PodContainer("vllm", settings.images["vllm"], command, {"NCCL_DEBUG": "INFO"}, ports, fields)


def leader_worker(prefix: str, ask: GroupAsk, settings: Settings) -> List[Manifest]:
    """One model across the GPUs of two pods, by vLLM."""
    parts = pod.adds(ask, settings)
    templates = {}
    gpus = pod.ranks_of(ask, settings)
    for role, rank in (("leaderTemplate", "0"), ("workerTemplate", "$(LWS_WORKER_INDEX)")):
        container = _multi_node_vllm(settings, gpus, rank, "$(LWS_LEADER_ADDRESS)", role == "leaderTemplate")
        templates[role] = pod.template_of(container, parts, {})
    return [
        {
            "apiVersion": "leaderworkerset.x-k8s.io/v1",
            "kind": "LeaderWorkerSet",
            "metadata": _metadata(shortened(f"{prefix}-multi-node", _LONGEST_LEADER_WORKER_SET), ask, settings),
            "spec": {"replicas": 1, "leaderWorkerTemplate": {"size": _NODES, **templates}},
        }
    ]


def volcano_fails(ask: GroupAsk) -> bool:
    """Whether Volcano's scheduler cannot place pods that ask so: their claims are never reserved (volcano#5119)."""
    return bool(ask.request.template)


def volcano(prefix: str, asks: Sequence[GroupAsk], settings: Settings) -> List[Manifest]:
    """One model across the GPUs of two pods, by vLLM, as a job: it ends with its first pod.

    Volcano's plugin ``pytorch`` tells all pods the address of the first one.
    """
    tasks = []
    # As many processes on each: the claims of both may differ.
    gpus = pod.ranks_of(asks[0], settings)
    for number, role in enumerate(("master", "worker")):
        ask = asks[number % len(asks)]
        container = _multi_node_vllm(settings, gpus, str(number), "$(MASTER_ADDR)", not number)
        template = pod.template_of(container, pod.adds(ask, settings), {})
        # A pod that is started again by its kubelet never ends for Volcano.
        template["spec"]["restartPolicy"] = "Never"
        events = [("PodFailed", "TerminateJob")] + ([] if number else [("TaskCompleted", "CompleteJob")])
        policies = [{"event": event, "action": action} for event, action in events]
        tasks.append({"name": role, "replicas": 1, "policies": policies, "template": template})
    return [
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": _metadata(f"{prefix}-volcano", asks[0], settings),
            "spec": {
                "minAvailable": _NODES,
                "maxRetry": 3,
                "queue": "default",
                "schedulerName": "default-scheduler" if any(map(volcano_fails, asks)) else "volcano",
                "plugins": {"pytorch": ["--master=master", "--worker=worker", f"--port={_MASTER_PORT}"], "svc": []},
                "policies": [{"event": "PodEvicted", "action": "RestartJob"}],
                "ttlSecondsAfterFinished": 259200,
                "tasks": tasks,
            },
        }
    ]
