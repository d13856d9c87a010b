# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Operators by Helm: wrong variables are refused in one message each, before anything is installed."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._preflight import problems as prepare_problems
from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS, played

NETWORK, SRIOV = "rdma_operator_network", "rdma_operator_sriov"


def problems(**own: Any) -> list[str]:
    values = {"rdma_strategy": "none", **own}
    hosts = {name: {**values, "inventory_hostname": name, "group_names": ["gpu"]} for name in ("gpu-1", "gpu-2")}
    found: list[str] = prepare_problems({}, list(hosts), hosts)
    return found


@pytest.fixture(name="archive")
def make_archive(tmp_path: Path) -> Callable[..., str]:
    def pack(text: str, path: str = "network-operator/Chart.yaml") -> str:
        with tarfile.open(tmp_path / "chart.tgz", "w:gz") as packed:
            for name, content in ((path, text), ("network-operator/charts/nfd/Chart.yaml", "version: 0.2.1")):
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                packed.addfile(entry, io.BytesIO(content.encode()))
        return str(tmp_path / "chart.tgz")

    return pack


def test_what_is_right(archive: Callable[..., str], tmp_path: Path) -> None:
    assert problems(**{NETWORK + "_version": "latest"}) == []
    assert problems(**{SRIOV: True}) == []
    assert problems(**{NETWORK: True, NETWORK + "_version": "v25.10.0"}) == []
    local = {NETWORK: True, NETWORK + "_chart": archive("version: 25.10.0"), NETWORK + "_version": "25.10.0"}
    assert problems(**local) == []
    (tmp_path / "Chart.yaml").write_text("version: v25.10.0\n")
    assert problems(**{**local, NETWORK + "_chart": str(tmp_path)}) == []


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (
            {},
            "rdma_operator_network_version is not set, but rdma_operator_network is true: set the version of the chart",
        ),
        ({"_version": "^25.10"}, "rdma_operator_network_version is '^25.10', it must be one version, like 25.10.0"),
        ({"_version": "25.10.x"}, "it must be one version, like 25.10.0"),
        ({"_version": "25.10.0\n"}, "it must be one version, like 25.10.0"),
        ({"_version": "25.10.0", "_chart": "./chart.tgz"}, "the path of an archive must be absolute"),
        ({"_version": "25.10.0", "_chart": "chart.tgz"}, "the path of an archive must be absolute"),
        ({"_version": "25.10.0", "_chart": "./chart"}, "the path of an archive must be absolute"),
        ({"_version": "25.10.0", "_repository": ""}, "chart is 'network-operator', it must be an archive, a reference"),
        ({"_version": "25.10.0", "_repository": "oci://nvcr.io/x"}, "give a chart in a registry as oci://..."),
        ({"_version": "25.10.0", "_chart": "/nowhere/chart.tgz"}, "which is not a chart: No such file or directory"),
        ({"_version": "25.10.0", "_namespace": "NVIDIA"}, "namespace is 'NVIDIA', it must be the name of a namespace"),
        ({"_version": "25.10.0", "_values": {"zerocopyRdma": "x"}}, "this collection sets it: leave it out"),
        ({"_version": "25.10.0", "_values": "nfd"}, "rdma_operator_network_values is 'nfd'"),
    ],
)
def test_what_is_wrong(own: dict[str, Any], message: str) -> None:
    (found,) = problems(**{NETWORK: True, **{NETWORK + name: value for name, value in own.items()}})
    assert found.startswith("gpu-[1-2]: ")
    assert message in found


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("version: 25.7.0", "network-operator/Chart.yaml", "has version 25.7.0: they must be the same"),
        ("version: 25.10.0", "network-operator/values.yaml", "which is not a chart: it has no Chart.yaml"),
        ("[1", "network-operator/Chart.yaml", "its Chart.yaml is not valid YAML"),
        ("- 1", "network-operator/Chart.yaml", "its Chart.yaml is not a dictionary"),
    ],
)
def test_an_archive_that_is_not_the_chart(archive: Callable[..., str], text: str, path: str, message: str) -> None:
    own = {NETWORK + "_chart": archive(text, path), NETWORK + "_version": "25.10.0"}
    (found,) = problems(**{NETWORK: True, **own})
    assert message in found


def test_a_file_that_is_no_archive(tmp_path: Path) -> None:
    (tmp_path / "chart.tgz").write_text("chart")
    own = {NETWORK + "_chart": str(tmp_path / "chart.tgz"), NETWORK + "_version": "25.10.0"}
    (found,) = problems(**{NETWORK: True, **own})
    assert "which is not a chart: " in found


def test_an_operator_is_in_a_cluster_once() -> None:
    hosts = {
        name: {"rdma_strategy": "none", SRIOV: asked, "inventory_hostname": name, "group_names": ["gpu"]}
        for name, asked in (("gpu-1", True), ("gpu-2", False))
    }
    (found,) = prepare_problems({}, list(hosts), hosts)
    assert "rdma_operator_sriov is True on gpu-1; False on gpu-2: it must be the same on all hosts" in found


def test_helm_is_looked_for_in_one_place() -> None:
    """Which versions will do is one rule for operators and the GPU driver."""
    files = [path for path in variables.ROLES.glob("*/*/*.yml") if path.parent.name != "meta"]
    looking = [str(path.relative_to(variables.ROLES)) for path in files if "helm, version" in path.read_text("utf-8")]
    ruling = [str(path.relative_to(variables.ROLES)) for path in files if "must be helm 3" in path.read_text("utf-8")]
    assert (looking, ruling) == (["rdma_operator/tasks/helm.yml"], ["rdma_operator/vars/main.yml"])


def test_without_a_cluster_the_playbook_says_what_is_needed(tmp_path: Path) -> None:
    """It needs neither helm nor an API server then; both would fail here."""
    own = {
        "rdma_strategy": "none",
        "rdma_cluster": "none",
        SRIOV: True,
        NETWORK: True,
        NETWORK + "_version": "25.10.0",
        NETWORK + "_values": {"operator": {"repository": "mirror.example.org/nvidia"}},
    }
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"hosts": {"gpu-1": own, "gpu-2": own}}}))
    nowhere = {"PATH": "/usr/bin:/bin", "KUBECONFIG": str(tmp_path / "nowhere")}
    done = played(tmp_path, "-i", "hosts.yml", str(PLAYBOOKS / "operators.yml"), **nowhere)
    assert done.returncode == 0, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "No operator was installed, because rdma_cluster is none." in said
    assert (
        "rdma_operator_sriov: release sriov-network-operator in namespace sriov-network-operator, chart oci://" in said
    )
    assert "chart network-operator from https://helm.ngc.nvidia.com/nvidia, version 25.10.0, values {" in said
    assert '"operator": {"repository": "mirror.example.org/nvidia"}' in said
