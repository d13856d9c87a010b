# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Templates of k3s and RKE2: what counts is what the next start renders, not today's configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Dict

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.interface import Installation
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.registry import RUNTIMES, detect
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.runtime.runtimes import FIXTURES
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.runtime.test_files import (
    K3S,
    RKE2,
    RUNC_3,
    call,
    make,
    tree,
)
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.runtime.test_plan import PARTS

CASE: Dict[str, str] = {
    f"{RKE2}/{path.name}": path.read_text() for path in (FIXTURES / "cases/rke2-stub-template").iterdir()
}
GOOD = f'version = 3\nroot = "/r"\nstate = "/s"\n{RUNC_3}'
STUB = CASE[f"{RKE2}/config-v3.toml.tmpl"]
LOST = (
    r"config-v3\.toml\.tmpl neither includes the base template, .* nor sets {}, so .* rke2-server\.service makes of it"
)


def refused(root: str, message: str) -> None:
    before = tree(root)
    for check in (True, False):
        with pytest.raises(HostError, match=message):
            call(root, check=check)
        assert tree(root) == before


def test_a_stub_that_another_tool_left_is_refused(tmp_path: Path) -> None:
    refused(make(tmp_path, CASE), LOST.format("root and state"))


@pytest.mark.parametrize(
    ("template", "missing"),
    [
        (STUB, "root and state"),
        ("", "root and state"),
        (f'root = "/r"\n{STUB}', "state"),
        (f"{STUB}root = \"\"\nstate = ''\n", "root and state"),
        (f'{STUB}# root = "/r"\nstate = "/s"\n', "root"),
        (f'{STUB}[proxy_plugins.x]\nroot = "/r"\nstate = "/s"\n', "root and state"),
        (f'{{{{/* {{{{ template "base" . }}}} */}}}}\n{STUB}', "root and state"),
        (f'{{{{ template "own" . }}}}\n{STUB}', "root and state"),
    ],
)
def test_a_template_that_the_next_start_would_render_is_judged(tmp_path: Path, template: str, missing: str) -> None:
    """Although today's configuration is as it should be."""
    refused(
        make(tmp_path, {f"{RKE2}/config.toml": GOOD, f"{RKE2}/config-v3.toml.tmpl": template}), LOST.format(missing)
    )


@pytest.mark.parametrize(
    "template",
    [
        '{{ template "base" . }}\n',
        "{{- template `base` $ -}}\n[debug]\nlevel = 'info'\n",
        'root = {{ printf "%q" .NodeConfig.Containerd.Root }}\nstate = "/s"\nversion = 3\n',
        GOOD,
    ],
)
def test_a_template_with_all_that_a_node_needs_gets_our_lines(tmp_path: Path, template: str) -> None:
    root = make(tmp_path, {f"{RKE2}/config.toml": GOOD, f"{RKE2}/config-v3.toml.tmpl": template})
    before = tree(root)
    call(root)
    assert '"45s"' in (tmp_path / RKE2 / "config-v3.toml.tmpl").read_text()
    assert call(root).changes == []
    call(root, state="absent")
    assert tree(root) == before


def test_a_template_for_the_other_version_is_no_surprise_of_the_next_start(tmp_path: Path) -> None:
    files = {f"{K3S}/config.toml": f"version = 3\n{RUNC_3}", f"{K3S}/config.toml.tmpl": '{{ template "base" . }}\n'}
    refused(make(tmp_path / "a", files), r"has configuration version 3, but .* renders version 2: restart k3s\.service")
    files[f"{K3S}/config.toml.tmpl"] = "version = 2\n"
    refused(make(tmp_path / "b", files), r"config\.toml\.tmpl neither includes the base template")
    # It is not read where there is one for version 3.
    files[f"{K3S}/config-v3.toml.tmpl"] = '{{ template "base" . }}\n'
    assert call(make(tmp_path / "c", files)).changes != []


def test_a_template_without_actions_is_what_is_planned_for(tmp_path: Path) -> None:
    """Its handler is not in today's configuration yet."""
    own = RUNC_3.replace("runc]", "own]")
    root = make(tmp_path, {f"{RKE2}/config.toml": GOOD, f"{RKE2}/config-v3.toml.tmpl": GOOD + own})
    assert call(root).facts["handlers"] == ["own", "runc"]
    assert (tmp_path / RKE2 / "config-v3.toml.tmpl").read_text().count("base_runtime_spec") == 2


def test_root_and_state_on_the_command_line_are_enough(tmp_path: Path) -> None:
    """As those releases have it whose base template has neither."""
    runtime, files = RUNTIMES["rke2"], Files(make(tmp_path, CASE))
    for arguments in (["--state", "/s"], ["--state", "/s", "--root", "/r"]):
        layout = runtime.configured(detect(files, "rke2"), ["containerd", *arguments, ""])
        if "--root" in arguments:
            assert runtime.plan(Installation(files, layout, "", run), PARTS, {}).wanted
        else:
            with pytest.raises(HostError, match="neither includes the base template"):
                runtime.plan(Installation(files, layout, "", run), PARTS, {})


def test_a_template_that_became_a_stub_is_no_reason_to_keep_our_lines(tmp_path: Path) -> None:
    root = make(tmp_path, {f"{RKE2}/config.toml": GOOD, f"{RKE2}/config-v3.toml.tmpl": '{{ template "base" . }}\n'})
    call(root)
    path = tmp_path / RKE2 / "config-v3.toml.tmpl"
    path.write_text(path.read_text().replace('{{ template "base" . }}\n', STUB))
    refused(root, "neither includes the base template")
    call(root, state="absent")
    assert path.read_text() == STUB
    assert not (tmp_path / "var/lib/zerocopy-rdma").exists()
