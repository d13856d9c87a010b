# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What an administrator brings before NVIDIA's DRA driver can be deployed: the driver of the GPUs, and images.

The driver of the GPUs is the lab's stand-in (../gpu_driver). The image is imported from an archive, since the nodes
reach no registry; helm and the chart are links for whoever deploys.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gpu_driver import driver_root, image, programs
from vmlab import network, tools
from vmlab.paths import RUN
from vmlab.progress import LabError, step
from vmlab.tools import Tool
from vmlab.topology import NODES, Node

from . import lifecycle
from .node_files import File

HELM = Tool("helm", "helm", "helm.sh/helm/v3/cmd/helm")
CHART = RUN / "gpu-chart"
# As node feature discovery, or GPU feature discovery, finds out.
_LABEL = "nvidia.com/gpu.present=true"
_IMAGE = "var/tmp/gpu-driver.tar"


def bring() -> None:
    """Give all nodes what the driver needs, and label them; running it again changes nothing."""
    archive = image.archive(programs.CURRENT)
    for link, target in ((RUN / "helm", tools.build(HELM)), (CHART, programs.CURRENT.chart())):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda node: _install(node, archive), NODES))
    lifecycle.kubectl("label", "--overwrite", "nodes", *(node.name for node in NODES), _LABEL)


def _install(node: Node, archive: Path) -> None:
    files = {path: File(source, 0o755) for path, source in driver_root.installed().items()}
    files[driver_root.SCRIPT] = File(driver_root.script())
    files[f"etc/systemd/system/{driver_root.UNIT_NAME}"] = File(driver_root.UNIT)
    files[_IMAGE] = File(archive)
    with step(f"{node.name}: the stand-in for NVIDIA's driver, and the image of its DRA driver"):
        lifecycle.send(node, files)
        commands = [
            "systemctl daemon-reload",
            f"systemctl enable --now {driver_root.UNIT_NAME}",
            "nvidia-smi -L",
            f"ctr --namespace k8s.io images import /{_IMAGE}",
            f"rm /{_IMAGE}",
        ]
        done = network.ssh(node.name, "set -e\n" + "\n".join(commands))
    if done.returncode:
        raise LabError(f"{node.name} does not get NVIDIA's driver: {done.stdout}{done.stderr}")
