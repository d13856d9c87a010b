# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The NRI plugin itself, which runs on nodes with the standard library only.

In reading order: :mod:`main`, :mod:`configuration`, :mod:`daemon`, :mod:`annotations` (how pods ask), :mod:`adjust`,
:mod:`gpus`, :mod:`hardware`; the runtime's side: :mod:`session`, :mod:`ttrpc`, :mod:`messages`; :mod:`status`,
:mod:`output`. It may import :mod:`_discover`, :mod:`_facts` and :mod:`_values`.
"""
