# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What every concern needs on a node. Nothing here knows a concern.

Files in reading order: ``errors`` (the one exception, for users), ``files`` (atomic reads and writes below any root),
``command`` (the node's tools), ``changes`` (the list of changes as a module's result), ``packages`` (which ones are not
installed), ``unix_socket`` (who listens and who is connected).

May import ``_discover`` and ``_values``.
"""
