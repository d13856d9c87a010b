# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""How much memory users may lock: our lines in a file of /etc/security/limits.d (limits.conf(5), pam_limits(8)).

And whose limit is lower than ours, by the rules of ``pam_limits.c``: lines for a user or a range of UIDs count more
than those for a group, and these more than those for ``*``; of equal ones, the last counts. Hard and soft limits are
set separately, but a soft limit is at most the hard one.
"""

from __future__ import annotations

import re
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import File, Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import errors
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import UnreadableError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import memlock

_HEADING = "# Written by zerocopy.rdma.kernel_modules, which overwrites it; state absent restores it.\n"
# A wildcard does not apply to root (limits.conf(5)).
_LINES = "* - memlock {0}\nroot - memlock {0}\n"
# Before the file was in the ledger, the role rdma_kernel wrote these lines with ansible.builtin.blockinfile.
_BLOCK = re.compile(
    r"^# BEGIN ANSIBLE MANAGED BLOCK\n\* - memlock (\S+)\nroot - memlock \1\n# END ANSIBLE MANAGED BLOCK(?:\n|\Z)", re.M
)


def checked(limit: Optional[str]) -> Optional[str]:
    """The limit in KiB or ``unlimited``; ``None`` where it is left alone.

    :raises HostError: it is neither, or less than a kernel without any setting allows.
    """
    if not limit:
        return None
    errors.checked("user_memlock", limit, lambda text: memlock.limit(text, 1024))
    return limit


def wanted(ledger: Ledger, path: str, limit: Optional[str]) -> List[File]:
    """The file with the limit, below the lines that somebody else has in it; none without a limit."""
    _recognise_block(ledger, path)
    if limit is None:
        return []
    theirs = ledger.original_text(path) or ""
    if theirs and not theirs.endswith("\n"):
        theirs += "\n"
    return [File(path, theirs + _HEADING + _LINES.format(limit), lines=True)]


def _recognise_block(ledger: Ledger, path: str) -> None:
    text = ledger.files.text(path)
    block = None if text is None or path in ledger.known else _BLOCK.search(text)
    if text is not None and block is not None:
        ledger.adopt(path, text[: block.start()] + text[block.end() :] or None)


# The second one is that of SUSE, which an administrator's files of the same names hide.
_DIRECTORIES = ("/etc/security", "/usr/etc/security")
_UNLIMITED = ("-1", "-", "unlimited", "infinity")
_NUMBER = re.compile(r"\+?([0-9]+)|-[0-9]+")
_RANGE = re.compile(r"([0-9]*):([0-9]*)")
# The stacks of logins, and what those of Debian, Red Hat and SUSE include; an administrator's file hides a vendor's.
_STACKS = ("/etc/pam.d", "/usr/lib/pam.d", "/usr/etc/pam.d")
_SERVICES = (
    *("sshd", "login", "systemd-user", "common-session", "common-session-noninteractive"),
    *("system-auth", "password-auth"),
)
_CONF = re.compile(r"-?session\s.*\spam_limits\.so(?:\s.*)?\s\[?conf=([^]\s]+).*")
_EVERYBODY, _ROOT = "*", "root"


class _Line(NamedTuple):
    """``side`` is ``soft``, ``hard`` or ``-`` for both, empty if it exempts from all limits; ``value`` is in bytes."""

    place: str
    text: str
    domain: str
    side: str
    value: int = 0

    @property
    def rank(self) -> int:
        return 2 if self.domain == _EVERYBODY else int(self.domain.startswith("@"))

    def covers(self, domain: str) -> bool:
        return self.domain in (domain, _EVERYBODY) or (domain == _ROOT and _has_root(self.domain))


def overriding(files: Files, own: File, limit: str) -> List[str]:
    """Warnings about lines by which some users can lock less than ``limit``, which the file ``own`` is to set."""
    lines = [line for path in _paths(files, own.path) for line in _lines(path, _text(files, path, own))]
    found = [
        f"{path}: {line!r} reads {conf} only, so that {own.path} has no effect there"
        for path, line, conf in _elsewhere(files)
    ]
    for domain in dict.fromkeys([_EVERYBODY, _ROOT, *(line.domain for line in lines)]):
        covering = [line for line in lines if line.covers(domain)]
        exempting = next((line for line in covering if not line.side), None)
        if exempting is not None:
            found.append(
                f"{exempting.place}: {exempting.text!r} exempts users of the domain {domain!r} from all limits, so that"
                f" {own.path} has no effect on them"
            )
            continue
        soft, hard = _effective(covering)
        lowest = min((line for line in (soft, hard) if line is not None), key=lambda line: line.value)
        if lowest.value < memlock.limit(limit, 1024):
            what = f"so users of the domain {domain!r} can lock {lowest.value // 1024} KiB"
        elif hard is None:
            what = f"so the hard limit is not set for users of the domain {domain!r} either"
        else:
            continue
        ours = f"{_ROOT if domain == _ROOT else _EVERYBODY} - memlock {limit}"
        found.append(f"{lowest.place}: {lowest.text!r} takes precedence over {ours!r} in {own.path}, {what}")
    return found


def _effective(lines: Iterable[_Line]) -> Tuple[Optional[_Line], Optional[_Line]]:
    """The lines that set the soft and the hard limit of somebody whom all of these cover."""
    soft: Optional[_Line] = None
    hard: Optional[_Line] = None
    for line in lines:
        if line.side != "hard":
            # With a line for both limits, the hard one then stays as it is as well (process_limit).
            if soft is not None and soft.rank < line.rank:
                continue
            soft = line
        if line.side != "soft" and (hard is None or hard.rank >= line.rank):
            hard = line
    return soft, hard


def _paths(files: Files, own: str) -> List[str]:
    """The files in the order in which they are read, with ``own``, be it there or not."""
    mains = [f"{directory}/limits.conf" for directory in _DIRECTORIES]
    names: Dict[str, str] = {own.rpartition("/")[2]: own}
    for directory in _DIRECTORIES:
        for name in files.names(f"{directory}/limits.d"):
            if name.endswith(".conf") and not name.startswith("."):
                names.setdefault(name, f"{directory}/limits.d/{name}")
    return [*[path for path in mains if files.exists(path)][:1], *(names[name] for name in sorted(names))]


def _elsewhere(files: Files) -> Iterator[Tuple[str, str, str]]:
    """Lines of PAM stacks that name a file to read instead of all others: where, the line, and the file."""
    for service in _SERVICES:
        for path in [path for path in (f"{stack}/{service}" for stack in _STACKS) if files.exists(path)][:1]:
            for raw in _text(files, path).replace("\\\n", " ").split("\n"):
                line = " ".join(raw.partition("#")[0].split())
                told = _CONF.fullmatch(line)
                if told:
                    yield path, line, told.group(1)


def _text(files: Files, path: str, own: Optional[File] = None) -> str:
    if own is not None and path == own.path:
        return own.content or ""
    try:
        return files.text(path) or ""
    except UnreadableError:
        # A directory, for example, in which PAM finds no line.
        return ""


def _lines(path: str, text: str) -> Iterator[_Line]:
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.lstrip().partition("#")[0].strip(" \t")
        words = re.split("[ \t]+", line, maxsplit=3)
        place, domain = f"{path}, line {number}", words[0]
        # Of these, pam_limits takes logins only.
        if domain.startswith("%") or (":" in domain and not _is_range(domain)):
            continue
        if len(words) == 2 and words[1].startswith("-") and domain != _EVERYBODY:
            yield _Line(place, line, domain, "")
        elif len(words) == 4 and words[1].lower() in ("soft", "hard", "-") and words[2].lower() == "memlock":
            value = _value(words[3].lower())
            if value is not None:
                yield _Line(place, line, domain, words[1].lower(), value)


def _value(text: str) -> Optional[int]:
    """Bytes; ``None`` for what pam_limits passes over. It reads what it can of a number, a negative one as a large."""
    number = _NUMBER.match(text)
    if text in _UNLIMITED or (number is not None and number.group(1) is None):
        return memlock.UNLIMITED
    return None if number is None else min(int(number.group(1)) * 1024, memlock.UNLIMITED)


def _is_range(domain: str) -> bool:
    return domain.lstrip("@") != ":" and _RANGE.fullmatch(domain.lstrip("@")) is not None


def _has_root(domain: str) -> bool:
    """Whether it is a range of UIDs with that of root; ``:MAX`` is that one only."""
    found = _RANGE.fullmatch(domain)
    return found is not None and int(found.group(1) or found.group(2) or 1) == 0
