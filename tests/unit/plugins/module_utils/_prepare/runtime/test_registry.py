# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The places that cannot read the registry of runtimes have the same names."""

from __future__ import annotations

from pathlib import Path

import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import system
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import exporter
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.registry import CHOICES, NONE, RUNTIMES
from ansible_collections.zerocopy.rdma.plugins.modules import container_image

ROLE = Path(__file__).resolve().parents[6] / "roles/rdma_runtime/meta/argument_specs.yml"


def test_the_documentation_has_every_runtime() -> None:
    assert yaml.safe_load(container_image.DOCUMENTATION)["options"]["runtime"]["choices"] == [*CHOICES, NONE]
    entries = yaml.safe_load(ROLE.read_text(encoding="utf-8"))["argument_specs"]
    options = {name: entry["options"] for name, entry in entries.items()}
    # Daemons are installed without asking the runtime which it is.
    assert {name for name in options if "rdma_runtime_flavour" not in options[name]} == {"daemons", "daemons_absent"}
    assert exporter.SPEC["runtime"]["choices"] == [*CHOICES, NONE]
    for name in ("main", "absent", "images"):
        assert options[name]["rdma_runtime_flavour"]["choices"] == [*CHOICES, NONE]


def test_facts_know_every_unit() -> None:
    units = [unit for runtime in RUNTIMES.values() for unit in runtime.units]
    assert sorted(units) == sorted(f"{name}.service" for name in system._RUNTIME_UNITS)
