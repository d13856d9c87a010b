# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What each version of the DRA drivers can, and versions that nobody knows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import versions
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategy_plan

CHECKOUT = Path(__file__).resolve().parents[5]
DOCUMENT = (CHECKOUT / "docs/dra-drivers.md").read_text("utf-8")
EVERY = [*versions.OF_DRANET, *versions.OF_GPU]


def abilities(value: str) -> list[versions.Ability]:
    version = versions.dranet(value)
    return [ability for ability in versions.OF_DRANET if versions.can(version, ability)]


def test_what_is_in_no_release_is_in_none_of_them() -> None:
    none = [ability for ability in versions.OF_DRANET if ability.since is None]
    assert versions.ATTACH_HOOK in none
    for value in ("1.4.0", "1.5.0", "99.0.0"):
        assert not [ability for ability in none if ability in abilities(value)]


def test_the_version_that_was_tested() -> None:
    for value in ("1.4.0", "v1.4.0", "1.4.7", "v1.4.0-35-gf258477"):
        assert abilities(value) == [versions.RESTARTS, versions.PROVIDER_WEBHOOK]
        assert versions.is_whole(versions.dranet(value))
        assert versions.doubt(versions.dranet(value)) == ""


def test_an_unknown_newer_version_can_what_the_last_known_one_can() -> None:
    known = abilities("1.5.0")
    assert {versions.ARP, versions.NIC_NUMA, versions.CUT_NAMES, versions.ROUTE_SOURCES} <= {*known}
    for value in ("1.5.3", "1.6.0", "v1.10.0-rc.1", "2.0.0"):
        assert abilities(value) == known
        assert versions.more_arguments(versions.dranet(value)) is None
    assert versions.doubt(versions.dranet("1.5.3")) == (
        "rdma_driver_dranet_version is 1.5.3, which was not tested with this collection: what it can is known from its "
        "source only"
    )
    assert versions.doubt(versions.dranet("1.6.0")) == (
        "rdma_driver_dranet_version is 1.6.0, which was not tested with this collection and is not known here: it is "
        "treated like 1.5.0"
    )


@pytest.mark.parametrize("value", ["1.3.9", "v1.3.0-29-g1b7c7e5", "0.9.0", "1.0.1"])
def test_old_versions(value: str) -> None:
    with pytest.raises(PlanError, match=re.escape(f"rdma_driver_dranet_version is '{value}', it must be 1.4.0 or n")):
        versions.dranet(value)


@pytest.mark.parametrize(
    "value",
    [
        "sha256:" + "0" * 64,
        "v1.4.0@sha256:" + "0" * 64,
        "registry.k8s.io/networking/dranet:v1.4.0",
        "stable",
        "latest",
        "main",
        "",
        "1.4",
        "1.4.0.1",
        "1.4.0\n",
        " 1.4.0",
        "v v1.4.0",
        "1.4.x",
        "1.4.0-",
        "1.4.99999",
        "\u0661.\u0664.\u0660",
        1.4,
        None,
        True,
        ["1.4.0"],
    ],
)
def test_what_is_no_version(value: Any) -> None:
    for parse in (versions.dranet, versions.gpu):
        with pytest.raises(PlanError, match=r"it must be a version like 1\.4\.0"):
            parse(value)


def test_versions_of_the_gpu_driver() -> None:
    def can(value: str) -> list[versions.Ability]:
        return [ability for ability in versions.OF_GPU if versions.can(versions.gpu(value), ability)]

    assert can("25.3.0") == can("25.8.1") == []
    assert can("25.12.0") == can("0.4.1") == [versions.GPU_BUS_ID]
    assert can("0.5.0") == can("1.0.0") == [versions.GPU_NUMA, versions.GPU_BUS_ID]
    for old in ("0.3.0", "24.12.0", "25.2.9"):
        with pytest.raises(PlanError, match=r"it must be 25\.3\.0 or newer"):
            versions.gpu(old)


def plan(*values: str | None) -> dict[str, Any]:
    hosts = {}
    for place, value in enumerate(values):
        own = {} if value is None else {"rdma_driver_dranet_version": value, "rdma_driver_digest": ""}
        group = {"group_names": [f"g{place}"], "rdma_group": f"g{place}"}
        hosts[f"n{place}"] = {"inventory_hostname": f"n{place}", **group, **own}
    return strategy_plan({}, list(hosts), hosts)


def test_the_plan_has_one_warning_for_each_version_that_was_not_tested() -> None:
    def told(*values: str | None) -> list[str]:
        found = plan(*values)
        assert found["problems"] == []
        return [text for text in found["warnings"] if "not tested" in text]

    assert told(None, "1.4.0", "v1.4.2") == []
    assert told("1.6.0", None, "1.6.0", "1.6.0") == [f"n[0,2-3]: {versions.doubt((1, 6, 0))}"]
    assert len(told("1.5.0", "1.6.0", "1.5.0")) == 2


def test_an_old_version_is_a_problem_and_no_warning() -> None:
    found = plan("1.6.0", "1.3.0", "sha256:12")
    assert sum("it must be 1.4.0 or newer" in text for text in found["problems"]) >= 1
    assert sum("it must be a version like 1.4.0" in text for text in found["problems"]) >= 1
    assert [text for text in found["warnings"] if text.startswith(("n1", "n2"))] == []


def test_the_defaults_were_tested() -> None:
    defaults = yaml.safe_load((CHECKOUT / "roles/rdma_driver/defaults/main.yml").read_text("utf-8"))
    assert versions.doubt(versions.dranet(defaults[versions.DRANET_VERSION])) == ""
    # The one that the lab builds and deploys.
    module = (CHECKOUT / "tests/lab/gpu_driver/module/go.mod").read_text("utf-8")
    assert f"sigs.k8s.io/dra-driver-nvidia-gpu v{defaults[versions.GPU_VERSION]} " in module


def row(ability: versions.Ability) -> str:
    # A version of NVIDIA's has a number in front that orders them.
    numbers = ability.since[-3:] if ability.since else ()
    return f"| {ability.what} | {versions.text(numbers) or 'none'} | {ability.known} | {ability.source} |"


def test_the_table_in_the_documentation() -> None:
    assert [line for line in DOCUMENT.splitlines() if line.startswith("| ") and "| from |" not in line] == [
        row(ability) for ability in EVERY
    ]


def test_only_this_file_compares_versions() -> None:
    """Elsewhere, an ability is asked for by its name."""
    package = CHECKOUT / "plugins/module_utils/_strategies/dra"
    comparison = re.compile(r"\b(?:dranet|version)(?:\[:2\])?\)?\s*[<>]|[<>]=?\s*\([0-9]+, [0-9]+")
    found = {path.name for path in package.rglob("*.py") if comparison.search(path.read_text("utf-8"))}
    assert found == {"versions.py"}
