# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Reads scenarios.yml: inventories that both trees run, as what they change in the example inventory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

Groups = Mapping[str, Mapping[str, Any]]
HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "same"
PARTS = ("manifests", "nodes", "cluster")


@dataclass(frozen=True)
class Scenario:
    """One inventory.

    ``own``: each tree runs its own inventory instead of BASE's. Of the part cluster alone are ``resources`` (extended
    ones that nodes offer after the first run), ``slices`` (drivers have published their devices), ``crds`` (of which
    operators) and ``changes`` (variables of groups, one change after the other).
    """

    name: str
    parts: tuple[str, ...]
    groups: Groups
    hosts: list[str]
    own: bool = False
    resources: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    slices: bool = False
    crds: tuple[str, ...] = ()
    changes: list[Groups] = field(default_factory=list)

    def with_groups(self, *layers: Groups) -> dict[str, dict[str, Any]]:
        """Variables by group, with those of ``layers`` over the scenario's."""
        found: dict[str, dict[str, Any]] = {}
        for groups in (self.groups, *layers):
            for group, own in groups.items():
                found[group] = {**found.get(group, {}), **own}
        return found

    def key(self, part: str) -> str:
        """Text that differs where anything differs that this part of the comparison depends on."""
        every = vars(self)
        names = every if part == "cluster" else ("groups", "hosts", "own")
        return json.dumps({name: every[name] for name in names}, sort_keys=True)


def read() -> dict[str, Scenario]:
    """All scenarios by name; hosts are those of the file where a scenario names none."""
    content = yaml.safe_load((HERE / "scenarios.yml").read_text())
    found = {}
    for name, entry in content["scenarios"].items():
        cluster = entry.get("cluster", {})
        found[name] = Scenario(
            name=name,
            parts=tuple(entry.get("parts", PARTS)),
            groups=entry.get("groups", {}),
            own=entry.get("own", False),
            hosts=entry.get("hosts", content["hosts"]),
            resources=cluster.get("resources", {}),
            slices=cluster.get("slices", False),
            crds=tuple(cluster.get("crds", ())),
            changes=cluster.get("changes", []),
        )
    return found
