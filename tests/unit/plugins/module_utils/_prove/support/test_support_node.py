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


def test_the_newest_messages_are_kept_in_the_order_of_time() -> None:
    assert journal.newest(shell("echo b; echo a"), 100) == ("a\nb\n", "")
    assert journal.newest(shell("echo new; printf 'old\\n  more\\n\\n  end'"), 100) == (
        "old\n  more\n\n  end\nnew\n",
        "",
    )
    assert journal.newest(["true"], 100) == ("", "")
    text, cut = journal.newest(shell("seq 100000 -1 1"), 50)
    assert text.split() == [str(number) for number in range(99_993, 100_001)]
    assert cut == "older messages left out: more than 50 bytes"


@given(messages=st.lists(st.text("ab\n", max_size=6), min_size=1, max_size=6), most=st.integers(0, 60))
@settings(deadline=None, max_examples=25)
def test_no_message_is_cut(messages: List[str], most: int) -> None:
    printed = ["> " + message.replace("\n", "\n  ") + "\n" for message in messages]
    whole = "".join(printed)
    kept = [printed[:count] for count in range(len(printed) + 1) if len("".join(printed[:count])) <= most][-1]
    argv = ["printf", "%s", whole]
    if not kept:
        with pytest.raises(journal.JournalError, match=f"more than {most} bytes"):
            journal.newest(argv, most)
        return
    text, cut = journal.newest(argv, most)
    assert text == "".join(reversed(kept))
    assert bool(cut) is (kept != printed)


def test_an_output_without_end_is_given_up() -> None:
    text, cut = journal.newest(["yes"], 1000)
    assert len(text) == 1000
    assert cut == "older messages left out: more than 1000 bytes"
    with pytest.raises(journal.JournalError, match="more than 1000 bytes"):
        journal.newest(shell("head -c 99999999 /dev/zero"), 1000)


def test_a_command_that_hangs_is_given_up() -> None:
    with pytest.raises(journal.JournalError, match="did not end within"):
        journal.newest(["tail", "-f", "/dev/null"], 100, seconds=0.2)
    text, cut = journal.newest(shell("echo new; printf 'half a li'; exec tail -f /dev/null"), 100, seconds=2)
    assert (text, cut) == ("new\n", "older messages left out: it did not end within 2 s")


def test_a_failure_is_told_in_the_words_of_the_tool() -> None:
    with pytest.raises(journal.JournalError, match="no such thing"):
        journal.newest(shell("echo no such thing >&2; exit 3"), 100)


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
    log_of_kubelet = found.files["journal/kubelet.log"]
    assert log_of_kubelet.splitlines() == sorted(log_of_kubelet.splitlines())
    assert found.missing["journal"].startswith(f"no messages in the last {HOURS} h of crio, ")
    # Only what is of the last hour: nothing.
    assert node.gather(str(tmp_path), 1, 1_000_000).files == {}
    small = node.gather(str(tmp_path), HOURS, 600)
    assert sum(map(len, small.files.values())) <= 600
    assert "left out" in small.cut["journal/kubelet.log"]
    assert small.files["journal/kubelet.log"].endswith(log_of_kubelet[-200:])


def test_of_more_messages_than_are_kept_the_newest_ones_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for journalctl 252, which with --lines and --since prints the oldest of these hours."""
    tool = tmp_path / "journalctl"
    tool.write_text("""\
#!/bin/sh
order=cat lines=60000
for argument; do
    case $argument in --lines=*) lines=${argument#*=} ;; --reverse) order=tac ;; --unit=*) exit ;; esac
done
seq 1 60000 | head -n "$lines" | $order
""")
    tool.chmod(0o755)
    monkeypatch.setattr(command, "find", lambda _tool: str(tool))
    found = node.gather("/", 1, 10_000_000)
    log = found.files["journal/kernel.log"]
    assert (log[:2], log[-7:], found.cut) == ("1\n", "\n60000\n", {})
    found = node.gather("/", 1, 100_000)
    assert found.files["journal/kernel.log"].endswith("\n60000\n")
    assert found.cut["journal/kernel.log"].startswith("older messages left out: more than 100000 bytes")


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
