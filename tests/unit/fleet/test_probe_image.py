# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The recipe of the image for pods that try claims, held against what the lab really installs from the same Debian."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]
FILES = CHECKOUT / "roles/rdma_verify/files"
sys.path.insert(0, str(CHECKOUT / "tests/lab"))

from vmlab import recipe, topology  # the lab is a tool, not a package

# The package of each tool that probe.sh runs beside those that every Debian has.
TOOLS = {"ip": "iproute2", "ib_write_bw": "perftest"}
# The same for those that docs/choosing-a-strategy.md names for a test by hand.
BY_HAND = {"ib_write_bw": "perftest", "ibstat": "infiniband-diags", "ibv_devices": "ibverbs-utils"}


def instructions() -> list[list[str]]:
    """Instructions of the Containerfile with their words; comments are left out, continued lines are joined."""
    text = (FILES / "Containerfile").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return [shlex.split(line) for line in "\n".join(lines).replace("\\\n", " ").splitlines() if line.strip()]


def packages() -> set[str]:
    (run,) = [words for words in instructions() if words[0] == "RUN"]
    install = run[run.index("install") :]
    return {word for word in install[1 : install.index("&&")] if not word.startswith("-")}


def test_the_image_is_of_a_debian_that_the_lab_installs() -> None:
    (base,) = [words[1] for words in instructions() if words[0] == "FROM"]
    suite = re.fullmatch(r"docker\.io/library/debian:([a-z]+)-slim", base)
    assert suite
    assert suite[1] in {node.suite for node in topology.NODES}


def test_the_lab_installs_each_of_its_packages() -> None:
    assert packages()
    assert packages() <= set(recipe.PACKAGES)


def test_it_has_the_tools_of_the_script() -> None:
    script = (FILES / "probe.sh").read_text("utf-8")
    assert all(re.search(rf"\b{tool}\b", script) for tool in TOOLS)
    assert set(TOOLS.values()) <= packages()


def test_it_has_the_tools_for_a_test_by_hand() -> None:
    page = (CHECKOUT / "docs/choosing-a-strategy.md").read_text("utf-8")
    named = set(re.findall(r"\b(?:ib_[a-z]+_(?:bw|lat)|ibv_[a-z]+|ibstat)\b", page))
    assert named == set(BY_HAND)
    assert set(BY_HAND.values()) <= packages()


def test_it_has_nothing_for_nodes() -> None:
    """rdma-core is udev rules and services, and brings udev with systemd. The libraries are in other packages."""
    assert "rdma-core" not in packages()


def test_nothing_runs_before_the_script() -> None:
    assert ["ENTRYPOINT", "[]"] in instructions()
    assert not [words for words in instructions() if words[0] in ("USER", "CMD", "COPY", "ADD")]
