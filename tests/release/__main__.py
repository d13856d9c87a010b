# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What ``make release`` runs: it makes everything of a release in ``build/release``.

The checkout does not change. A clone of its last commit gets the commit and the tag of the release; what is built is
built from this commit, so whoever has the tag can build the same bytes with ``make tarball``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from ansible_collections.zerocopy.rdma.tests.release import commit, sbom, state

CHECKOUT = Path(__file__).resolve().parents[2]
OUTPUT = CHECKOUT / "build/release"
CLONE = OUTPUT / "checkout"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make release")
    for name in ("repository", "version", "documentation", "homepage", "issues"):
        parser.add_argument(f"--{name}", default="")
    return parser.parse_args()


def _step(name: str, *command: str) -> None:
    if subprocess.run([str(CHECKOUT / "tests/step.sh"), name, *command], cwd=CHECKOUT, check=False).returncode:
        sys.exit(1)


def _addresses(asked: argparse.Namespace, version: str) -> dict[str, str]:
    page = "docs/README.md" if (CLONE / "docs/README.md").exists() else "README.md"
    return {
        "repository": asked.repository,
        "documentation": asked.documentation or f"{asked.repository}/blob/{version}/{page}",
        "homepage": asked.homepage or asked.repository,
        "issues": asked.issues or f"{asked.repository}/issues",
    }


def _notes(version: str) -> str:
    """What CHANGELOG.md says of this version. In headings, antsibull-changelog escapes dots."""
    heading = re.escape(version.replace(".", "\\."))
    text = (CLONE / "CHANGELOG.md").read_text("utf-8")
    section = re.search(rf"^## v{heading}\n(.*?)(?=^<a id=\"v[0-9-]+\"></a>\n## |\Z)", text, re.MULTILINE | re.DOTALL)
    if section is None:
        sys.exit(f"CHANGELOG.md has no section of {version}")
    return section[1].strip() + "\n"


def _site() -> None:
    """The documentation, where this version has the target: with the environments of the checkout."""
    if not re.search(r"^site:", (CLONE / "Makefile").read_text("utf-8"), re.MULTILINE):
        print("No site: the Makefile has no such target.")
        return
    (CLONE / "build").mkdir()
    old = []
    for venv in (CHECKOUT / "build").glob("venv*"):
        (CLONE / "build" / venv.name).symlink_to(venv.resolve())
        # Files of the clone are younger than what is installed.
        old += [f"--old-file=build/{venv.name}/{mark}" for mark in ("controller", "dev")]
    _step("site", "make", "-C", str(CLONE), *old, "site")
    built = CLONE / "build/site"
    shutil.copytree(built / "html" if (built / "html").is_dir() else built, OUTPUT / "site")


def main() -> None:
    asked = _arguments()
    found = state.read(CHECKOUT)
    version = asked.version or found.version
    problems = list(state.problems(found, asked.repository, version))
    for name in ("documentation", "homepage", "issues"):
        problems += state.address_problem(name.upper(), getattr(asked, name))
    if problems:
        sys.exit("\n".join(["Nothing is released:", *(f"- {problem}" for problem in problems)]))

    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    seconds = int(state.git(CHECKOUT, "log", "-1", "--format=%ct"))
    subprocess.run(["git", "clone", "--quiet", str(CHECKOUT), str(CLONE)], check=True)
    for key in ("user.name", "user.email"):
        subprocess.run(["git", "config", key, state.git(CHECKOUT, "config", key)], cwd=CLONE, check=True)
    if not state.rebuilt(found, version):
        commit.prepare(CLONE, version, _addresses(asked, version))
        commit.commit(CLONE, version, seconds)

    tarball = OUTPUT / f"zerocopy-rdma-{version}.tar.gz"
    _step("tarball", str(CLONE / "tests/tarball.sh"), "dist")
    shutil.move(CLONE / "dist" / tarball.name, tarball)
    shutil.rmtree(CLONE / "dist")
    shutil.rmtree(CLONE / "build", ignore_errors=True)
    _step("the same bytes again", str(CLONE / "tests/release/twice.sh"), str(tarball), str(OUTPUT / "again/clone"))
    shutil.rmtree(OUTPUT / "again")
    _step("galaxy-importer", str(CHECKOUT / "tests/release/importer.sh"), str(tarball))
    (OUTPUT / "release-notes.md").write_text(_notes(version), "utf-8")
    bill = tarball.with_name(f"zerocopy-rdma-{version}.spdx.json")
    bill.write_text(json.dumps(sbom.document(CLONE, tarball, seconds), indent=1) + "\n", "utf-8")
    _site()
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in (tarball, bill)]
    (OUTPUT / "SHA256SUMS").write_text("".join(sums), "utf-8")
    print(f"{tarball.relative_to(CHECKOUT)}\n{sums[0].split()[0]}")
    print(f"The commit and the tag {version} are in build/release/checkout; CONTRIBUTING.md says how to publish them.")


if __name__ == "__main__":
    main()
