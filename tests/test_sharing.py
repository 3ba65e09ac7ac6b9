"""Which directions share a path."""

import polars as pl
import pytest
from frames import capture, frame

from l4strace import sharing


@pytest.mark.parametrize(
    ("client", "server", "path"),
    [
        ("10.0.1.2", "10.0.3.2", "10.0.1>10.0.3"),
        ("2001:db8:1:2::5", "2001:db8:9:9::1", "2001:db8:1:2:>2001:db8:9:9:"),
    ],
)
def test_path_joins_the_two_networks(client: str, server: str, path: str) -> None:
    flows = frame("flows", client=client, server=server)
    made = capture(flows=flows, directions=frame("directions", forward=[True, False]))
    forward, reverse = sharing.directions(made)["path"].to_list()
    assert forward == path
    assert reverse == ">".join(reversed(path.split(">")))


def test_codepoint_of_most_data_names_the_class() -> None:
    directions = frame(
        "directions",
        flow=[0, 1, 2],
        data_ect1=[9, 0, 0],
        data_ect0=[1, 9, 0],
        data_not_ect=[0, 1, 9],
    )
    table = sharing.directions(capture(flows=frame("flows", flow=[0, 1, 2]), directions=directions))
    assert table["marked_as"].to_list() == ["ect1", "ect0", "not_ect"]


def test_of_round_does_not_look_into_another_direction() -> None:
    rounds = pl.DataFrame(
        {
            "source": [0, 0, 0, 0, 0],
            "flow": [1, 1, 1, 1, 2],
            "forward": [False, False, True, True, True],
            "round": [0, 1, 0, 1, 0],
            "seen": [10, 11, 20, 21, 30],
        }
    )
    for steps in (1, -1):
        found = rounds.select(sharing.of_round(steps, pl.col("seen"))).to_series()
        slow = rounds.select(pl.col("seen").shift(-steps).over(sharing.KEY)).to_series()
        assert found.to_list() == slow.to_list()


def test_what_many_ask_for_is_made_once() -> None:
    made = capture(flows=frame("flows"), directions=frame("directions"))
    assert sharing.directions(made) is sharing.directions(made)
