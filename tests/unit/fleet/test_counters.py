# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Resources that only count pods, on nodes where something else has written the annotation that lists them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.counters import ANNOTATION
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import counters


def node(name: str, **annotations: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "annotations": annotations}}


def tasks(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((variables.ROLES / "rdma_inject" / "tasks" / name).read_text("utf-8"))
    return found


@pytest.mark.parametrize("written", ["", "100", "[]", '{"rdma.io/hca": "100"}'])
def test_a_node_that_cannot_be_read_keeps_no_other_from_being_changed(written: str) -> None:
    right = [node("n1"), node("n3", **{ANNOTATION: '{"rdma.io/hca": 100}'})]
    found, broken = counters.readable([right[0], node("n2", **{ANNOTATION: written}), right[1]])
    assert found == right
    assert list(broken) == ["n2"]
    assert broken["n2"].endswith("(kubectl annotate node n2 zerocopy.rdma/counters-)")


def test_nothing_of_such_a_node_is_changed() -> None:
    """The labels are changed after the annotations were read, and on the other nodes only."""
    for name, read in (("provision.yml", "rdma_inject_result"), ("absent.yml", "__rdma_inject_counted")):
        (place,) = [number for number, task in enumerate(tasks(name)) if "zerocopy.rdma.node_labels" in task]
        earlier = [task.get("register") for task in [*tasks("unused.yml"), *tasks(name)[:place]]]
        assert read in earlier
        assert any(f"{read}.broken" in value for value in tasks(name)[place]["vars"].values())
