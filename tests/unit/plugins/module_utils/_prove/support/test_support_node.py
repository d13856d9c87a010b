# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What is read on a node for a support bundle: whatever stands in its journal, it is bounded, and has no secrets."""

from __future__ import annotations

import json
import lzma
import os
from pathlib import Path
from typing import List

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import command
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.support import gathered, journal, node
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.support.gathered import Gathered

FIXTURE = Path(__file__).resolve().parents[4] / "fixtures/journal/node.journal.xz"
# The fixture's messages are of 2026.
HOURS = 100_000


def shell(script: str) -> List[str]:
    return ["/bin/sh", "-c", script]


def test_the_end_of_an_output_is_kept_from_the_beginning_of_a_message() -> None:
    assert journal.tail(shell("echo a; echo b"), 100) == ("a\nb\n", "")
    text, cut = journal.tail(shell("seq 1 100000"), 50)
    assert text.splitlines()[-1] == "100000"
    assert len(text) <= 50
    assert all(len(line) == 5 for line in text.splitlines()[:-1])
    assert cut == f"{588895 - len(text)} older bytes left out"
    text, _cut = journal.tail(shell("echo key: '|'; echo '  secret'; echo '  part'; echo next"), 17)
    assert text == "next\n"


def test_an_output_without_end_is_given_up() -> None:
    text, cut = journal.tail(["yes"], 1000, read_most=1 << 20)
    assert 900 < len(text) <= 1000
    assert "not read to its end: more than 1 MiB" in cut
    with pytest.raises(journal.JournalError, match="more than 1 MiB"):
        journal.tail(shell("head -c 99999999 /dev/zero"), 1000, read_most=1 << 20)


def test_a_command_that_hangs_is_given_up() -> None:
    with pytest.raises(journal.JournalError, match="did not end within"):
        journal.tail(["tail", "-f", "/dev/null"], 100, seconds=0.2)
    text, cut = journal.tail(shell("echo first; exec tail -f /dev/null"), 100, seconds=2)
    assert (text, "not read to its end: it did not end within 2 s" in cut) == ("first\n", True)


def test_a_failure_is_told_in_the_words_of_the_tool() -> None:
    with pytest.raises(journal.JournalError, match="no such thing"):
        journal.tail(shell("echo no such thing >&2; exit 3"), 100)


def test_a_recorded_journal_is_read_without_its_secrets(tmp_path: Path) -> None:
    if not command.find("journalctl"):
        pytest.skip("needs journalctl; `make lab` reads the journal of a guest")
    (tmp_path / "var/log/journal").mkdir(parents=True)
    (tmp_path / "var/log/journal/node.journal").write_bytes(lzma.decompress(FIXTURE.read_bytes()))
    found = node.gather(str(tmp_path), HOURS, 1_000_000)
    log = found.files["journal/containerd.log"]
    assert "containerd[812]: Started." in log
    assert "Authorization: [redacted]" in log
    assert "PLANTED" not in json.dumps(found.files)
    assert "MIIEvQ" not in log
    assert "MzEfYyjiWA4R" not in log
    assert "Cable plugged" in found.files["journal/kernel.log"]
    assert "line" in found.files["journal/kubelet.log"]
    assert found.missing["journal"].startswith(f"no messages in the last {HOURS} h of crio, ")
    # Only what is of the last hour: nothing.
    assert node.gather(str(tmp_path), 1, 1_000_000).files == {}
    small = node.gather(str(tmp_path), HOURS, 600)
    assert sum(map(len, small.files.values())) <= 600
    assert "left out" in small.cut["journal/kubelet.log"]


def test_ledgers_are_read_and_no_links_of_others(tmp_path: Path) -> None:
    state = tmp_path / "var/lib/zerocopy-rdma"
    (state / "links").mkdir(parents=True)
    (state / "links/ledger.json").write_text(json.dumps({"version": 1, "files": {"/etc/x": {"password": "PLANTED"}}}))
    (state / "runtime").mkdir()
    (state / "runtime/ledger.json").write_text('{"token": "PLANTED')
    (state / "kernel").mkdir()
    os.mkfifo(state / "kernel/ledger.json")
    (state / "elsewhere").symlink_to("/etc")
    found = node.gather(str(tmp_path), 1, 1_000_000)
    assert json.loads(found.files["ledger/links.json"])["files"] == {"/etc/x": {"password": "[redacted]"}}
    assert "PLANTED" not in found.files["ledger/runtime.json"]
    assert "is not a regular file" in found.missing["ledger/kernel.json"]
    assert {name for name in found.files if name.startswith("ledger/")} == {"ledger/links.json", "ledger/runtime.json"}


def test_a_node_without_anything(tmp_path: Path) -> None:
    found = node.gather(str(tmp_path), 1, 1_000)
    assert found.files == {}
    assert set(found.missing) == {"journal", "ledger"}


@settings(deadline=None)
@given(
    files=st.dictionaries(st.text("abc", min_size=1), st.text("x\n", max_size=300), max_size=6),
    most=st.integers(0, 500),
)
def test_files_are_cut_to_a_size_and_nothing_silently(files: dict[str, str], most: int) -> None:
    found = Gathered(files=dict(files))
    found.bound(most)
    assert sum(map(len, found.files.values())) <= most
    for name, text in files.items():
        assert text.endswith(found.files[name])
        assert (name in found.cut) is (found.files[name] != text)
    if sum(map(len, files.values())) <= most:
        assert not found.cut


@pytest.mark.parametrize("sent", [None, [], {}, {"files": []}, {"files": {"a": 1}, "missing": 3, "cut": {"x": None}}])
def test_answers_of_another_form_are_told(sent: object) -> None:
    found = gathered.read(sent)
    assert found.files == {}
    assert "the answer has another form" in found.missing.values()
