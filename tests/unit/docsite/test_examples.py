# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Examples of README, CONTRIBUTING and docs: each can be read by what it is for, and names what exists.

That examples of variables are accepted is tested in ``_plan/preflight/test_documented_examples.py``.
"""

from __future__ import annotations

import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.cli.playbook import PlaybookCLI
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.splitter import parse_kv
from ansible.vars.manager import VariableManager

from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import daemon, families, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._preflight import problems
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._tags import TAGS
from ansible_collections.zerocopy.rdma.tests.docsite import examples
from ansible_collections.zerocopy.rdma.tests.docsite.examples import CHECKOUT, Block
from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import played

YAML = [(block, list(yaml.safe_load_all(block.text))) for block in examples.blocks("yaml")]
SCRIPTS = list(examples.blocks("shell", "sh", "console"))
PLAYBOOKS = {path.stem for path in CHECKOUT.glob("playbooks/*.yml")}
# Modules of the kernel, and a resource of the example inventory's group v100.
OTHERS = {"rdma_cm", "rdma_ucm", "rdma_v100"}


def _metrics() -> set[str]:
    """The exporter's metrics, from the tables and the lines that make them."""
    tables = [*(suffix for suffix, _text in families.COUNTERS.values()), *families.GAUGES]
    found = {families.own(suffix) for suffix in tables} | {families.hardware(file) or "" for file in families.HARDWARE}
    found |= {f"{families.OWN}{suffix}" for suffix, _text in text.STATS.values()}
    found |= {f"{families.OWN}{name}" for name in text.SUBNET} | {name for name, _text in text.SENSORS.values()}
    found |= {f"rdma_device_pcie_{suffix}" for suffix, _text in text.PCIE.values()}
    sources = [Path(str(file.__file__)).read_text("utf-8") for file in (daemon, text)]
    found |= {f"rdma_exporter_{name}" for name in re.findall(r"\{prefix\}(\w+)", sources[0])}
    return found | set(re.findall(r'"(rdma_(?:port|device|node)_\w+)"', sources[1])) | {f"{families.OWN}hw_"}


def _inventories() -> list[Block]:
    return [block for block, (one, *_others) in YAML if isinstance(one, dict) and isinstance(one.get("all"), dict)]


def _plays() -> list[Block]:
    keys = {"hosts", "ansible.builtin.import_playbook"}
    return [
        block for block, documents in YAML if any(isinstance(one, list) and keys & set(one[0]) for one in documents)
    ]


def _ansible_commands() -> list[Any]:
    """Calls of ansible-playbook, without what a shell does."""
    found = [
        (block, shlex.split(command, comments=True))
        for block in SCRIPTS
        for command in block.commands
        if command.startswith("ansible-playbook ")
    ]
    return [pytest.param(words[1:], id=f"{block}-{' '.join(words[1:])}") for block, words in found]


@pytest.mark.parametrize("block", SCRIPTS, ids=str)
def test_a_shell_reads_it(block: Block) -> None:
    done = subprocess.run(["bash", "-n"], input=block.script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert block.script.strip()


def _extra(option: str) -> dict[str, Any]:
    """The variables of ``-e``."""
    if option.startswith("@"):
        # A file that the page shows.
        (content,) = (block.text for block, _documents in YAML if block.text.startswith(f"# {Path(option).name}\n"))
        return dict(yaml.safe_load(content))
    return dict(yaml.safe_load(option)) if option.startswith("{") else dict(parse_kv(option))


@pytest.mark.parametrize("words", _ansible_commands())
def test_a_command_is_accepted(words: list[str]) -> None:
    # Not its method parse, which keeps the arguments of the first command of a process.
    command = PlaybookCLI(["ansible-playbook", *words])
    command.init_parser()
    found = command.post_process_args(command.parser.parse_args(words))
    (playbook,) = (argument.removeprefix("zerocopy.rdma.") for argument in found.args)
    assert playbook in PLAYBOOKS
    assert set(found.tags) - {"all"} <= set(TAGS.get(playbook, ()))
    extra = {name: value for option in found.extra_vars for name, value in _extra(option).items()}
    hostvars = {name: {"inventory_hostname": name, "group_names": ["h100"], **extra} for name in ("h100-01", "h100-02")}
    assert problems({}, list(hostvars), hostvars) == []


def test_the_page_of_playbooks_has_each_and_its_tags() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\|(.*)\|$", examples.text("docs/playbooks.md"), re.MULTILINE)
    named = {playbook: set(re.findall(r"`(\w+)`", tags)) for playbook, tags in rows if playbook in PLAYBOOKS}
    assert set(named) == set(TAGS)
    assert all(tags <= set(TAGS[playbook]) for playbook, tags in named.items())


@pytest.mark.parametrize("page", ["README.md", "docs/air-gapped.md"])
def test_without_galaxy_the_tarball_alone_is_installed(page: str, tmp_path: Path) -> None:
    (command,) = (
        line
        for block in SCRIPTS
        if block.page == page
        for line in block.commands
        if re.search(r"zerocopy-rdma-[\d.*]+tar", line) and line.startswith("ansible-galaxy collection install")
    )
    source = tmp_path / "source"
    source.mkdir()
    (source / "README.md").write_text("x\n")
    galaxy = {"namespace": "zerocopy", "name": "rdma", "version": "1.0.0", "readme": "README.md", "authors": ["x"]}
    (source / "galaxy.yml").write_text(yaml.safe_dump({**galaxy, "dependencies": {"kubernetes.core": ">=5.0.0"}}))
    reached = _shell(f"ansible-galaxy collection build source && {command}", tmp_path)
    assert reached.returncode == 0, reached.stdout + reached.stderr
    assert [path.name for path in (tmp_path / ".ansible/collections/ansible_collections").glob("*/*")] == ["rdma"]


@pytest.mark.skipif(shutil.which("unzip") is None, reason="needs unzip")
def test_kubernetes_core_comes_from_the_package_ansible(tmp_path: Path) -> None:
    (block,) = (block for block in SCRIPTS if block.page == "docs/air-gapped.md" and "unzip" in block.script)
    download, *unpack = block.commands
    # The wheel has what pip installs, which the environment of the tests has from it.
    installed = Path(str(distribution("ansible").locate_file("ansible_collections/kubernetes/core/MANIFEST.json")))
    (tmp_path / "bundle").mkdir()
    with zipfile.ZipFile(tmp_path / "bundle/ansible-12.3.0-py3-none-any.whl", "w") as wheel:
        for place in ("kubernetes/core", "ansible/posix"):
            wheel.write(installed, f"ansible_collections/{place}/MANIFEST.json")
    words = shlex.split(download)
    assert (words[:2], words[-2:]) == (["pip", "download"], ["--dest", "bundle"])
    done = _shell(" && ".join(unpack), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    found = (tmp_path / ".ansible/collections/ansible_collections").glob("*/*")
    assert [f"{path.parent.name}.{path.name}" for path in found] == ["kubernetes.core"]


def _shell(script: str, home: Path) -> subprocess.CompletedProcess[str]:
    """A script in the directory of a user who has nothing yet."""
    environment = {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LC_ALL": "C.UTF-8",
        # Nothing listens there.
        "ANSIBLE_GALAXY_SERVER": "http://127.0.0.1:9",
    }
    return subprocess.run(
        ["bash", "-c", script], cwd=home, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("block", list(examples.blocks("ini")), ids=str)
def test_ini_can_be_read(block: Block) -> None:
    parser = configparser.ConfigParser(strict=False, interpolation=None, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    lines = [line for line in block.text.splitlines() if line and not line.startswith("#")]
    parser.read_string(block.text if lines[0].startswith("[") else f"[of the block above]\n{block.text}")
    assert any(parser[section] for section in parser.sections())


def test_the_settings_of_ansible_are_those_of_the_checkout() -> None:
    ours, documented = configparser.ConfigParser(), configparser.ConfigParser()
    ours.read(CHECKOUT / "ansible.cfg")
    (block,) = (block for block in examples.blocks("ini") if block.page == "README.md")
    documented.read_string(block.text)
    assert documented.sections() == ["defaults", "connection"]
    for section in documented.sections():
        assert documented[section].items() <= ours[section].items()


@pytest.mark.parametrize("block", _inventories(), ids=str)
def test_an_inventory_is_accepted(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "hosts.yml"
    path.write_text(block.text)
    loader = DataLoader()
    inventory = InventoryManager(loader=loader, sources=[str(path)])
    manager = VariableManager(loader=loader, inventory=inventory)
    hostvars = {host.name: manager.get_vars(host=host) for host in inventory.get_hosts()}
    assert len(hostvars) > 1
    assert problems({}, list(hostvars), hostvars) == []


@pytest.mark.parametrize("block", _plays(), ids=str)
def test_ansible_reads_the_play(block: Block, tmp_path: Path) -> None:
    (tmp_path / "play.yml").write_text(block.text)
    collections = str(Path(examples.CHECKOUT, "build/collections"))
    done = played(tmp_path, "--syntax-check", "-i", "h100,", "play.yml", ANSIBLE_COLLECTIONS_PATH=collections)
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_examples_of_each_kind() -> None:
    assert _inventories()
    assert _plays()
    assert len(_ansible_commands()) > 40


@pytest.mark.parametrize("page", examples.PAGES)
def test_every_variable_that_a_page_names_exists(page: str) -> None:
    named = set(re.findall(r"\brdma_[a-z0-9_]+\*?", examples.text(page)))
    parts = {path.stem for path in CHECKOUT.glob("plugins/*/*.py")} | {path.name for path in CHECKOUT.glob("roles/*")}
    known = set(variables.options_of()) | parts | OTHERS | _metrics()
    families = {name for name in named if name.endswith("_*") and any(one.startswith(name[:-1]) for one in known)}
    assert named - known - families == set()
