# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A bundle as a tar archive: files of each host and of the cluster, and an index that also says what is not there."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Set

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.support.gathered import Gathered, as_json, redacted
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import redact
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.host_file import host_file
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted, visible

VERSION = 1
INDEX = "index.json"
# Lines of what is missing, for people.
_UP_TO = 30
# A file's path as nodes name it: two levels, nothing hidden, and nothing that leads elsewhere.
_PATH = re.compile(r"(?:[A-Za-z0-9][\w@.:-]{0,250}/)?[A-Za-z0-9][\w@.:-]{0,250}", re.ASCII)


@dataclass
class Bundle:
    """By host what was gathered, and what is of no single host; ``about`` says when and by which versions."""

    about: Dict[str, Any]
    hosts: Dict[str, Gathered] = field(default_factory=dict)
    cluster: Gathered = field(default_factory=Gathered)
    controller: Gathered = field(default_factory=Gathered)


def only(value: Any, others: Set[str]) -> Any:
    """Data without what is about these hosts: entries of their name, and entries of lists that name them."""
    if isinstance(value, Mapping):
        return {name: only(each, others) for name, each in value.items() if name not in others}
    if isinstance(value, list):
        return [only(each, others) for each in value if not _names(each, others)]
    return value


def _names(value: Any, others: Set[str]) -> bool:
    if not isinstance(value, Mapping):
        return False
    return value.get("host") in others or any(_names(each, others) for each in value.values())


def files(bundle: Bundle, most: int) -> Dict[str, str]:
    """All files by their path in the archive, the index among them: of a host at most ``most`` characters."""
    found: Dict[str, str] = {}
    index: Dict[str, Any] = {**bundle.about, "version": VERSION, "hosts": {}, "files": {}, "missing": [], "cut": []}
    for own in [*bundle.hosts.values(), bundle.cluster, bundle.controller]:
        # What was redacted where it was read stays as it is.
        own.files = {name: visible(redacted(name, text)) for name, text in own.files.items()}
    for host, own in bundle.hosts.items():
        index["hosts"][visible(host)] = f"hosts/{host_file(host)}"
        own.bound(most)
    parts = [(host, f"hosts/{host_file(host)}/", own) for host, own in bundle.hosts.items()]
    for host, directory, own in [*parts, ("", "cluster/", bundle.cluster), ("", "controller/", bundle.controller)]:
        for name, text in sorted(own.files.items()):
            if _PATH.fullmatch(name) is None:
                own.missing[name[:100]] = "the name is not that of a file of a bundle"
                continue
            found[directory + name] = text
            index["files"][directory + name] = {"bytes": len(text.encode()), "redacted": redact.count(text)}
        for what in ("missing", "cut"):
            for name, reason in sorted(getattr(own, what).items()):
                texts = {"host": host, "what": directory + name, "why": reason}
                index[what].append({key: visible(redact.text(text)) for key, text in texts.items()})
    return {INDEX: as_json(index), **found}


def packed(name: str, content: Mapping[str, str], created: int) -> bytes:
    """The archive, with everything below the directory ``name``; ``created`` is in seconds since the epoch."""
    raw = io.BytesIO()
    with gzip.GzipFile(fileobj=raw, mode="wb", mtime=created) as compressed, tarfile.open(
        fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT
    ) as archive:
        for path, text in content.items():
            data = text.encode("utf-8", "backslashreplace")
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size, entry.mtime, entry.mode = len(data), created, 0o600
            archive.addfile(entry, io.BytesIO(data))
    return raw.getvalue()


def summary(content: Mapping[str, str], index: Mapping[str, Any], path: str, is_written: bool) -> List[str]:
    """A few lines about a bundle."""
    size = sum(len(text.encode("utf-8", "backslashreplace")) for text in content.values())
    verb = "has" if is_written else "would have"
    hosts = counted(len(index["hosts"]), "host")
    lines = [f"{path} {verb} {len(content)} files of {hosts}, {size / 1e6:.1f} MB before compression."]
    taken = sum(entry["redacted"] for entry in index["files"].values())
    lines.append(f"{taken} values were redacted. Look through it before you send it: index.json lists all files.")
    for title, what in (("Not in it", "missing"), ("Not whole", "cut")):
        entries = [f"{entry['what']}: {entry['why']}" for entry in index[what]]
        if entries:
            more = [f"and {len(entries) - _UP_TO} more, in index.json"] if len(entries) > _UP_TO else []
            lines += ["", f"{title}:", *[f"  {entry}" for entry in [*entries[:_UP_TO], *more]]]
    return lines
