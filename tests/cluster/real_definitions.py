# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""CustomResourceDefinitions as their projects publish them: from Go modules, verified by Go's checksum database."""

from __future__ import annotations

import json
from pathlib import Path

from vmlab.golang import go

# Versions are those that plugins/module_utils/_kube/workloads.py names. Newer ones of Volcano are not served.
_MODULES = {
    "github.com/kserve/kserve@v0.17.0": (
        "config/crd/full/serving.kserve.io_inferenceservices.yaml",
        "config/crd/full/serving.kserve.io_servingruntimes.yaml",
        "config/crd/full/llmisvc/serving.kserve.io_llminferenceservices.yaml",
    ),
    "github.com/kubeflow/mpi-operator@v0.6.0": ("manifests/base/kubeflow.org_mpijobs.yaml",),
    "github.com/kubeflow/training-operator@v1.9.3": (
        "manifests/base/crds/kubeflow.org_jaxjobs.yaml",
        "manifests/base/crds/kubeflow.org_pytorchjobs.yaml",
        "manifests/base/crds/kubeflow.org_tfjobs.yaml",
    ),
    "github.com/ray-project/kuberay/ray-operator@v1.5.1": (
        "config/crd/bases/ray.io_rayclusters.yaml",
        "config/crd/bases/ray.io_rayjobs.yaml",
        "config/crd/bases/ray.io_rayservices.yaml",
    ),
    "sigs.k8s.io/gateway-api-inference-extension@v1.2.0": (
        "config/crd/bases/inference.networking.k8s.io_inferencepools.yaml",
        "config/crd/bases/inference.networking.x-k8s.io_inferencepools.yaml",
    ),
    "sigs.k8s.io/jobset@v0.8.0": ("config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml",),
    "sigs.k8s.io/lws@v0.9.0": (
        "config/crd/bases/disaggregatedset.x-k8s.io_disaggregatedsets.yaml",
        "config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml",
    ),
    "volcano.sh/volcano@v1.10.0": ("config/crd/volcano/bases/batch.volcano.sh_jobs.yaml",),
}


def files() -> list[Path]:
    """Their files, in Go's module cache."""
    lines = go(Path("/"), "mod", "download", "-json", *_MODULES)
    decoder, found = json.JSONDecoder(), {}
    while lines.strip():
        module, end = decoder.raw_decode(lines.lstrip())
        lines = lines.lstrip()[end:]
        found[f"{module['Path']}@{module['Version']}"] = Path(module["Dir"])
    return [found[module] / name for module, names in _MODULES.items() for name in names]
