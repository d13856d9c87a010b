# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Examples of workloads for groups of all strategies, made from facts of recorded nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Mapping

from ansible_collections.zerocopy.rdma.plugins.modules import workloads
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _workload_examples
from ansible_collections.zerocopy.rdma.tests.unit.action_options import options
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategy_plan, written

Facts = Callable[..., dict[str, Any]]
SCRIPT = (Path(__file__).resolve().parents[3] / "roles/rdma_workloads/files/rdma-env.sh").read_text("utf-8")
IMAGES = {name: f"registry.example.org/{name}:1" for name in ("vllm", "sglang", "ray", "nccl_tests")}
SETTINGS: dict[str, Any] = {"images": IMAGES, "model": "Qwen/Qwen3-8B"}
VERSIONS = {"rdma_driver_dranet_version": "1.4.0", "rdma_driver_gpu_version": "0.5.0"}
CLAIMS = {
    "rdma_claims_templates": [
        {"name": "one", "gpus": 1, "nics": 1},
        {"name": "four", "gpus": 4, "nics": 4},
        {"name": "nic", "nics": 1},
    ]
}
SINGLE = {
    "rdma_claims_claims": [
        {"name": "rdma-prefill", "host": "lab-01", "hca": "mlx5_0"},
        {"name": "rdma-decode", "host": "lab-02", "hca": "mlx5_0"},
    ]
}
GROUPS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "h100": (["h100-01", "h100-02"], CLAIMS),
    "lab": (["lab-01", "lab-02"], SINGLE),
    "v100": (["v100-01", "v100-02"], {"rdma_strategy": "shared_device"}),
    "roce_h100": (
        ["case-h100-roce"],
        {
            "rdma_strategy": "host_device",
            "rdma_host_device_networks": [f"10.110.{rail}.0/24" for rail in range(8)],
            "rdma_host_device_namespaces": ["serving"],
        },
    ),
    "vfs": (["case-vf"], {"rdma_strategy": "sriov", "rdma_host_device_networks": ["10.111.0.0/24"]}),
    "a100": (["a100-01", "a100-02"], {"rdma_strategy": "inject"}),
}


def made(
    facts_of: Facts,
    *groups: str,
    requests: dict[str, str] | None = None,
    manifests: list[Mapping[str, str]] | None = None,
    own: Mapping[str, Mapping[str, Any]] | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """What the action makes for these groups of GROUPS; ``own`` are variables by host."""
    hosts = {}
    for group in groups:
        names, variables = GROUPS[group]
        for name in names:
            known = {"group_names": [group], "rdma_group": group, "ansible_facts": {"rdma": facts_of(name)}}
            hosts[name] = {"inventory_hostname": name, **known, **VERSIONS, **variables, **(own or {}).get(name, {})}
    plan = strategy_plan({}, list(hosts), hosts)
    assert plan["problems"] == []
    chosen = options(
        workloads,
        plan=written(plan),
        script=SCRIPT,
        settings={**SETTINGS, **settings},
        requests=requests or {},
        manifests=manifests or [],
    )
    return _workload_examples.made(chosen, hosts)
