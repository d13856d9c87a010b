# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The driver's image from an archive: what is in it, and what the objects say then."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any, Dict

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import images
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import deployment
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.driver import image_archive

NAME = "registry.k8s.io/networking/dranet:v1.4.0"


def plan(*hosts: Dict[str, Any]) -> deployment.DriverPlan:
    """The plan for hosts of one group with these variables, without their prefix."""
    every = [
        InventoryHost(f"v100-0{number}", "v100", {f"rdma_driver_{name}": value for name, value in own.items()})
        for number, own in enumerate(hosts, 1)
    ]
    return deployment.plan(every, _inventory.options({}))


def container(found: deployment.DriverPlan) -> Dict[str, Any]:
    assert found.problems == []
    made: Dict[str, Any] = found.objects[-1]["spec"]["template"]["spec"]["containers"][0]
    return made


def test_what_is_in_a_layout(tmp_path: Path) -> None:
    layout = image_archive.Layout()
    amd64, first = layout.manifest("amd64")
    arm64, second = layout.manifest("arm64")
    windows, _identity = layout.manifest("amd64", "windows")
    attestation, _identity = layout.manifest("unknown", "unknown")
    without_layer, _identity = layout.manifest("s390x", complete=False)
    elsewhere = layout.blob("manifest.v1+json", b"{}", stored=False)
    # Windows comes last, so that it would win over Linux.
    every = layout.index([amd64, arm64, attestation, without_layer, elsewhere, windows])
    layout.add(every, reference=NAME)
    layout.add(amd64, containerd="localhost/dranet:test", reference="test")
    # skopeo and ctr keep what they were given; a tag alone is no name.
    layout.add(arm64, reference="v1.4.0")
    layout.add(arm64)
    found = images.images(str(layout.write(tmp_path / "all.tar")))
    assert found == {NAME: {"amd64": first, "arm64": second}, "localhost/dranet:test": {"amd64": first}}


def test_what_is_in_an_archive_of_docker(tmp_path: Path) -> None:
    identity = image_archive.docker(tmp_path / "saved.tar", NAME, "arm64")
    assert images.images(str(tmp_path / "saved.tar")) == {NAME: {"arm64": identity}}


def test_the_image_by_its_tag_and_never_pulled(tmp_path: Path) -> None:
    archive = str(tmp_path / "image.tar")
    image_archive.oci(Path(archive), NAME)
    made = container(plan({"archive": archive}, {"archive": archive}))
    assert (made["image"], made["imagePullPolicy"]) == (NAME, "Never")
    # The digest is that of another version, and counts for nothing here.
    image_archive.oci(Path(archive), "mirror.example/dranet:v1.5.0")
    own = {"archive": archive, "image": "mirror.example/dranet", "dranet_version": "v1.5.0"}
    assert container(plan(own))["image"] == "mirror.example/dranet:v1.5.0"
    assert "imagePullPolicy" not in container(plan({}))


@pytest.mark.parametrize(
    ("files", "own", "said"),
    [
        (None, {}, "which cannot be read: No such file or directory"),
        (None, {"archive": "images/dranet.tar"}, "'images/dranet.tar', it must be an absolute path where Ansible runs"),
        (None, {"archive": "/"}, "which cannot be read: Is a directory"),
        ({"etc/passwd": b""}, {}, "which is not an uncompressed tar archive of container images"),
        ({"manifest.json": b"[{}]"}, {}, "which is not an uncompressed tar archive of container images"),
        (
            {"oci-layout": b"", "index.json": b'{"manifests": []}'},
            {},
            "which contains no image with a name: it must contain",
        ),
    ],
)
def test_an_archive_that_cannot_be(tmp_path: Path, files: Any, own: Dict[str, Any], said: str) -> None:
    archive = tmp_path / "image.tar"
    if files is not None:
        image_archive.write(archive, files)
    found = plan({"archive": str(archive), **own})
    assert found.objects == []
    assert len(found.problems) == 1
    assert found.problems[0].startswith("v100-01: rdma_driver_archive is ")
    assert said in found.problems[0]


def test_a_compressed_archive_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "image.tar"
    image_archive.oci(archive, NAME)
    archive.write_bytes(gzip.compress(archive.read_bytes()))
    with pytest.raises(images.ArchiveError, match="is not an uncompressed tar archive"):
        images.images(str(archive))


def test_an_archive_of_another_version(tmp_path: Path) -> None:
    archive = tmp_path / "image.tar"
    image_archive.oci(archive, NAME)
    (problem,) = plan({"archive": str(archive), "dranet_version": "1.5.0"}).problems
    assert f"which contains {NAME}: it must contain registry.k8s.io/networking/dranet:v1.5.0" in problem
    assert "(rdma_driver_image and rdma_driver_dranet_version)" in problem


def test_one_gpu_driver_for_the_cluster() -> None:
    own = {"gpu_deploy": True, "gpu_version": "0.4.1"}
    assert plan(own, own).problems == []
    told = "\n".join(plan(own, {**own, "gpu_deploy": False}, {**own, "gpu_root": "/run/nvidia/driver"}).problems)
    assert "rdma_driver_gpu_deploy is True on v100-[01,03]; False on v100-02: it must be the same on all hosts" in told
    assert "rdma_driver_gpu_root is '/' on v100-[01-02]; '/run/nvidia/driver' on v100-03" in told
    # Claims of two groups can be for different versions while one is being replaced.
    two = [InventoryHost("v100-01", "v100", {"rdma_driver_gpu_version": "25.8.0"}), InventoryHost("h100-01", "h100")]
    assert deployment.plan(two, _inventory.options({})).problems == []
