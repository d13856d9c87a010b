# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What was gathered from a node or from the API server: redacted texts, and why others are missing or not whole."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Dict, List, Mapping, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import redact
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted


@dataclass
class Gathered:
    """``files`` by the path below the host's directory, ``missing`` and ``cut`` with a reason for each."""

    files: Dict[str, str] = field(default_factory=dict)
    missing: Dict[str, str] = field(default_factory=dict)
    cut: Dict[str, str] = field(default_factory=dict)

    def add(self, name: str, text: str) -> None:
        """A text with secrets, such as a log."""
        self.files[name] = redact.text(text)

    def add_data(self, name: str, value: Any) -> None:
        """Data as JSON has it."""
        self.files[name] = as_json(redact.data(value))

    def add_file(self, name: str, text: str) -> None:
        """A file, by its ending JSON or not; if it is not JSON after all, it is redacted as any text."""
        self.files[name] = redacted(name, text)

    def plain(self) -> Dict[str, Dict[str, str]]:
        """The result of a module."""
        return asdict(self)

    def bound(self, most: int) -> None:
        """Cut the largest files so that all together have at most so many characters: what is oldest goes."""
        files, self.files = self.files, {}
        left, waiting = most, len(files)
        for name, text in sorted(files.items(), key=lambda entry: len(entry[1])):
            self.files[name], lost = newest(text, left // waiting)
            if lost:
                known = f"{self.cut[name]}; " if name in self.cut else ""
                self.cut[name] = f"{known}{counted(lost, 'character')} at its beginning left out"
            left, waiting = left - len(self.files[name]), waiting - 1


def redacted(name: str, text: str) -> str:
    """A file without secrets. What was redacted before stays as it is."""
    if name.endswith(".json"):
        try:
            return as_json(redact.data(json.loads(text)))
        except (ValueError, RecursionError):
            # Cut off, or nested without end.
            pass
    return redact.text(text)


def as_json(value: Any) -> str:
    """The content of a file."""
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


def newest(text: str, most: int) -> Tuple[str, int]:
    """The last lines, of together at most so many characters, and how many characters are left out."""
    if len(text) <= most:
        return text, 0
    start = text.find("\n", len(text) - most - 1) + 1
    kept = text[start:] if start else ""
    return kept, len(text) - len(kept)


def read(value: Any) -> Gathered:
    """What a module returned, as far as it has this form; the rest is told as missing."""
    found = Gathered()
    own = value if isinstance(value, Mapping) else {}
    for name in ("files", "missing", "cut"):
        part = own.get(name)
        texts: Mapping[str, Any] = part if isinstance(part, Mapping) else {}
        getattr(found, name).update({str(key): each for key, each in texts.items() if isinstance(each, str)})
        wrong: List[str] = [str(key) for key, each in texts.items() if not isinstance(each, str)]
        wrong += [name] if not isinstance(part, Mapping) else []
        found.missing.update(dict.fromkeys(wrong, "the answer has another form"))
    return found
