# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import re
from typing import List, Tuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml import edit
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml.document import (
    TomlDocument,
    with_keys,
)

NRI = ("plugins", "io.containerd.nri.v1.nri")
LINES = [
    "# a comment",
    "",
    '  [plugins."io.containerd.grpc.v1.cri"]  # CRI',
    "[plugins.'io.containerd.nri.v1.nri']",
    "  disable = true   # not here",
    "[debug]",
    'level="info"',
    "[plugins]",
    "oom_score = 0",
    "# next line \x85, separators \u2028 and \u2029",
    "[plugins.'io.containerd.nri.v1.nri'.default_validator]",
]
IMPORTS = [
    "",
    "imports = []",
    'imports = ["a.toml"]  # these',
    'imports = [\n  "a.toml", # one\n  "b]#.toml"\n]',
    'imports = [ "a.toml",\n # all\n]',
]


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(IMPORTS),
    st.lists(st.sampled_from(LINES), max_size=6, unique=True),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_edits_say_only_that_and_can_be_taken_out(imports: str, lines: List[str], newline: str, ended: bool) -> None:
    text = newline.join(["version = 2", *imports.split("\n"), *lines]) + (newline if ended else "")
    try:
        before = TomlDocument(text, "main").data
    except HostError:
        return
    keys: List[Tuple[Tuple[str, ...], object]] = [
        ((*NRI, "disable"), False),
        ((*NRI, "default_validator", "enable"), True),
        ((*NRI, "plugin_request_timeout"), "30s"),
    ]
    try:
        edited = edit.set_keys(text, "main", keys)
    except HostError:
        assert any("disable" in line for line in lines)
        return
    edited = edit.add_imports(edited, "main", ["/etc/x.toml", "/etc/y.toml"])
    after = TomlDocument(edited, "main").data
    wanted = dict(keys)
    wanted[("imports",)] = [*before.get("imports", []), "/etc/x.toml", "/etc/y.toml"]
    assert with_keys(before, wanted) == after
    assert edit.strip(edited, text) == text
    assert [line for line in edited.split(newline) if "zerocopy" not in line and line not in text] == []


def test_what_cannot_be_changed_by_line_is_refused() -> None:
    for text, said in [
        ("[plugins]\n'io.containerd.nri.v1.nri' = {disable = true}\n", "as a table with a header"),
        (
            "[plugins.'io.containerd.nri.v1.nri']\nplugin_request_timeout = '''\n2s'''\n",
            "line 2: put this key on a single line",
        ),
    ]:
        with pytest.raises(HostError, match=said):
            edit.set_keys(text, "main", [((*NRI, "plugin_request_timeout"), "30s")])


def test_a_template_of_k3s() -> None:
    template = '{{ template "base" . }}\n\n{{- if .X }}\n[debug]\n{{ end }}\n  level = "info"'
    edited = edit.set_keys(template, "x.tmpl", [((*NRI, "disable"), False)])
    assert edited == template + (
        '\n[plugins."io.containerd.nri.v1.nri"]  # zerocopy.rdma, after an open line\n'
        "  disable = false  # zerocopy.rdma\n"
    )
    assert edit.strip(edited, template) == template


OURS = "/etc/x.toml"


@pytest.mark.parametrize(
    ("before", "added", "left"),
    [
        ("", '["/etc/x.toml", "kata.toml"]', 'imports = ["/etc/x.toml", "kata.toml"]\n'),
        ("", '[ "/etc/x.toml" ]', ""),
        ('imports = ["a.toml"]  # these\n', '["a.toml", "/etc/x.toml"]', 'imports = ["a.toml"]  # these\n'),
        (
            'imports = ["a.toml"]  # these\n',
            '["a.toml", "/etc/x.toml", "kata.toml"]',
            'imports = ["a.toml", "/etc/x.toml", "kata.toml"]\n',
        ),
        ('imports = ["a.toml"]\n', '["/etc/x.toml"]', 'imports = ["/etc/x.toml"]\n'),
    ],
)
def test_imports_that_others_have_changed_in_our_line_lose_only_the_mark(before: str, added: str, left: str) -> None:
    original = f"version = 2\n{before}[debug]\n"
    edited = edit.add_imports(original, "main", [OURS])
    changed = re.sub(r"(?m)^imports = .*?\](?=  # zero)", f"imports = {added}", edited)
    assert edit.strip(changed, original, OURS.__eq__) == f"version = 2\n{left}[debug]\n"


def test_imports_over_several_lines() -> None:
    original = 'imports = [\n  "a.toml", # one\n  "b.toml"]\n'
    edited = edit.add_imports(original, "main", [OURS])
    assert edit.strip(edited, original, OURS.__eq__) == original
    changed = edited.replace('.toml"]', '.toml", "kata.toml"]', 1)
    assert edit.strip(changed, original, OURS.__eq__) == (
        'imports = [\n  "a.toml", # one\n  "b.toml", "/etc/x.toml", "kata.toml"]\n'
    )


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_header_of_ours_stays_with_the_keys_of_others_below_it(newline: str) -> None:
    original = newline.join(["[debug]", '  level = "info"'])
    edited = edit.set_keys(original, "main", [((*NRI, "disable"), False), ((*NRI, "plugin_request_timeout"), "30s")])
    added = f"  plugin_path = '/opt'{newline}"
    header = f'[plugins."io.containerd.nri.v1.nri"]{newline}'
    assert edit.strip(edited + added, original) == f"{original}{newline}{header}{added}"
    kept = edit.strip(edited + added, original, copied=lambda path: path[-1] == "disable")
    assert kept == f"{original}{newline}{header}  disable = false{newline}{added}"
    # A table of their own needs nothing of ours, unless ours has copied defaults.
    table = f'[plugins."io.containerd.nri.v1.nri".default_validator]{newline}'
    assert edit.strip(edited + table, original) == f"{original}{newline}{table}"
