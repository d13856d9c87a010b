# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Removes credentials from configurations, for diffs and messages."""

from __future__ import annotations

import re
from typing import Any, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml.document import TomlDocument, lines_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml.edit import masked

HIDDEN = "REDACTED"
# Keys of containerd's registry settings (auth, header), and common names in the settings of other plugins.
_NAMES = (
    r"(?:auth|authorization|headers?|identitytoken|registrytoken"
    r"|(?:[\w-]*[_-])?(?:password|passwd|secret|token|credentials?|(?:api|access|private)[_-]?key))"
)
_SECRET = re.compile(_NAMES, re.IGNORECASE)
_ASSIGNED = re.compile(
    rf"""((?:^|[{{,])[ \t]*["']?(?:[\w-]+\.)*{_NAMES}["']?[ \t]*=[ \t]*)(?=\S)[^\n]*""", re.IGNORECASE | re.MULTILINE
)
_USER = re.compile(r"(://)[^/\s\"'@]+@")
_VARIABLE = re.compile(
    r"""(["'][\w-]*(?:password|secret|token|credential|apikey|api_key)[\w-]*=)[^"'\n]*""", re.IGNORECASE
)


def text(config: str) -> str:
    """The TOML or JSON text with every credential replaced; it has as many lines as before."""
    lines = lines_of(config)
    try:
        document = TomlDocument(masked(config), "")
    except HostError:
        statements = []
    else:
        statements = [(path, at) for path, at in document.keys.items() if _secret(path, document.get(path))]
    for _path, at in statements:
        first = lines[at.first].partition("=")[0].rstrip()
        for number in range(at.first, at.last + 1):
            lines[number] = "\n" if number < at.last else _end(lines[number])
        lines[at.first] = f'{first} = "{HIDDEN}"' + ("\n" if at.first < at.last else _end(lines[at.last]))
    # Tables in arrays, and texts that cannot be parsed.
    hidden = _ASSIGNED.sub(rf'\g<1>"{HIDDEN}"', "".join(lines))
    return _VARIABLE.sub(rf"\g<1>{HIDDEN}", _USER.sub(rf"\g<1>{HIDDEN}@", hidden))


def value(path: Sequence[str], content: Any) -> Any:
    """One setting's value, as a message may show it."""
    return HIDDEN if _secret(path, content) else text(content) if isinstance(content, str) else content


def _end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _secret(path: Sequence[str], content: Any) -> bool:
    if any(_SECRET.fullmatch(part) for part in path):
        return True
    if isinstance(content, dict):
        return any(_secret((key,), inner) for key, inner in content.items())
    return isinstance(content, list) and any(_secret((), inner) for inner in content)
