#!/usr/bin/env bash
# tarball.sh DIRECTORY: builds the collection from a copy of this checkout, in which each role gets the README that
# galaxy-importer demands, made from its argument_specs.yml. Of the same commit it makes the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
output=$PWD/$1
copy=$PWD/build/tarball/copy

# Its example is a play that gathers facts and imports the role, and it has all variables.
# shellcheck disable=SC2016  # these backticks are Markdown
checked='
import pathlib, sys, yaml
role = pathlib.Path(sys.argv[1])
readme = (role / "README.md").read_text("utf-8")
(play,) = yaml.safe_load(readme.partition("```yaml\n")[2].partition("```")[0])
tasks = [task["ansible.builtin.import_role"]["name"] for task in play.get("tasks", [])]
entries = yaml.safe_load((role / "meta/argument_specs.yml").read_text("utf-8"))["argument_specs"].values()
missing = [name for entry in entries for name in entry.get("options", {}) if f"| {name} |" not in readme]
wanted = list(dict.fromkeys(["zerocopy.rdma.rdma_discover", f"zerocopy.rdma.{role.name}"]))
if role.name == "rdma_ofed":
    tasks, wanted = [play["ansible.builtin.import_playbook"]], ["zerocopy.rdma.ofed"]
sys.exit(f"{role}/README.md: {play}, without {missing}" if missing or tasks != wanted else 0)
'

rm -rf "$copy" "$output"/*.tar.gz
mkdir -p "$copy" "$output"
git ls-files -coz --exclude-standard | tar -c --null --ignore-failed-read -T - | tar -x -C "$copy"
# The settings of aar-doc are read from the working directory.
cd "$copy"
for role in roles/*; do
    aar-doc "$role" markdown >/dev/null
    python -c "$checked" "$role"
done
python tests/release/addresses.py .
ansible-galaxy collection build --output-path "$output"
# A tree without history has no time of its own.
python tests/release/repack.py "$output"/*.tar.gz "${SOURCE_DATE_EPOCH:-$(git -C "$OLDPWD" log -1 --format=%ct || echo 0)}"
python tests/release/content.py "$output"/*.tar.gz
python tests/links.py "$output"/*.tar.gz
