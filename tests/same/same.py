# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Proves that the working tree does what a commit does: ``python tests/same/same.py --base COMMIT``.

Both run the same inventories (scenarios.yml) with their own playbooks, and everything that comes of it is compared
byte for byte:

manifests
    what provision writes with ``rdma_cluster: none``, and what workloads writes
nodes
    files on the recorded nodes after site and after teardown, with their modes; without the ledger
cluster
    objects on a real API server after provision, after a group has changed its strategy, and after teardown

Only public playbooks are called, so modules, roles and tasks may have any name. Variables that BASE calls differently
are in renamed.yml, differences that are meant in accepted.yml. What BASE does is kept in build/same.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "build" / "collections"), str(HERE.parent / "lab")]

from ansible_collections.zerocopy.rdma.tests.bench.trees import CHECKOUT, Tree, TreeError, checkout, commit_of
from ansible_collections.zerocopy.rdma.tests.same import cluster, fleet
from ansible_collections.zerocopy.rdma.tests.same.compare import Accepted, accepted, compare
from ansible_collections.zerocopy.rdma.tests.same.inventories import Renamed
from ansible_collections.zerocopy.rdma.tests.same.scenarios import BUILD, PARTS, Scenario, read

_RUNS: dict[str, Callable[[Tree, Tree, Scenario, Renamed, Path, Path], Path]] = {
    "manifests": fleet.manifests,
    "nodes": fleet.nodes,
    "cluster": cluster.objects,
}


class Same:
    """Runs scenarios with both trees."""

    def __init__(self, base: Tree, renamed: Renamed, meant: list[Accepted]) -> None:
        self._base, self._now, self._renamed, self._meant = base, Tree(CHECKOUT), renamed, meant
        self._pristine = BUILD / "nodes" / base.commit[:12]

    def compare(self, part: str, scenario: Scenario) -> tuple[int, list[str]]:
        """How many files were compared, and what differs."""
        prefix = f"{part}/{scenario.name}"
        old = self._of_base(part, scenario)
        new = self._run(self._now, part, scenario, BUILD / "new" / prefix)
        return compare(prefix, old, new, self._meant)

    def _of_base(self, part: str, scenario: Scenario) -> Path:
        """Kept as long as neither the scenario nor what runs it changes."""
        kept = BUILD / "base" / self._base.commit[:12] / part / scenario.name
        mark = kept.with_suffix(".key")
        key = self._key(part, scenario)
        if not (mark.exists() and mark.read_text() == key):
            mark.unlink(missing_ok=True)
            self._run(self._base, part, scenario, kept)
            mark.write_text(key)
        return kept

    @staticmethod
    def _key(part: str, scenario: Scenario) -> str:
        sources = [HERE / ("cluster.py" if part == "cluster" else "fleet.py"), HERE / "inventories.py"]
        text = "\n".join([scenario.key(part), *(path.read_text() for path in sources)])
        return hashlib.sha256(text.encode()).hexdigest()

    def _run(self, tree: Tree, part: str, scenario: Scenario, target: Path) -> Path:
        translate = {} if tree is self._base else self._renamed
        source = tree if scenario.own else self._base
        # One for both trees, so that no path differs.
        run = BUILD / "run" / part
        fleet.expand(self._base, self._pristine, scenario.hosts)
        output = _RUNS[part](tree, source, scenario, translate, run, self._pristine)
        shutil.rmtree(target, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        output.rename(target)
        return target


def main() -> int:
    scenarios = read()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default="dccb9b2c", metavar="COMMIT", help="compare with it (%(default)s)")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this part; may be given more than once")
    parser.add_argument("--scenario", action="append", choices=scenarios, help="only this one; also more than once")
    options = parser.parse_args()
    try:
        renamed = yaml.safe_load((HERE / "renamed.yml").read_text()) or {}
        meant = accepted(yaml.safe_load((HERE / "accepted.yml").read_text()) or [])
        base = checkout(commit_of(options.base))
        same = Same(base, renamed, meant)
    except TreeError as error:
        sys.exit(f"same: {error}")
    differences: list[str] = []
    counts = dict.fromkeys(options.part or PARTS, 0)
    for part in counts:
        for name in options.scenario or scenarios:
            if part not in scenarios[name].parts:
                continue
            try:
                number, found = same.compare(part, scenarios[name])
            except TreeError as error:
                number, found = 0, [f"--- {part}/{name}\n{error}"]
            counts[part] += number
            differences += found
            print(f"{part:10} {name:20} {number:5} compared, {len(found)} differ", flush=True)
            for text in found:
                print(text, flush=True)
            if not number and not found:
                differences.append(f"--- {part}/{name}\nnothing was compared")
                print(differences[-1], flush=True)
    if not options.part and not options.scenario:
        for entry in meant:
            for lines in entry.unused():
                differences.append(f"accepted.yml: {entry.path}: {lines or 'no file'} differs any more, remove it")
                print(differences[-1])
    said = ", ".join(f"{count} files of {part}" for part, count in counts.items())
    print(f"same as {options.base}: {said}; {len(differences)} differences")
    return 1 if differences or not all(counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
