# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Reading a node's file system below any root, without ever failing.

A device can vanish between ``listdir`` and ``open``, a driver can answer ``EINVAL`` for one attribute, and an
unprivileged user may not read another. None of this is an error of the caller, so every reader returns ``None``
(or an empty list) and the tree remembers what it could not read.
"""

from __future__ import annotations

import errno
import os
import re
from typing import Dict, List, Optional

# ENOTDIR and ELOOP are what a device replaced or a link broken in mid-read looks like.
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO, errno.ELOOP)
_FORBIDDEN = (errno.EACCES, errno.EPERM)
_NOT_OFFERED = ("EINVAL", errno.errorcode[errno.EOPNOTSUPP])
_CHUNK = 1 << 16
# More than any small attribute holds, although a file of sysfs can be as long as a page of memory, up to 64 KiB.
_PAGE = 1 << 12
# Far more than any file here has: what is larger, or never ends, is not the file it should be.
_LARGEST = 1 << 24
# Without a writer a FIFO would block open() for ever.
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
# The kernel prints nothing wider than 64 bits.
_WIDEST = 1 << 64
_NUMBER = re.compile("[0-9]{1,19}")


def is_number(text: str) -> bool:
    """Whether ``text`` is a plain decimal number; unlike ``str.isdigit`` not for other scripts' digits."""
    return bool(_NUMBER.fullmatch(text))


def text_of(raw: Optional[bytes]) -> Optional[str]:
    """A file's text without surrounding white space; ``None`` when there is none."""
    return (raw or b"").decode("utf-8", "replace").strip("\0 \t\r\n") or None


class Tree:
    """The files of one node below ``root`` (``/`` is the running node).

    ``unreadable`` maps a path to ``permission`` for what this user may not read and to the error's name (``EINVAL``,
    ``EIO``) for what the kernel refused. With another root than ``/`` a symbolic link that leads out of it is treated
    as absent, so that a recorded node never shows the state of the machine that holds the recording.
    """

    def __init__(self, root: str = "/") -> None:
        self.root = os.path.realpath(root)
        self.live = self.root == "/"
        self.unreadable: Dict[str, str] = {}
        self._entries: Dict[str, str] = {}

    def _recorded(self, directory: str, path: str) -> str:
        """The real path of ``path`` in ``directory``, whose path is real.

        What a recording has does not change, so each link is read once; ``os.path.realpath`` would look at all
        directories of each file again.
        """
        for name in path.split("/"):
            if name == "..":
                directory = os.path.dirname(directory)
            elif name not in ("", "."):
                directory = self._entry(f"{directory.rstrip('/')}/{name}")
        return directory

    def _entry(self, path: str) -> str:
        """The real path of an entry of a directory whose path is real."""
        if path not in self._entries:
            try:
                target = os.readlink(path)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    # It may be there later.
                    return path
                target = ""
            # A link that leads back to itself stays as it is, as realpath leaves it.
            self._entries[path] = path
            if target:
                self._entries[path] = self._recorded("/" if target[0] == "/" else os.path.dirname(path), target)
        return self._entries[path]

    def _real(self, path: str) -> Optional[str]:
        try:
            return os.path.realpath(os.path.join(self.root, path)) if self.live else self._recorded(self.root, path)
        except OSError as error:
            # A link that vanishes between lstat and readlink; realpath forgives everything else.
            self.note(path, error)
        except RecursionError:
            # Links to links, more than the 40 that the kernel follows. Those in between have not been followed.
            self._entries.clear()
        except ValueError:
            # A name read from a file, with a NUL in it.
            self.unreadable["/" + path.replace("\0", "\\0")] = "not a name"
        return None

    def _inside(self, path: str) -> Optional[str]:
        if self.live:
            return None if "\0" in path else self.root + path
        real = self._real(path)
        return real if real and (real == self.root or real.startswith(self.root + os.sep)) else None

    def note(self, path: str, error: OSError) -> None:
        """Remember why a path could not be read, unless it is not there."""
        if error.errno in _ABSENT:
            return
        reason = "permission" if error.errno in _FORBIDDEN else errno.errorcode.get(error.errno or 0, "error")
        self.unreadable["/" + path] = reason

    def data(self, path: str) -> Optional[bytes]:
        """The file's bytes, or ``None``."""
        full = self._inside(path)
        if full is None:
            return None
        try:
            # Half the price of open(), and a node's facts are in hundreds of small files.
            descriptor = os.open(full, _FLAGS)
            try:
                raw = os.read(descriptor, _CHUNK)
                chunk = raw
                while chunk and len(raw) < _LARGEST:
                    chunk = os.read(descriptor, _CHUNK)
                    raw += chunk
            finally:
                os.close(descriptor)
        except OSError as error:
            self.note(path, error)
            return None
        if len(raw) < _LARGEST:
            return raw
        self.unreadable["/" + path] = "too large"
        return None

    def head(self, path: str, size: int, offset: int = 0) -> Optional[bytes]:
        """At most ``size`` bytes from ``offset`` of a file that is slow to read; ``None`` as for :meth:`data`."""
        full = self._inside(path)
        if full is None:
            return None
        try:
            descriptor = os.open(full, _FLAGS)
            try:
                return os.pread(descriptor, size, offset) if offset else os.read(descriptor, size)
            finally:
                os.close(descriptor)
        except OSError as error:
            self.note(path, error)
            return None

    def contents(self, directory: str) -> Dict[str, bytes]:
        """Name and bytes of every readable file in a directory of small sysfs attributes, symbolic links left out.

        Looks up the directory once, not once for each of the up to 1024 entries of a GID table.
        """
        full = self._inside(directory)
        found: Dict[str, bytes] = {}
        if full is None:
            return found
        try:
            parent = os.open(full, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            self.note(directory, error)
            return found
        try:
            for name in os.listdir(full):
                try:
                    descriptor = os.open(name, _FLAGS | os.O_NOFOLLOW, dir_fd=parent)
                    try:
                        # The kernel gives an attribute in one piece.
                        found[name] = os.read(descriptor, _PAGE)
                    finally:
                        os.close(descriptor)
                except OSError as error:
                    self.note(directory + "/" + name, error)
        except OSError as error:
            self.note(directory, error)
        finally:
            os.close(parent)
        return found

    def text(self, path: str) -> Optional[str]:
        """The file's text without surrounding white space; ``None`` when absent, unreadable or empty."""
        return text_of(self.data(path))

    def number(self, path: str, base: int = 10) -> Optional[int]:
        """The file's text as an integer; ``base`` 0 follows the prefix (``0x1f``). ``None`` when it is not one."""
        text = self.text(path)
        return None if text is None else self._integer(path, text, base)

    def _integer(self, path: str, text: str, base: int) -> Optional[int]:
        try:
            value = int(text, base)
        except ValueError:
            value = _WIDEST
        if abs(value) >= _WIDEST:
            self.unreadable["/" + path] = "not a number"
            return None
        return value

    def counter(self, path: str) -> Optional[int]:
        """A counter that not every device keeps; ``None`` where this one does not.

        Without a performance management agent the kernel prints ``N/A (no PMA)`` (drivers/infiniband/core/sysfs.c), and
        a driver refuses a counter it does not have with EINVAL or EOPNOTSUPP. Neither is a fault of the node.
        """
        text = self.text(path)
        if text is None and self.unreadable.get("/" + path) in _NOT_OFFERED:
            del self.unreadable["/" + path]
        return None if text is None or text.startswith("N/A") else self._integer(path, text, 10)

    def name(self, path: str) -> Optional[str]:
        """The file's text as the name of a device; ``None`` when it cannot be one."""
        text = self.text(path)
        if text is None or ("/" not in text and "\0" not in text and text not in (".", "..")):
            return text
        self.unreadable["/" + path] = "not a name"
        return None

    def names(self, path: str) -> List[str]:
        """Sorted names in a directory; empty when there is none."""
        full = self._inside(path)
        if full is None:
            return []
        try:
            return sorted(os.listdir(full))
        except OSError as error:
            self.note(path, error)
            return []

    def exists(self, path: str) -> bool:
        full = self._inside(path)
        return full is not None and os.path.exists(full)

    def resolve(self, path: str) -> Optional[str]:
        """Where a path leads after all symbolic links, relative to the root; ``None`` when it leads nowhere."""
        real = self._real(path)
        if real is None or not os.path.exists(real):
            return None
        if self.live:
            return real[1:]
        return real[len(self.root) + 1 :] if real.startswith(self.root + os.sep) else None

    def target_name(self, path: str) -> Optional[str]:
        """Last component of what a symbolic link points to, whether or not the target exists."""
        try:
            return os.path.basename(os.readlink(os.path.join(self.root, path))) or None
        except ValueError:
            return None
        except OSError as error:
            # EINVAL: it is no link.
            if error.errno != errno.EINVAL:
                self.note(path, error)
            return None
