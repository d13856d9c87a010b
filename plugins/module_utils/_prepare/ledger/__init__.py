# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A record on the node of what was changed there, so that it can be restored, and a killed run completed.

Files in reading order: ``ledger`` (compares and applies files), ``document`` (``ledger.json``, and checks of its
notes), ``storage`` (replaced files, and the lock).

May import ``_prepare.node``.
"""
