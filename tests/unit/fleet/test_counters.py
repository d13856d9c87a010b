# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Resources that only count pods, on nodes where something else has written the annotation that lists them."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.counters import ANNOTATION
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import counters


def node(name: str, **annotations: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "annotations": annotations}}


@pytest.mark.parametrize("written", ["", "100", "[]", '{"rdma.io/hca": "100"}'])
def test_a_node_that_cannot_be_read_keeps_no_other_from_being_changed(written: str) -> None:
    right = [node("n1"), node("n3", **{ANNOTATION: '{"rdma.io/hca": 100}'})]
    found, broken = counters.readable([right[0], node("n2", **{ANNOTATION: written}), right[1]])
    assert found == right
    assert list(broken) == ["n2"]
    assert broken["n2"].endswith("(kubectl annotate node n2 zerocopy.rdma/counters-)")
