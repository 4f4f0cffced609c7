"""The best scores known of the built-in tasks' instances, and where they are from."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from behavesim.task import Direction, Objective, Split

# The splits in the order of the seeds from which their instances are drawn.
ORDER: tuple[Split, ...] = ("search", "validation", "held-out", "shifted")


@dataclass(frozen=True)
class Known:
    """The best scores known of a task: for each split one score for each instance, or their mean alone.

    A split is empty if no scores are known. `source` says where the scores are from; `shifted_source` replaces it for
    shifted instances unless it is empty.
    """

    source: str
    search: tuple[float, ...] = ()
    validation: tuple[float, ...] = ()
    held_out: tuple[float, ...] = ()
    shifted: tuple[float, ...] = ()
    shifted_source: str = ""

    def objective(self, direction: Direction, unit: str, split: Split = "search") -> Objective:
        """Return the objective on a split: its best known score is the mean of the split's, None if none is known.

        `unit` says what scores are numbers of.
        """
        scores = (self.search, self.validation, self.held_out, self.shifted)[ORDER.index(split)]
        mean = math.fsum(scores) / len(scores) if scores else None
        source = self.shifted_source if split == "shifted" and self.shifted_source else self.source
        return Objective(direction, mean, source, unit)


ASP = Known("optimal: one vector for each support, as FunSearch found", search=(3003,), validation=(792,))
BIN_PACKING = Known(
    "lower bounds: the sum of the sizes divided by the capacity",
    search=(2018, 2019, 2008, 2007, 2005),
    validation=(404, 405, 2013, 2001),
    held_out=(203, 409, 805, 2016, 4017),
    shifted=(399, 2024, 257, 1276, 1247),
)
BIN_PACKING_WEIBULL5K = replace(BIN_PACKING, held_out=(2012, 1983, 1978, 1986, 1980))
CAP_SET = Known(
    "FunSearch (2023) for n = 8, and Edel (2004) below; proved up to n = 6",
    search=(512,),
    validation=(112,),
    held_out=(20, 45, 236),
)
CIRCLE_PACKING = Known(
    "as E. Specht's list at Packomania has them (2026), not proved; rounded up, as 1e-9 of overlap is allowed",
    search=(2.6359832, 2.9395729),
    validation=(2.3011229, 2.7903443),
    held_out=(1.9802666, 2.4780137, 2.8426688, 3.0740365),
)
CVRP = Known(
    "found by PyVRP 0.14, not proved",
    search=(10.663235, 9.184651, 13.559479, 9.721660, 10.108989),
    validation=(7.468346, 6.838140, 10.777519, 9.026552),
    held_out=(7.355151, 8.024627, 9.883183, 11.182084, 13.279907, 14.013546, 15.085765),
    shifted=(13.244063, 11.344596, 11.658253, 15.687569, 16.966791),
)
FACILITY_LOCATION = Known(
    "found by a tabu search, not proved",
    search=(73268, 70487, 67298, 70705, 68503, 70582),
    validation=(55273, 52873, 75595),
    held_out=(50730, 51227, 72648, 69837, 72182, 90500, 86719),
)
FLOW_SHOP = Known(
    "optimal, as published with Taillard's instances",
    search=(1278, 1359, 1582, 1659),
    validation=(1081, 1293, 1496),
    held_out=(1235, 1195, 1377, 1419),
)
GRAPH_COLOURING = Known(
    "found by CP-SAT of OR-tools, half of them proved; of queens as published",
    search=(7, 9, 10, 12, 12, 9, 17, 12),
    validation=(7, 12, 9, 15),
    held_out=(5, 11, 11, 12, 8, 9, 16, 10),
)
INDEPENDENT_SET = Known(
    "by CP-SAT of OR-tools, all but one proved optimal",
    search=(56, 32, 63, 21, 55, 29, 64, 20),
    validation=(55, 32, 61, 20),
    held_out=(53, 30, 61, 20, 59, 35, 72, 16),
)
JOB_SHOP = Known(
    "optimal, as published with Taillard's instances",
    search=(1231, 1244, 1357),
    validation=(1218, 1175, 1367),
    held_out=(1224, 1238, 1227, 1342, 1345, 1339, 55),
    shifted=(1491, 1452, 1514, 1659, 1625),
    shifted_source="optimal, by CP-SAT of OR-tools",
)
KNAPSACK = Known(
    "optimal, by CP-SAT of OR-tools",
    search=(23235, 40661, 61207, 23708, 44752, 56943),
    validation=(11585, 21052, 61217, 25202),
    held_out=(11562, 21743, 61707, 22918, 43201, 59795),
)
OFFLINE_BIN_PACKING = Known(
    "lower bounds: the sum of the sizes divided by the capacity; of triplets it is the optimum",
    search=(20, 49, 20, 46, 20, 51, 20, 50, 20, 47),
    validation=(20, 30, 46, 50),
    held_out=(20, 40, 60, 50, 101),
)
OVRP = Known(
    "found by PyVRP 0.14, not proved",
    search=(6.443278, 5.919516, 7.920993, 6.603655, 6.355882),
    validation=(4.754094, 4.377051, 6.724353, 5.941316),
    held_out=(4.767864, 4.938236, 6.406040, 6.989520, 8.738523, 9.307646, 9.383572),
)
QAP = Known(
    "best of 20 000 descents by exchanges of two, not proved",
    search=(1391, 1503, 1584, 1528, 1679, 1666),
    validation=(505, 955, 1301, 1364),
    held_out=(380, 916, 1788, 1387, 2596, 2823),
)
SET_COVER = Known(
    "found by a local search, not proved",
    search=(5640, 5650, 5729, 5658, 5675),
    validation=(3623, 5603, 5511),
    held_out=(3640, 3860, 5588, 5588, 7432, 7714),
)
TSP = Known(
    "optimal, by branch and cut",
    search=(5.623624,),
    validation=(5.730953,),
    held_out=(6.820688,),
    shifted=(4.234803,),
)
TSP_LARGE = Known(
    "found by LKH 3, not proved",
    search=(10.669984, 6.719799, 10.92278, 7.873891),
    validation=(9.442521, 6.077348, 10.926122, 5.496917),
    held_out=(10.637483, 7.445514, 13.284282, 7.734358),
)
TSP_HARD = Known(
    "found by LKH 3, not proved",
    search=(10.638555, 5.646526, 13.264768, 8.297621, 16.418515, 10.436508),
    validation=(12.015765, 8.040378, 14.951798, 9.560358),
    held_out=(10.722355, 6.449832, 13.180281, 8.214507, 14.871385, 9.259908, 16.681526, 11.065864),
)
VRPTW = Known(
    "found by PyVRP 0.14, not proved",
    search=(11.739860, 11.281857, 11.191992, 10.643509, 9.238106),
    validation=(7.416797, 7.813011, 12.110371, 12.049833),
    held_out=(6.852425, 6.953496, 10.595940, 13.148528, 12.853953, 14.989654, 18.734017),
)
