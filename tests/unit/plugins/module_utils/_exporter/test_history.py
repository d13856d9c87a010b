# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What several looks show: flaps, and what is gone."""

from __future__ import annotations

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.history import LOOKS, History, Seen, went_down
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._exporter.readings import hca

UP = Seen(place=0, active=True, link_downed=1, downs=4)


@pytest.mark.parametrize(
    ("now", "times"),
    [
        (UP, 0),
        (UP._replace(active=False), 1),
        # Down and up again between two looks.
        (UP._replace(downs=6), 2),
        (UP._replace(active=False, link_downed=2, downs=5), 1),
        # A counter that was reset says nothing, nor does one that is missing.
        (UP._replace(link_downed=0, downs=0), 0),
        (UP._replace(link_downed=None, downs=None), 0),
        # A move into a pod takes the netdev down.
        (UP._replace(place=4026532352, active=False, downs=5), 0),
    ],
)
def test_how_often_a_link_went_down(now: Seen, times: int) -> None:
    assert went_down(UP, now) == times


def test_flaps_add_up_from_the_first_look_on() -> None:
    history = History()
    for downs in (7, 7, 8, 10):
        history.port("mlx5_0", "1", UP._replace(downs=downs))
    assert history.flaps == {"mlx5_0": {"1": 3}}


def test_an_hca_is_gone_once_its_function_is_and_some_looks_in_a_row_did_not_find_it() -> None:
    history, found = History(), {"mlx5_0": hca()}
    history.look(found, set())
    for _look in range(LOOKS - 1):
        history.look({}, set())
        assert history.present("mlx5_0", set())
    history.look(found, set())
    for _look in range(LOOKS):
        history.look({}, set())
    # In a namespace that no look leads to.
    assert history.present("mlx5_0", {"0000:3b:00.0"})
    assert not history.present("mlx5_0", set())


def test_one_that_hangs_is_not_gone() -> None:
    history = History()
    history.look({"mlx5_0": hca()}, set())
    for _look in range(9):
        history.look({}, {"mlx5_0"})
    assert history.present("mlx5_0", set())


def test_a_new_name_for_the_same_function_is_the_same_hca() -> None:
    history = History()
    history.look({"mlx5_0": hca()}, set())
    history.look({"ibp59s0": hca("ibp59s0")}, set())
    assert list(history.devices) == ["ibp59s0"]
