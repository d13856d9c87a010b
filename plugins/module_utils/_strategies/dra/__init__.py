# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The strategy ``dra``: DRANET hands out NICs, and pods claim them with their GPUs.

In reading order: :mod:`strategy`, :mod:`attributes` (those that DRANET publishes for us, and the daemon that it asks),
:mod:`slices` (devices that drivers publish), :mod:`driver` (DRANET itself),
:mod:`scheduler` (how claims are allocated), :mod:`claims`, :mod:`expected_devices`. Each of these packages may
import those before it, :mod:`_strategies.base` and rooms below the strategies.
"""
