# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Examples that any cluster can run: Deployments, Services and Pods."""

from __future__ import annotations

from typing import Dict, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads import pod
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads.pod import (
    GroupAsk,
    Manifest,
    PodContainer,
    Settings,
)

# Without tcp, a transfer that could not use RDMA fails instead of being slow. ud is for the wire-up of rc.
_UCX_TLS, _UCX_NVIDIA, _UCX_AMD = "rc,ud,sm,self", "cuda_copy,cuda_ipc", "rocm_copy,rocm_ipc"
_SIDE_CHANNEL = 5600
VLLM_PORT, SGLANG_PORT = 8000, 30000
CONNECTOR = '{"kv_connector":"NixlConnector","kv_role":"kv_both","kv_connector_extra_config":{"backends":["UCX"]}}'
POD_IP = {"valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
# Of vLLM with NixlConnector: the other side asks there for what it needs to read the KV cache.
NIXL_FIELDS = {"env": [{"name": "VLLM_NIXL_SIDE_CHANNEL_HOST", **POD_IP}]}
NIXL_PORTS = {"http": VLLM_PORT, "nixl": _SIDE_CHANNEL}


def transports(settings: Settings) -> Dict[str, str]:
    """Those of UCX, with what copies from GPUs of the group's vendor."""
    return {"UCX_TLS": f"{_UCX_TLS},{_UCX_AMD if settings.amd else _UCX_NVIDIA}"}


def nixl(settings: Settings) -> Dict[str, str]:
    return {"VLLM_NIXL_SIDE_CHANNEL_PORT": str(_SIDE_CHANNEL), **transports(settings)}


def _probe(port: int) -> Manifest:
    return {"httpGet": {"path": "/health", "port": port}, "periodSeconds": 10, "failureThreshold": 180}


def vllm_command(model: str, gpus: int) -> List[str]:
    """vLLM on all GPUs of a pod, which gives and takes KV caches."""
    return [
        "vllm",
        "serve",
        pod.literal(model),
        f"--port={VLLM_PORT}",
        f"--tensor-parallel-size={gpus}",
        f"--kv-transfer-config={CONNECTOR}",
    ]


def vllm_container(settings: Settings, gpus: int, more: Mapping[str, str]) -> PodContainer:
    return PodContainer(
        name="vllm",
        image=settings.images["vllm"],
        command=vllm_command(settings.model, gpus),
        environment={**nixl(settings), **more},
        ports=NIXL_PORTS,
        fields={**NIXL_FIELDS, "startupProbe": _probe(VLLM_PORT)},
    )


def _deployment(name: str, namespace: str, template: Manifest) -> Manifest:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": {"app": name}},
            "template": template,
        },
    }


def _service(name: str, namespace: str, port: int) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"app": name}, "ports": [{"name": "http", "port": port}]},
    }


def _served(name: str, ask: GroupAsk, settings: Settings, container: PodContainer, ranks: int = 1) -> List[Manifest]:
    """A Deployment of one pod and its Service."""
    namespace = pod.namespace_of(ask, settings)
    template = pod.template_of(container, pod.adds(ask, settings, ranks), {"app": name})
    port = container.ports["http"]
    return [_deployment(name, namespace, template), _service(name, namespace, port)]


def vllm(prefix: str, asks: Sequence[GroupAsk], settings: Settings) -> List[Manifest]:
    """Prefill and decode, each with a claim of its own: the first two single claims of a group, or its template."""
    found: List[Manifest] = []
    for number, role in enumerate(("prefill", "decode")):
        ask = asks[number % len(asks)]
        container = vllm_container(settings, pod.ranks_of(ask, settings), {})
        found += _served(f"{prefix}-vllm-{role}", ask, settings, container)
    return found


def vllm_per_rank(prefix: str, ask: GroupAsk, settings: Settings, ranks: int) -> List[Manifest]:
    """Prefill and decode whose ranks have a claim each, so that any GPUs of a node will do."""
    # Where it is known which rails reach each other, the script sets this.
    more: Dict[str, str] = {} if settings.rails else {"UCX_IB_ROCE_REACHABILITY_MODE": "all"}
    found: List[Manifest] = []
    for role in ("prefill", "decode"):
        container = vllm_container(settings, pod.ranks_of(ask, settings, ranks), more)
        found += _served(f"{prefix}-vllm-ranks-{role}", ask, settings, container, ranks)
    return found


def sglang(prefix: str, asks: Sequence[GroupAsk], settings: Settings) -> List[Manifest]:
    """SGLang, prefill and decode. Neither needs ``--disaggregation-ib-device``: UCX has the devices from the script."""
    found: List[Manifest] = []
    for number, role in enumerate(("prefill", "decode")):
        ask = asks[number % len(asks)]
        container = PodContainer(
            name="sglang",
            image=settings.images["sglang"],
            command=[
                "python3",
                "-m",
                "sglang.launch_server",
                f"--model-path={pod.literal(settings.model)}",
                "--host=0.0.0.0",
                f"--port={SGLANG_PORT}",
                f"--tp={pod.ranks_of(ask, settings)}",
                f"--disaggregation-mode={role}",
                "--disaggregation-transfer-backend=nixl",
            ],
            environment=transports(settings),
            ports={"http": SGLANG_PORT},
            fields={"startupProbe": _probe(SGLANG_PORT)},
        )
        found += _served(f"{prefix}-sglang-{role}", ask, settings, container)
    return found
