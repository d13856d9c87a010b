# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The bill of materials has every image, chart and package that the collection names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.zerocopy.rdma.tests.release import sbom

CHECKOUT = Path(__file__).resolve().parents[3]
DEFAULTS = {
    name: value
    for path in CHECKOUT.glob("roles/*/defaults/main.yml")
    for name, value in (yaml.safe_load(path.read_text("utf-8")) or {}).items()
}


@pytest.fixture
def document(tmp_path: Path) -> dict[str, Any]:
    """Of a release of this checkout."""
    for name in ("roles", "meta"):
        (tmp_path / name).symlink_to(CHECKOUT / name)
    galaxy = (CHECKOUT / "galaxy.yml").read_text("utf-8")
    (tmp_path / "galaxy.yml").write_text(galaxy + "repository: https://example.org/x\n")
    (tmp_path / "x.tar.gz").write_bytes(b"tarball")
    return sbom.document(tmp_path, tmp_path / "x.tar.gz", 1_700_000_000)


def test_every_digest_is_with_its_image_and_version(document):
    digests = {name: value for name, value in DEFAULTS.items() if name.endswith("_digest") and value}
    packages = [package for package in document["packages"][1:] if "checksums" in package]
    assert sorted(f"sha256:{package['checksums'][0]['checksumValue']}" for package in packages) == sorted(
        digests.values()
    )
    dranet = next(package for package in packages if package["name"] == DEFAULTS["rdma_driver_image"])
    assert dranet["versionInfo"] == f"v{DEFAULTS['rdma_driver_dranet_version']}"
    assert f"sha256:{dranet['checksums'][0]['checksumValue']}" == DEFAULTS["rdma_driver_digest"]
    (reference,) = dranet["externalRefs"]
    assert reference["referenceLocator"] == (
        f"pkg:oci/dranet@{DEFAULTS['rdma_driver_digest'].replace(':', '%3A')}"
        f"?repository_url={DEFAULTS['rdma_driver_image']}&tag={dranet['versionInfo']}"
    )


def test_every_image_and_chart_is_listed(document):
    images = {str(value).partition(":")[0] for name, value in DEFAULTS.items() if name.endswith("_image") and value}
    charts = {value[len("oci://") :] for name, value in DEFAULTS.items() if name.endswith("_chart") and "://" in value}
    assert len(images) > 5
    assert len(charts) > 1
    assert images | charts <= {package["name"] for package in document["packages"]}


def test_what_is_needed_is_told_from_what_is_optional(document):
    names = {package["SPDXID"]: package["name"] for package in document["packages"]}
    needed = {
        names[relation["relatedSpdxElement"]]
        for relation in document["relationships"]
        if relation["relationshipType"] == "DEPENDS_ON"
    }
    python = (CHECKOUT / "meta/ee-requirements.txt").read_text("utf-8").split()
    assert needed == {*python, "kubernetes.core"}
    assert len(document["relationships"]) == len(document["packages"]) == len(names)
