# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The driver's image from an archive: what is in it, and what the objects say then."""

from __future__ import annotations

import gzip
import json
import os
import resource
import tarfile
from pathlib import Path
from typing import Any, Callable, Dict

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
    own = {"gpu_deploy": True, "gpu_version": "0.5.0"}
    assert plan(own, own).problems == []
    told = "\n".join(plan(own, {**own, "gpu_deploy": False}, {**own, "gpu_root": "/run/nvidia/driver"}).problems)
    assert "rdma_driver_gpu_deploy is True on v100-[01,03]; False on v100-02: it must be the same on all hosts" in told
    assert "rdma_driver_gpu_root is '/' on v100-[01-02]; '/run/nvidia/driver' on v100-03" in told
    # Claims of two groups can be for different versions while one is being replaced.
    two = [InventoryHost("v100-01", "v100", {"rdma_driver_gpu_version": "25.8.0"}), InventoryHost("h100-01", "h100")]
    assert deployment.plan(two, _inventory.options({})).problems == []


def _sparse(path: Path) -> None:
    """A manifest of 100 GiB in an archive of 10 KiB."""
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        member = tarfile.TarInfo("manifest.json")
        member.pax_headers = {"GNU.sparse.size": str(100 << 30), "GNU.sparse.numblocks": "0", "GNU.sparse.map": "0,0"}
        tar.addfile(member)


def _long_name(path: Path) -> None:
    """A header of 3 GiB, most of which is a hole of the file."""
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 3 << 30
    path.write_bytes(header.tobuf(tarfile.GNU_FORMAT))
    os.truncate(path, (3 << 30) + 1024)


def _many_members(path: Path) -> None:
    entry = tarfile.TarInfo("a").tobuf(tarfile.USTAR_FORMAT)
    path.write_bytes(entry * 100001 + bytes(1024))


def _indexes(path: Path) -> None:
    """Ten indexes, each of which names the next one ten times: 10^10 entries."""
    layout = image_archive.Layout()
    descriptor, _identity = layout.manifest("amd64")
    for _level in range(10):
        descriptor = layout.index([descriptor] * 10)
    layout.add(descriptor, containerd=NAME)
    layout.write(path)


def _circle(path: Path) -> None:
    """An index that names itself: what a digest is of is not checked."""
    own = json.dumps({"manifests": [{"digest": "sha256:1"}]}).encode()
    layout = image_archive.Layout()
    layout.files["blobs/sha256/1"] = own
    layout.add({"digest": "sha256:1"}, containerd=NAME)
    layout.write(path)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_sparse, r"^has a manifest\.json of more than"),
        (_long_name, "^has a header of more than"),
        (_many_members, "^has more than 100000 files"),
        (_indexes, "^has more indexes"),
        (_circle, "^has more indexes|^is not an uncompressed tar archive"),
    ],
)
def test_an_archive_cannot_fill_the_memory_or_take_for_ever(
    tmp_path: Path, make: Callable[[Path], None], said: str
) -> None:
    path = tmp_path / "images.tar"
    make(path)
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (512 << 20), before[1]))
    try:
        with pytest.raises(images.ArchiveError, match=said):
            images.images(str(path))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
