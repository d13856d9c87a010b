# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A support bundle: what people ask for in a ticket, of chosen hosts, without secrets, in one archive.

Secrets are taken out where something is read, so that no result of a task has them, and once more where the archive is
written (``redact`` in ``_values``).

Files in reading order: ``gathered`` (what one look brings home, and how much of it), ``journal`` (logs of a node),
``node``, ``cluster``, ``archive`` (all of it as files, with an index).

May import rooms up to ``_provision``.
"""
