# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Builds the Execution Environment of docs/awx.md, and runs ``facts`` in it on a recorded node: ``make images``.

ansible-builder finds the requirements of the collection by its ``meta/execution-environment.yml``. Neither a registry
nor Galaxy is needed: the base image is made of packages, as for Containerfiles, the collection is the tarball of this
checkout, and kubernetes.core comes from PyPI's package ``ansible``, which brings collections as files.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import containerfiles
import yaml
from containerfiles import CHECKOUT, OF_THE_MACHINE, SCRATCH, buildah
from vmlab import cache
from vmlab.progress import LabError, run, step

import ansible_collections

NAME = "execution-environment"
NODE = "h100-03"
_PAGE = CHECKOUT / "docs/awx.md"
_KUBERNETES = "kubernetes-core"
_COLLECTIONS = "/usr/share/ansible/collections/ansible_collections"
# What the collection's metadata names: Python packages by their modules, and Debian's package by its program.
_MISSING = """
python3 -c 'import cel_expr_python, jmespath, kubernetes, netaddr' || exit 1
command -v ssh
"""


def definition(page: str) -> dict[str, Any]:
    """The definition that the page prints. Raises LabError."""
    found = re.findall(r"^```yaml\n(version: 3\n.*?)^```$", page, re.MULTILINE | re.DOTALL)
    if len(found) != 1:
        raise LabError(f"{_PAGE} has {len(found)} definitions of an Execution Environment, not one")
    whole: dict[str, Any] = yaml.safe_load(found[0])
    return whole


def offline(whole: dict[str, Any], tarball: Path, kubernetes: Path) -> dict[str, Any]:
    """The same with these files in place of what Galaxy would have."""
    galaxy = {"collections": [{"name": f"collections/{tarball.name}", "type": "file"}]}
    steps = {"append_galaxy": [f"COPY _build/{_KUBERNETES} {_COLLECTIONS}/kubernetes/core"]}
    return {
        **whole,
        "dependencies": {**whole["dependencies"], "galaxy": galaxy},
        "additional_build_files": [
            {"src": str(tarball), "dest": "collections"},
            {"src": str(kubernetes), "dest": _KUBERNETES},
        ],
        "additional_build_steps": {**whole["additional_build_steps"], **steps},
    }


def build() -> None:
    """Build the image from the tarball of ``make tarball``."""
    (tarball,) = (CHECKOUT / "build/tarball").glob("zerocopy-rdma-*.tar.gz")
    kubernetes = next(Path(path) for path in ansible_collections.__path__) / "kubernetes/core"
    written, context = SCRATCH / "execution-environment.yml", SCRATCH / "context"
    whole = definition(_PAGE.read_text("utf-8"))
    written.write_text(yaml.safe_dump(offline(whole, tarball, kubernetes)), "utf-8")
    containerfiles.pull(whole["images"]["base_image"]["name"])
    with step(f"{NAME}: ansible-builder"):
        builder = ["ansible-builder", "create", "--file", str(written), "--context", str(context)]
        run([*builder, "--output-filename", "Containerfile"])
    with step(f"{NAME}: build"):
        volumes = [f"--volume={path}:{path}:ro" for path in OF_THE_MACHINE if os.path.exists(path)]
        # No dependency is looked up on Galaxy.
        options = "--build-arg=ANSIBLE_GALAXY_CLI_COLLECTION_OPTS=--offline --no-deps"
        buildah("build", "--pull=never", f"--tag={NAME}", options, *volumes, str(context), log=f"image-{NAME}.log")


def project(directory: Path) -> None:
    """What AWX gives a job: inventory, extra variables, and a place for artifacts that any user may write to."""
    nodes = directory / "nodes"
    expand = [sys.executable, str(CHECKOUT / "tests/fleet/expand.py"), "--output", str(nodes), "--node", NODE]
    subprocess.run(expand, check=True, stdout=subprocess.DEVNULL)
    (directory / "inventory").mkdir()
    (directory / "inventory/hosts").write_text(f"[h100]\n{NODE}\n")
    (directory / "env").mkdir()
    extra = {"rdma_discover_root": f"/runner/nodes/{NODE}", "ansible_connection": "local"}
    (directory / "env/extravars").write_text(json.dumps(extra))
    for path in (directory, directory / "env", directory / "inventory"):
        path.chmod(0o777)


def attempt() -> None:
    """Run facts in it by ansible-runner, as the image's own user."""
    private = SCRATCH / "runner"
    private.mkdir()
    project(private)
    with step(f"{NAME}: facts"):
        buildah("from", "--pull=never", f"--name={NAME}", f"localhost/{NAME}")
        inside = ["run", f"--volume={private}:/runner", NAME, "--", "/opt/builder/bin/entrypoint", "dumb-init"]
        buildah(*inside, "/bin/sh", "-c", _MISSING)
        job = ["ansible-runner", "run", "/runner", "--ident", "facts", "--playbook", "zerocopy.rdma.facts"]
        said = buildah(*inside, *job, log=f"image-{NAME}-facts.log")
    (stats,) = (
        event["event_data"]["artifact_data"]
        for event in map(json.loads, map(Path.read_text, (private / "artifacts/facts/job_events").glob("*.json")))
        if event["event"] == "playbook_on_stats"
    )
    table = "\n".join(stats["zerocopy_rdma"]["facts"]["summary"])
    if not re.search(rf"^{NODE} +h100 +mlx5_0 +1 +InfiniBand +ACTIVE", table, re.MULTILINE):
        raise LabError(f"{said}\nfacts in the Execution Environment have no table of {NODE} among the artifacts")


def main() -> int:
    """Try it; a failure is one message, not a traceback."""
    try:
        containerfiles.check()
        if not shutil.which("ansible-builder"):
            raise LabError("not installed: ansible-builder (run `make images`)")
        with cache.locked(containerfiles.WORK), containerfiles.private():
            build()
            attempt()
    except LabError as error:
        print(f"execution_environment.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
