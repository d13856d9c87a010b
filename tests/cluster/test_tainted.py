# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A tainted GPU: the real scheduler refuses it, and the plan, resource_slice_info and verify say so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Dict

from ansible_collections.zerocopy.rdma.plugins.filter.claims import claims
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import GPU_DRIVER, Taint
from ansible_collections.zerocopy.rdma.plugins.modules import resource_slice_info
from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import Fleet, from_template, placed_on
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import part
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import (
    VERSIONS,
    Facts,
    published,
    template,
)

NODE = "v100-01"
XID = Taint(f"{GPU_DRIVER}/xid", "79", "NoSchedule")
INFORMING = Taint(f"{GPU_DRIVER}/xid", "31", "None")
SAID = "gpu-2 is tainted gpu.nvidia.com/xid=79 (NoSchedule): no new pod gets it"


def test_no_new_pod_gets_a_tainted_gpu(
    fleet: Fleet, run_module: Callable[..., Any], control_plane: Any, facts_of: Facts
) -> None:
    facts = facts_of(NODE)
    tainted = {"gpu-2": (XID,), "gpu-3": (INFORMING,)}
    devices = [replace(one, taints=tainted.get(one.name, ())) for one in placed_on(published(facts), NODE)]
    gpus = [device.name for device in devices if device.is_gpu]
    fleet.nodes(devices)
    cluster: Dict[str, Any] = run_module(resource_slice_info, kubeconfig=str(control_plane.kubeconfig))
    informed = "gpu-3 is tainted gpu.nvidia.com/xid=31 (None): pods still get it"
    assert [line for line in cluster["tainted"] if line.startswith(NODE)] == [f"{NODE}: {SAID}", f"{NODE}: {informed}"]

    own = {
        **VERSIONS,
        "inventory_hostname": NODE,
        "group_names": ["v100"],
        "rdma_claims_namespaces": [fleet.namespace],
        "rdma_claims_templates": [
            template("every", gpus=len(gpus)),
            template("others", gpus=len(gpus) - 1),
        ],
        "ansible_facts": {"rdma": facts},
    }
    plan = claims({}, [NODE], {NODE: own}, cluster["slices"], cluster["kubernetes"], cluster["device_classes"])
    assert plan["problems"] == []
    every = f"{len(gpus) - 1} matching GPUs without a taint, {len(gpus)} requested"
    assert plan["warnings"] == [
        f"every cannot be satisfied on any node while devices are tainted. {NODE}: {every}",
        f"{NODE}: {SAID}",
    ]
    fleet.create([one for one in plan["objects"] if one["kind"] == "ResourceClaimTemplate"])
    placed = fleet.pods([from_template("refused", "every", NODE)], waits=1)
    assert "cannot allocate all claims" in placed["refused"].why
    placed = fleet.pods([from_template("placed", "others", NODE)])
    assert sorted(placed["placed"].devices["gpu"]) == sorted(set(gpus) - {"gpu-2"})

    judged = part("cluster", {NODE: own}, found={"nodes": [], "daemon_sets": []}, published=cluster)
    checks = [one for one in judged["checks"] if one["id"] == "cluster.taints"]
    assert [(one["host"], one["verdict"], one["text"]) for one in checks] == [
        (NODE, "fail", SAID),
        (NODE, "warn", informed),
    ]
    # The API server says when.
    assert all(taint["time_added"] for one in checks for taint in one["evidence"]["taints"])
