# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Files of variables that are of no group or host, and versions of ansible-core that are not supported."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _supported, _vars_files
from ansible_collections.zerocopy.rdma.tests.docsite.examples import text
from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS, played

GROUPS = {"all": ["h100-01"], "h100": ["h100-01"], "v100": []}
OURS = "rdma_claims_templates: []\n"


def told(inventory: Path, *sources: Path) -> list[str]:
    context: dict[str, Any] = {"groups": GROUPS, "ansible_inventory_sources": list(map(str, sources or [inventory]))}
    return _vars_files.warnings(context)


def write(path: Path, content: str = OURS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def test_a_file_of_no_group_or_host_is_named_with_the_nearest(tmp_path: Path) -> None:
    group = write(tmp_path / "group_vars" / "h100_nodes.yml")
    host = write(tmp_path / "host_vars" / "h100-1" / "rdma.yml").parent
    for right in ("group_vars/h100.yml", "group_vars/v100", "group_vars/all/rdma.yml", "host_vars/h100-01.yml"):
        write(tmp_path / right)
    write(tmp_path / "host_vars" / "localhost.yml")
    write(tmp_path / "group_vars" / "others.yml", "unrelated: true\n")
    write(tmp_path / "group_vars" / "README.md")
    write(tmp_path / "group_vars" / ".h100.yml.swp")
    expected = [
        f"{group} takes no effect: the inventory has no group h100_nodes; the nearest name is h100",
        f"{host} takes no effect: the inventory has no host h100-1; the nearest name is h100-01",
    ]
    assert told(tmp_path) == expected
    assert told(tmp_path, tmp_path / "group_vars" / ".." / "none.yml") == []
    hosts = write(tmp_path / "hosts.yml", "all:\n")
    assert told(tmp_path, hosts, tmp_path) == expected


def test_a_directory_beside_that_of_the_inventory_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    hosts = write(tmp_path / "inv" / "hosts.yml", "all:\n")
    write(tmp_path / "group_vars" / "h100" / "rdma.yml")
    write(tmp_path / "host_vars" / "h100-01.yml", "unrelated: true\n")
    (said,) = told(hosts.parent)
    assert said.startswith(f"{tmp_path / 'group_vars'} takes no effect: Ansible reads it in the directory of the inv")
    assert told(hosts) == [said]
    # There it is read.
    assert told(hosts, write(tmp_path / "more.yml", "all:\n")) == []
    context = {"groups": GROUPS, "ansible_inventory_sources": [str(hosts)], "playbook_dir": str(tmp_path)}
    assert _vars_files.warnings(context) == []


def test_preflight_warns_of_it(tmp_path: Path) -> None:
    write(tmp_path / "group_vars" / "h100_nodes.yml")
    write(tmp_path / "hosts.yml", "all: {children: {h100: {hosts: {h100-01: }}}}\n")
    run = played(tmp_path, "-i", "hosts.yml", str(PLAYBOOKS / "preflight.yml"), COLUMNS="500")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "h100_nodes.yml takes no effect: the inventory has no group h100_nodes" in run.stdout + run.stderr


@pytest.mark.parametrize(
    ("version", "problem", "warning"),
    [("2.17.14", True, False), ("2.18.0", False, False), ("2.21.5", False, False), ("2.22.0rc1", False, True)],
)
def test_which_ansible_core_is_supported(version: str, problem: bool, warning: bool) -> None:
    assert (bool(_supported.problems(version)), bool(_supported.warnings(version))) == (problem, warning)
    for said in (*_supported.problems(version), *_supported.warnings(version)):
        assert version in said
        assert "2.18 to 2.21" in said


def test_the_versions_are_those_of_the_metadata_and_of_the_table() -> None:
    [oldest] = re.findall(r'requires_ansible: ">=([0-9.]+)\.0"', text("meta/runtime.yml"))
    assert oldest == ".".join(map(str, _supported.OLDEST))
    table = text("tests/compatibility.yml").partition("- name: ansible-core")[2].partition("- name: ")[0]
    versions = re.findall(r"version: (2\.\d+)\.\d+$", table, re.MULTILINE)
    assert (versions[-1], versions[0]) == tuple(
        ".".join(map(str, each)) for each in (_supported.OLDEST, _supported.NEWEST)
    )
