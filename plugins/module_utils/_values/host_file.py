# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The names of files on the controller that are about one host, whatever the inventory calls it."""

from __future__ import annotations

import hashlib
import re

# Host names and addresses, neither hidden nor an option of a command.
_PLAIN = re.compile("[A-Za-z0-9][A-Za-z0-9_.:-]*")
_OTHER = re.compile("[^A-Za-z0-9_.:-]")
# NAME_MAX is 255, of which callers need some for what they add.
_LONGEST = 200
_READABLE, _DIGITS = 60, 32


def host_file(host: str) -> str:
    """A file's name, without an ending, in whatever directory: that of the host, as far as it is one.

    Two hosts never have the same: other names are told apart by a digest, and no host name has an ``@`` in its file's.
    """
    if len(host) <= _LONGEST and _PLAIN.fullmatch(host):
        return host
    # What Python makes of bytes that are no UTF-8 is a name as well.
    digest = hashlib.sha256(host.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]
    return f"host@{digest}-{_OTHER.sub('_', host[:_READABLE])}"
