"""The scenarios that ``make_driving.py`` draws its clips from.

A scenario gives, for each group, slots parted by ``;``. A slot is one keyword, or several parted by ``/`` of which each
clip gets one, as often as its weight says; ``-`` is none. Surroundings (weather, light, traffic) are noted only where
they are out of the ordinary: a clip without rain, snow and fog is dry, one without night and dusk is by day.
"""

from __future__ import annotations

from typing import NamedTuple

CITY = "rain 22 / snow 4 / fog 3 / - 71; night 22 / dusk 12 / - 66; heavy traffic 20 / - 80"
OPEN = "rain 20 / snow 6 / fog 9 / - 65; night 20 / dusk 10 / - 70; heavy traffic 20 / - 80"
COUNTRY = "rain 12 / snow 16 / fog 18 / - 54; night 36 / dusk 22 / - 42"
QUIET = "rain 12 / snow 12 / fog 2 / - 74; night 14 / dusk 16 / - 70"
COVERED = "heavy traffic 50 / - 50"
CLOSE = "close range 25 / - 75"


class Scenario(NamedTuple):
    """What clips of one name have in common: how many there are, and the slots of each group."""

    name: str
    count: int
    object_type: str
    actor_behavior: str
    spatial_relation: str
    ego_behavior: str
    scene_type: str


SCENARIOS = (
    Scenario(
        *("urban_cyclist_crossing", 18, "bicyclist; pedestrian 15 / - 85"),
        "crossing 80 / waiting to cross 20; entering ego path 35 / - 65",
        f"corridor 40 / right side 25 / left side 20 / roadside 15; {CLOSE}",
        "going straight 45 / slowing down 30 / stopped 15 / turning right 10",
        f"urban; intersection 45 / crosswalk 30 / - 25; {CITY}",
    ),
    Scenario(
        *("cyclist_cut_in", 15, "bicyclist", "entering ego path; overtaking 12 / - 88"),
        f"corridor 45 / split position 35 / right side 20; {CLOSE}",
        "going straight 40 / slowing down 35 / hard braking 15 / turning right 10",
        f"urban 65 / residential 20 / rural 15; intersection 15 / roundabout 8 / - 77; {QUIET}",
    ),
    Scenario(
        *("cyclist_roadside", 13, "bicyclist; pedestrian 12 / - 88"),
        "moving along road 70 / stationary 15 / overtaking 15",
        f"roadside 35 / right side 45 / adjacent 20; {CLOSE}",
        "going straight 60 / lane change 15 / slowing down 15 / turning right 10",
        f"urban 45 / rural 30 / residential 25; {QUIET}",
    ),
    Scenario(
        *("car2pedestrian", 16, "pedestrian; child 8 / - 92", "entering ego path 65 / crossing 35"),
        "corridor 65 / right side 20 / left side 15; close range 40 / - 60",
        "hard braking 35 / slowing down 25 / going straight 20 / turning left 12 / turning right 8",
        f"urban 75 / residential 25; crosswalk 25 / intersection 20 / - 55; {CITY}",
    ),
    Scenario(
        *("urban_pedestrian_crossing", 20, "pedestrian; bicyclist 12 / - 88"),
        "crossing 65 / waiting to cross 35; yielding 8 / - 92",
        "corridor 40 / roadside 35 / left side 12 / right side 13",
        "stopped 40 / slowing down 30 / turning left 10 / turning right 10 / going straight 10",
        f"urban; crosswalk 55 / intersection 30 / - 15; {CITY}",
    ),
    Scenario(
        *("intersection_turn", 16, "pedestrian 60 / bicyclist 25 / scooter rider 15"),
        "crossing 50 / entering ego path 30 / waiting to cross 20",
        f"corridor 40 / left side 30 / right side 30; {CLOSE}",
        "turning left 55 / turning right 45",
        f"urban; intersection; {CITY}",
    ),
    Scenario(
        *("child_street", 15, "child; pedestrian 20 / - 80"),
        "entering ego path 35 / crossing 35 / waiting to cross 20 / moving along road 10",
        f"roadside 40 / corridor 40 / right side 20; {CLOSE}",
        "slowing down 30 / hard braking 40 / stopped 15 / going straight 15",
        f"residential 75 / urban 25; crosswalk 25 / - 75; {QUIET}",
    ),
    Scenario(
        *("highway_merge", 20, "small vehicle 50 / large vehicle 50"),
        "moving along road 45 / yielding 20 / braking 15 / overtaking 20",
        "adjacent 60 / behind ego 20 / split position 10 / left side 10",
        "merging 75 / lane change 25; speeding up 25 / - 75",
        f"highway; {OPEN}",
    ),
    Scenario(
        *("highway_lane_change", 18, "large vehicle 50 / small vehicle 25 / motorcyclist 15 / bus 10"),
        "moving along road 50 / braking 20 / overtaking 20 / stationary 10",
        "adjacent 60 / corridor 25 / behind ego 15",
        "lane change; speeding up 20 / slowing down 15 / - 65",
        f"highway; construction zone 10 / - 90; {OPEN}",
    ),
    Scenario(
        *("highway_cut_in", 16, "small vehicle 60 / large vehicle 30 / motorcyclist 10", "entering ego path"),
        f"split position 40 / corridor 40 / adjacent 20; {CLOSE}",
        "slowing down 40 / hard braking 30 / going straight 30",
        f"highway; {OPEN}",
    ),
    Scenario(
        *("highway_follow", 14, "small vehicle 60 / large vehicle 40", "braking 60 / moving along road 40"),
        f"corridor 75 / behind ego 25; {CLOSE}",
        "slowing down 45 / hard braking 25 / going straight 30",
        f"highway; {OPEN}",
    ),
    Scenario(
        *("highway_overtaken", 14, "small vehicle 40 / motorcyclist 25 / large vehicle 10 / bus 25", "overtaking"),
        "left side 45 / adjacent 40 / behind ego 15",
        "going straight 70 / slowing down 15 / speeding up 15",
        f"highway; {OPEN}",
    ),
    Scenario(
        *("urban_motorcycle", 14, "motorcyclist"),
        "overtaking 50 / entering ego path 25 / moving along road 25",
        f"left side 35 / right side 20 / adjacent 20 / split position 25; {CLOSE}",
        "going straight 45 / stopped 30 / slowing down 25",
        f"urban; intersection 25 / - 75; heavy traffic 40 / - 60; {CITY}",
    ),
    Scenario(
        *("urban_scooter", 14, "scooter rider; pedestrian 10 / - 90"),
        "entering ego path 40 / crossing 15 / moving along road 40 / overtaking 5",
        f"roadside 35 / right side 15 / split position 30 / corridor 20; {CLOSE}",
        "going straight 45 / slowing down 30 / hard braking 15 / turning right 10",
        f"urban 80 / residential 20; crosswalk 15 / - 85; {CITY}",
    ),
    Scenario(
        *("parked_vehicle", 16, "small vehicle 45 / large vehicle 40 / bus 15", "stationary; pulling out 20 / - 80"),
        "roadside 45 / corridor 25 / split position 15 / opposite lane 15",
        "going straight 45 / lane change 25 / slowing down 30",
        f"urban 45 / residential 35 / rural 20; {QUIET}",
    ),
    Scenario(
        *("driveway", 11, "small vehicle 75 / large vehicle 25", "pulling out 70 / reversing 30"),
        f"right side 45 / left side 25 / corridor 30; {CLOSE}",
        "slowing down 45 / hard braking 30 / going straight 25",
        f"residential; {QUIET}",
    ),
    Scenario(
        *("parking_lot", 15, "small vehicle 50 / large vehicle 50; pedestrian 40 / - 60"),
        "reversing 50 / pulling out 30 / stationary 20",
        f"left side 25 / right side 25 / corridor 30 / roadside 20; {CLOSE}",
        "slowing down 35 / stopped 35 / turning left 15 / turning right 15",
        f"parking lot; {QUIET}",
    ),
    Scenario(
        *("bus_stop", 14, "bus; pedestrian 25 / - 75", "pulling out 40 / stationary 30 / braking 30"),
        "right side 25 / corridor 50 / roadside 25",
        "slowing down 40 / stopped 25 / lane change 20 / going straight 15",
        f"urban 75 / residential 25; {CITY}",
    ),
    Scenario(
        *("emergency_overtaking", 8, "emergency vehicle; small vehicle 15 / - 85", "overtaking"),
        f"behind ego 70 / left side 30; {CLOSE}",
        "stopped 25 / slowing down 40 / lane change 25 / going straight 10",
        f"urban 60 / highway 40; {CITY}",
    ),
    Scenario(
        *("emergency_intersection", 8, "emergency vehicle", "crossing 45 / oncoming 30 / stationary 25"),
        f"corridor 60 / opposite lane 40; {CLOSE}",
        "stopped 60 / slowing down 40",
        f"urban; intersection; {CITY}",
    ),
    Scenario(
        *("rural_animal", 15, "animal", "crossing 35 / entering ego path 30 / stationary 10 / moving along road 25"),
        f"corridor 45 / roadside 45 / right side 5 / left side 5; {CLOSE}",
        "slowing down 40 / hard braking 30 / stopped 10 / going straight 20",
        f"rural 85 / residential 15; {COUNTRY}",
    ),
    Scenario(
        *("rural_oncoming", 14, "small vehicle 55 / large vehicle 30 / motorcyclist 15; pedestrian 25 / - 75"),
        "oncoming; overtaking 10 / - 90",
        "opposite lane 65 / split position 10 / roadside 25",
        "going straight 60 / slowing down 40",
        f"rural; {COUNTRY}",
    ),
    Scenario(
        *("left_turn_oncoming", 14, "small vehicle 60 / large vehicle 15 / motorcyclist 15 / bus 10"),
        "oncoming 65 / yielding 35",
        "opposite lane 70 / left side 30",
        "turning left 75 / u-turn 25; stopped 15 / - 85",
        f"urban 80 / rural 20; intersection; {CITY}",
    ),
    Scenario(
        *("roundabout", 15, "small vehicle 45 / large vehicle 40 / bicyclist 15"),
        "entering ego path 35 / leaving ego path 45 / yielding 20",
        "left side 45 / corridor 35 / right side 20",
        "slowing down 40 / stopped 25 / turning right 20 / going straight 15",
        f"roundabout; urban 50 / rural 35 / residential 15; {CITY}",
    ),
    Scenario(
        *("construction_zone", 10, "small vehicle 40 / large vehicle 60; pedestrian 25 / - 75"),
        "stationary 35 / entering ego path 25 / reversing 20 / leaving ego path 20",
        "split position 45 / corridor 25 / roadside 20 / adjacent 10",
        "slowing down 40 / stopped 30 / lane change 20 / merging 10",
        f"construction zone; urban 60 / highway 30 / rural 10; {OPEN}",
    ),
    Scenario(
        *("tunnel_works", 3, "small vehicle 40 / large vehicle 60", "stationary 60 / entering ego path 40"),
        *("split position 60 / roadside 40", "slowing down 50 / stopped 50", f"construction zone; tunnel; {COVERED}"),
    ),
    Scenario(
        *("tunnel_traffic", 12, "small vehicle 60 / large vehicle 30 / motorcyclist 10"),
        "braking 40 / moving along road 35 / leaving ego path 25",
        "corridor 55 / adjacent 30 / behind ego 15",
        "going straight 45 / slowing down 35 / lane change 20",
        f"tunnel; urban 50 / highway 50; {COVERED}",
    ),
    Scenario(
        *("leaving_path", 12, "small vehicle 50 / large vehicle 30 / motorcyclist 20", "leaving ego path"),
        "corridor 40 / adjacent 35 / right side 25",
        "speeding up 45 / going straight 45 / turning left 10",
        f"highway 40 / urban 40 / rural 20; {OPEN}",
    ),
    Scenario(
        *(
            "u_turn",
            8,
            "small vehicle 60 / pedestrian 20 / bicyclist 20",
            "yielding 40 / waiting to cross 20 / oncoming 40",
        ),
        "opposite lane 55 / left side 25 / behind ego 20",
        "u-turn",
        f"urban 50 / residential 50; {QUIET}",
    ),
    Scenario(
        *("highway_pedestrian", 2, "pedestrian", "crossing 50 / moving along road 50", "roadside 70 / corridor 30"),
        *("hard braking 60 / slowing down 40", f"highway; {OPEN}"),
    ),
)

STAGED = {
    "urban_cyclist_crossing_001": (
        *("bicyclist", "crossing|entering ego path", "corridor", "going straight", "urban|intersection"),
    ),
    "highway_merge_002": ("small vehicle", "moving along road", "adjacent", "lane change", "highway"),
    "car2pedestrian_001": ("pedestrian", "entering ego path", "corridor|close range", "hard braking", "urban"),
}
"""Clips that are written by hand, since the protocol's examples speak of them."""
