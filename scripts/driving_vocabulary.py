"""The keywords of the driving sample: by group, and what each may be mistaken for."""

from __future__ import annotations

GROUPS = ("pv_object_type", "pv_actor_behavior", "pv_spatial_relation", "pv_ego_behavior", "pv_scene_type")

VOCABULARY = {
    "pv_object_type": (
        *("animal", "bicyclist", "bus", "child", "emergency vehicle", "large vehicle", "motorcyclist", "pedestrian"),
        *("scooter rider", "small vehicle"),
    ),
    "pv_actor_behavior": (
        *(
            "braking",
            "crossing",
            "entering ego path",
            "leaving ego path",
            "moving along road",
            "oncoming",
            "overtaking",
        ),
        *("pulling out", "reversing", "stationary", "waiting to cross", "yielding"),
    ),
    "pv_spatial_relation": (
        *("adjacent", "behind ego", "close range", "corridor", "left side", "opposite lane", "right side", "roadside"),
        "split position",
    ),
    "pv_ego_behavior": (
        *("going straight", "hard braking", "lane change", "merging", "slowing down", "speeding up", "stopped"),
        *("turning left", "turning right", "u-turn"),
    ),
    "pv_scene_type": (
        *("construction zone", "crosswalk", "dusk", "fog", "heavy traffic", "highway", "intersection", "night"),
        *("parking lot", "rain", "residential", "roundabout", "rural", "snow", "tunnel", "urban"),
    ),
}

LOOK_ALIKES = {
    "bicyclist": ("motorcyclist", "scooter rider"),
    "motorcyclist": ("bicyclist", "scooter rider"),
    "scooter rider": ("bicyclist", "pedestrian"),
    "pedestrian": ("child", "scooter rider"),
    "child": ("pedestrian",),
    "large vehicle": ("bus",),
    "bus": ("large vehicle",),
    "emergency vehicle": ("large vehicle",),
    "entering ego path": ("leaving ego path", "crossing"),
    "leaving ego path": ("entering ego path",),
    "crossing": ("waiting to cross", "entering ego path"),
    "waiting to cross": ("crossing", "stationary"),
    "braking": ("stationary",),
    "stationary": ("braking",),
    "pulling out": ("reversing", "entering ego path"),
    "reversing": ("pulling out",),
    "merging": ("lane change",),
    "lane change": ("merging",),
}
"""What a keyword may be mistaken for in a clip's vector; never in its annotations."""
