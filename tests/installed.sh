#!/usr/bin/env bash
# installed.sh TARBALL VENV...: the README's steps from the installed collection in an empty directory, without a
# configuration file, with the ansible-core of each virtual environment; all of them have to make the same files.
set -euo pipefail
tarball=$(realpath "$1")
checkout=$PWD
base=$checkout/build/installed
shift
unset ANSIBLE_CONFIG

walk() {
    local venv=$checkout/$1 here=$base/${1##*/}
    local collection=$here/collections/ansible_collections/zerocopy/rdma
    export ANSIBLE_COLLECTIONS_PATH=$here/collections ANSIBLE_LOCAL_TEMP=$here/tmp

    files() { (cd "$collection" && find . -type f ! -name '*.pyc' -exec sha256sum {} + | sort); }
    play() {
        "$venv/bin/ansible-playbook" -i "$checkout/inventory" -i "$checkout/tests/fleet/inventory.yml" \
            -i "$checkout/tests/fleet/demo.yml" --forks 50 -e "rdma_discover_root=$here/nodes/{{ inventory_hostname }}" "$@"
    }

    # What the README prints first, with the files that it has its reader write, and without the packages that it has not
    # installed yet. Its nodes are recorded ones.
    readme() {
        mkdir ../readme ../absent
        for package in cel_expr_python jmespath kubernetes netaddr; do
            echo 'raise ImportError("not installed before facts")' >"../absent/$package.py"
        done
        "$venv/bin/python" "$checkout/tests/docsite/printed.py" files ../readme
        (cd ../readme && PYTHONPATH=$here/absent "$venv/bin/ansible-playbook" -i hosts.yml zerocopy.rdma.facts \
            -e ansible_connection=local -e 'ansible_python_interpreter={{ ansible_playbook_python }}' \
            -e "rdma_discover_root=$here/nodes/{{ inventory_hostname }}") | tee ../readme.log
        "$venv/bin/python" "$checkout/tests/docsite/printed.py" output README.md ../readme.log
    }

    # refused TEXT ARGUMENTS...: a run that fails with the text, before it has read or changed any node.
    refused() {
        local text=$1
        shift
        if play "$@" >../refused.log 2>&1 || ! tr '\n' ' ' <../refused.log | grep -qE "$text" ||
            grep -q 'Gather RDMA facts' ../refused.log; then
            cat ../refused.log
            echo "not refused with \"$text\" at once: $*"
            exit 1
        fi
    }

    "$venv/bin/ansible-playbook" --version
    rm -rf "$here"
    "$venv/bin/ansible-galaxy" collection install --offline --no-deps "$tarball"
    "$venv/bin/python" tests/fleet/expand.py --output "$here/nodes"
    mkdir "$here/user"
    files >"$here/before"
    cd "$here/user"

    refused 'rdma_hosts' zerocopy.rdma.facts -e rdma_hosts=h10
    refused 'No task of prepare has the tag link' zerocopy.rdma.prepare --tags link
    # Without kubernetes.core it is that which is missing, with it the file.
    refused '(kubernetes.core is missing|no-such-file.*rdma_kubeconfig).*rdma_cluster=none' \
        zerocopy.rdma.site -e rdma_cluster=kubernetes -e rdma_kubeconfig=no-such-file

    readme
    play zerocopy.rdma.facts -e rdma_discover_csv=fleet.csv -e rdma_discover_json=fleet.json \
        -e rdma_discover_html=fleet.html -e rdma_discover_facts_dir=facts
    # As `make demo` does.
    ANSIBLE_CALLBACK_PLUGINS=$checkout/tests/callbacks ANSIBLE_STDOUT_CALLBACK=shown ANSIBLE_DISPLAY_OK_HOSTS=false \
        play zerocopy.rdma.site -e rdma_manifests=manifests | tee ../site.log
    "$venv/bin/python" "$checkout/tests/docsite/printed.py" output docs/demo.md ../site.log
    for turn in first second; do
        # Addresses are never live on a recorded node, which has to be found, and reported.
        if play zerocopy.rdma.verify --limit a100 >"../verify-$turn.log"; then
            echo 'verify found nothing to criticise on a node without live addresses'
            exit 1
        fi
        if ! "$venv/bin/python" -c "$reported" verify/verify.json "$turn"; then
            cat "../verify-$turn.log"
            exit 1
        fi
    done
    # What the roles' READMEs print, of those that need no cluster, on nodes that are not those of the other plays.
    "$venv/bin/python" "$checkout/tests/fleet/expand.py" --output "$here/nodes-of-roles"
    for role in links kernel runtime drift workloads; do
        # shellcheck disable=SC2016  # these backticks are Markdown
        sed -n '/^```yaml$/,/^```$/{/^```/d;p}' "$collection/roles/rdma_$role/README.md" >"../$role.yml"
        play "../$role.yml" --limit a100 -e "rdma_discover_root=$here/nodes-of-roles/{{ inventory_hostname }}"
    done
    files | diff "$here/before" - || { echo 'files were written into the installed collection'; exit 1; }
    cd "$checkout"
}

# The report was written in this turn, on the nodes asked for, and it was a finding that made verify fail.
reported='
import json, pathlib, sys
path, turn = pathlib.Path(sys.argv[1]), sys.argv[2]
document = json.loads(path.read_text())
missing = [name for name in ("verify.html", "verify.xml") if not path.with_name(name).is_file()]
path.rename(path.with_name(f"{turn}.json"))
sys.exit(f"{turn} report: {missing} {document}" if missing or "host.address" not in json.dumps(document) else 0)
'

for venv in "$@"; do
    walk "$venv"
    # Times are in the reports of verify only.
    for part in nodes user/manifests user/fleet.csv user/fleet.json user/facts; do
        diff --recursive --no-dereference "$base/${1##*/}/$part" "$base/${venv##*/}/$part"
    done
done
