# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A node whose files try to steer the terminal of whoever runs the playbooks, and pages made of them."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Callable

import pytest

from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS, played

# Clears the screen, writes backwards, and has no width: a name of a netdev may have anything but blanks, / and :.
NETDEV = "ib\x1b[2J\u202e\u200b"
SHOWN = "ib\\u001b[2J\\u202e\\u200b"


def unseen(text: str) -> set[str]:
    return {ascii(char) for char in text if not char.isprintable() and char not in "\n\t"}


@pytest.fixture
def fleet(root_of: Callable[[str], Path], tmp_path: Path) -> Path:
    root = tmp_path / "node"
    shutil.copytree(root_of("v100-02"), root, symlinks=True)
    for path in (*root.glob("sys/class/net/ibp63s0"), *root.glob("sys/devices/**/net/ibp63s0")):
        path.rename(path.with_name(NETDEV))
    link = root / "sys/class/net" / NETDEV
    if link.is_symlink():
        target = link.readlink().with_name(NETDEV)
        link.unlink()
        link.symlink_to(target)
    # A message names the file. Strings of TOML have the escapes of JSON.
    containerd = root / "etc/containerd"
    containerd.mkdir(parents=True, exist_ok=True)
    imported = f"/etc/containerd/{NETDEV}.toml"
    (containerd / "config.toml").write_text(f"version = 2\nimports = [{json.dumps(imported)}]\n")
    (containerd / f"{NETDEV}.toml").write_text("[plugins\n")
    variables = {"rdma_cluster": "none", "rdma_strategy": "none", "rdma_discover_root": str(root)}
    reach = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"hosts": {"n1": {**variables, **reach}}}}))
    play = [{"import_playbook": str(PLAYBOOKS / f"{name}.yml")} for name in ("facts", "prepare")]
    (tmp_path / "both.yml").write_text(json.dumps(play))
    return tmp_path


def test_what_a_node_says_steers_no_terminal_and_no_page(fleet: Path) -> None:
    options = [f"rdma_discover_{form}={fleet}/fleet.{form}" for form in ("html", "json")]
    given = [word for option in [*options, "rdma_discover_detail=full"] for word in ("-e", option)]
    run = played(fleet, "-i", "hosts.yml", *given, "both.yml")
    page = (fleet / "fleet.html").read_text("utf-8")
    shown, _word, failed = run.stdout.partition("FAILED!")
    assert unseen(run.stdout + run.stderr) == set(), ascii(run.stdout)
    assert (SHOWN in shown, f"{SHOWN}.toml, line " in failed) == (True, True), run.stdout
    assert (SHOWN in page, unseen(page)) == (True, set())
    # As it is, for programs.
    assert json.dumps(NETDEV) in (fleet / "fleet.json").read_text("utf-8")
