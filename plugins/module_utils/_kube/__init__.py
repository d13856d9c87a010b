# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What is known about Kubernetes objects without asking a cluster.

In reading order:

* ``unstructured.py``: fields of objects that may have any form.
* ``workloads.py``: which kinds have pod templates, and where.
* ``extended_resources.py``: which extended resources are RDMA or GPUs, by their names.
* ``manifests.py``: what objects of drivers and plugins have in common.
* ``node_labels.py``: the names of our labels of nodes. ``node_annotation.py``, ``counters.py``: what we write to their
  annotations.
* ``kueue.py``: which DeviceClasses Kueue knows.
* ``yaml_values.py``, ``yaml_text.py``: manifests as kubectl reads them, and changes in their text.

It may import ``_values`` only.
"""
