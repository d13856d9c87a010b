# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the playbooks write without a cluster: manifests, example workloads, and files on the recorded nodes."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from ansible_collections.zerocopy.rdma.tests.bench.trees import Tree
from ansible_collections.zerocopy.rdma.tests.same.inventories import Renamed, build, sources
from ansible_collections.zerocopy.rdma.tests.same.scenarios import Scenario

# A node's ledger, which says how files come back and is no configuration of the node.
LEDGER = "var/lib/zerocopy-rdma"
_NODES, _MANIFESTS = Path("build/demo/nodes"), Path("build/demo/manifests")


def expand(base: Tree, directory: Path, hosts: Iterable[str]) -> Path:
    """The recorded nodes of BASE, which both trees begin with."""
    chosen = [f"--node={host}" for host in hosts if not (directory / host).exists()]
    if chosen:
        script = [sys.executable, str(base.path / "tests/fleet/expand.py"), "--output", str(directory), *chosen]
        subprocess.run(script, check=True, stdout=subprocess.DEVNULL)
    return directory


def manifests(tree: Tree, source: Tree, scenario: Scenario, renamed: Renamed, run: Path, pristine: Path) -> Path:
    """Run provision and workloads; returns the directory of what they wrote."""
    output = begin(run, pristine, scenario)
    # Facts are those of nodes that nobody prepared.
    written = {"all": {"rdma_workloads_directory": str(output / "workloads")}}
    build(run, source.path, renamed, scenario.with_groups(written), scenario)
    tree.play("provision", sources(run), {})
    _take(run / _MANIFESTS, output / "provision")
    tree.play("workloads", sources(run), {})
    return output


def nodes(tree: Tree, source: Tree, scenario: Scenario, renamed: Renamed, run: Path, pristine: Path) -> Path:
    """Run site and teardown; returns the directory of the manifests and of the files on nodes after each."""
    output = begin(run, pristine, scenario)
    build(run, source.path, renamed, scenario.with_groups(), scenario)
    tree.play("site", sources(run), {})
    _take(run / _MANIFESTS, output / "manifests")
    _snapshot(run / _NODES, pristine, output / "prepared")
    tree.play("teardown", sources(run), {})
    _snapshot(run / _NODES, pristine, output / "reverted")
    return output


def begin(run: Path, pristine: Path, scenario: Scenario) -> Path:
    """Put fresh nodes into the directory of a run; returns that of its results, which is empty."""
    shutil.rmtree(run, ignore_errors=True)
    for host in scenario.hosts:
        # Files are replaced, never written in place, so copies can share them.
        shutil.copytree(pristine / host, run / _NODES / host, symlinks=True, copy_function=os.link)
    output = run / "output"
    output.mkdir()
    return output


def _take(directory: Path, target: Path) -> None:
    if directory.exists():
        shutil.copytree(directory, target)
    else:
        target.mkdir()


def _snapshot(nodes: Path, pristine: Path, target: Path) -> None:
    """What differs from the pristine nodes: copies of files, and for each node a list of paths with their modes."""
    for node in sorted(path.name for path in nodes.iterdir()):
        now, before = dict(_entries(nodes / node)), dict(_entries(pristine / node))
        lines = []
        for path in sorted({*now, *before}):
            kind = now.get(path, "gone")
            source = nodes / node / path
            plain = source.is_file() and not source.is_symlink()
            if kind == before.get(path) and not (plain and _replaced(source, pristine / node / path)):
                continue
            lines.append(f"{kind} {path}\n")
            if plain:
                copy = target / node / path
                copy.parent.mkdir(parents=True, exist_ok=True)
                # Whatever its mode is, it has to be read.
                copy.write_bytes(source.read_bytes())
        if lines:
            target.mkdir(exist_ok=True)
            (target / f"{node}.txt").write_text("".join(lines))


def _replaced(now: Path, before: Path) -> bool:
    return not now.samefile(before) and now.read_bytes() != before.read_bytes()


def _entries(root: Path) -> Iterator[tuple[str, str]]:
    """Each path with its kind and mode, or with the target of a link."""
    for directory, names, files in os.walk(root):
        here = Path(directory)
        for name in (*names, *files):
            path = here / name
            relative = path.relative_to(root).as_posix()
            if relative == LEDGER:
                continue
            mode = path.lstat().st_mode
            what = f"link to {os.readlink(path)}" if stat.S_ISLNK(mode) else stat.filemode(mode)
            yield relative, what
        if here == root / Path(LEDGER).parent and Path(LEDGER).name in names:
            names.remove(Path(LEDGER).name)
