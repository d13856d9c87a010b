# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The table of what works with what agrees with the versions that the code, the lab and the requirements name."""

from __future__ import annotations

import re

import pytest
import yaml

from ansible_collections.zerocopy.rdma.tests import compatibility
from ansible_collections.zerocopy.rdma.tests.compatibility import ANSWERS, CHECKOUT, PAGE, Row, page, subjects

ROWS = [(subject.name, row) for subject in subjects() for row in subject.rows]
PINNED = [(name, row) for name, row in ROWS if row.pin]
# Where versions are pinned that a row has to name.
SOURCES = {
    "Makefile",
    "galaxy.yml",
    "meta/runtime.yml",
    "requirements-newest.txt",
    "requirements-oldest.txt",
    "roles/rdma_host_device/defaults/main.yml",
    "tests/config.yml",
}
# Go modules of the lab that have only tools of its own, or what another program needs.
TOOLS = {"control_plane/etcd", "crictl", "gpu_driver/module/go-nvfm", "nri", "nri_runtime", "plugins/cni"}


def _names(rows: list[tuple[str, Row]]) -> list[str]:
    return [f"{name} {row.version}" for name, row in rows]


def test_the_page_is_made_from_the_table():
    assert PAGE.read_text("utf-8") == page(), "run python3 tests/compatibility.py"


@pytest.mark.parametrize(("name", "row"), PINNED, ids=_names(PINNED))
def test_the_code_states_the_version(name, row):
    stated = row.pin.stated()
    assert stated, f"{row.pin.file} has nothing like {row.pin.text}"
    # The row may say more than the version: which Debian, or up to which.
    for version in stated:
        assert re.search(rf"(?<![\d.]){re.escape(version)}(?!\d|\.\d)", row.version), (row.version, stated)


@pytest.mark.parametrize(("name", "row"), ROWS, ids=_names(ROWS))
def test_each_row_says_where(name, row):
    assert row.answer in ANSWERS
    makefile = (CHECKOUT / "Makefile").read_text("utf-8")
    targets = re.findall(r"`make ([a-z-]+)", row.where)
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
    # Only what a command shows was run.
    assert row.answer != "run" or targets


def test_no_version_is_listed_twice():
    assert len(set(_names(ROWS))) == len(ROWS)


def test_every_place_with_versions_is_compared():
    compared = {row.pin.file for _name, row in PINNED if row.pin}
    assert compared >= SOURCES
    lab = CHECKOUT / "tests/lab"
    modules = {str(path.parent.relative_to(lab)) for path in lab.rglob("go.mod")}
    assert {name for name in modules if f"tests/lab/{name}/go.mod" not in compared} == TOOLS


def test_every_default_version_is_listed():
    defaults = {
        name: str(value)
        for path in CHECKOUT.glob("roles/*/defaults/main.yml")
        for name, value in (yaml.safe_load(path.read_text("utf-8")) or {}).items()
        if name.endswith("_version") and value
    }
    assert len(defaults) > 5
    listed = {word for _name, row in ROWS for word in row.version.split()}
    assert {name: version for name, version in defaults.items() if version not in listed} == {}


def test_the_collection_says_no_to_what_is_older_than_its_oldest_core():
    oldest = compatibility.cores()[0].version
    runtime = (CHECKOUT / "meta/runtime.yml").read_text("utf-8")
    assert f'requires_ansible: ">={oldest.rpartition(".")[0]}.0"' in runtime
