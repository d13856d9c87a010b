# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What an inventory says: typed variables, hosts and groups, and rules for single variables.

In reading order: :mod:`variables`, :mod:`host`, :mod:`value_rules`, :mod:`operator_rules`, :mod:`health_policy`,
:mod:`fleet_wide`, :mod:`groups`, :mod:`images`, :mod:`queries`, :mod:`waves`. It may import :mod:`_facts` and
:mod:`_values`. Checks that need the strategies are in :mod:`_plan.preflight`.
"""
