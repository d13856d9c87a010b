# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The recipe of the benchmark's image, as the lab reads it to make the image without a registry."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(CHECKOUT / "tests/lab"))

from cluster import benchmark_image  # the lab is a tool, not a package
from vmlab import recipe, topology
from vmlab.progress import LabError

TEXT = benchmark_image.CONTAINERFILE.read_text("utf-8")


def test_the_lab_follows_it() -> None:
    found = benchmark_image.recipe(TEXT)
    assert found.suite in {recipe.release(node.suite) for node in topology.NODES}
    assert sorted(found.packages) == ["ibverbs-providers", "libibverbs1", "python3"]
    assert [wheel.partition("==")[0] for wheel in found.wheels] == ["nixl", "nixl-cu12", "numpy"]
    assert [path for path in found.removed if path.endswith("/nixl_ep_cu12")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("debian:trixie-slim", "python:3.12-slim-trixie", id="base"),
        pytest.param(r"numpy==\S+", "numpy", id="version"),
        pytest.param("ENTRYPOINT", "COPY a b\nENTRYPOINT", id="instruction"),
    ],
)
def test_what_the_lab_cannot_follow(old: str, new: str) -> None:
    with pytest.raises(LabError, match="is of another form than"):
        benchmark_image.recipe(re.sub(old, new, TEXT))


def test_nothing_runs_before_the_program() -> None:
    assert "ENTRYPOINT []" in TEXT.splitlines()
