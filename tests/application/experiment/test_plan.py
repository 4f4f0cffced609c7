"""What an experiment's file plans, and what it is told when it cannot."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from behavesim.application.experiment.plan import Planned, plan, read_experiment
from behavesim.base.errors import UsageError

SHIPPED = sorted((Path(__file__).parents[3] / "experiments").glob("*.toml"))


def planned(tmp_path: Path, text: str) -> list[Planned]:
    file = tmp_path / "experiment.toml"
    file.write_text(text)
    return plan(read_experiment(file), "genetic")


def test_every_task_method_and_seed_is_run_seed_by_seed(tmp_path: Path) -> None:
    runs = planned(tmp_path, 'name = "x"\ntasks = ["tsp", "asp"]\nmethods = ["eoh", "niche"]\nseeds = [7, 3]')
    assert [run.name for run in runs] == [
        f"{task}-{method}-seed{seed}" for seed in (3, 7) for task in ("tsp", "asp") for method in ("eoh", "niche")
    ]
    assert {run.settings.proposer for run in runs} == {"genetic"}


def test_settings_hold_for_all_and_those_of_a_variant_win(tmp_path: Path) -> None:
    runs = planned(
        tmp_path,
        """
        name = "x"
        tasks = ["tsp"]
        methods = ["eoh", "eoh+behavesim"]
        seeds = 1
        [settings]
        population = 10
        budget = 50
        [[variant]]
        name = "small"
        settings = { population = 5 }
        [[variant]]
        name = "as set"
        [[variant]]
        name = "control"
        settings = { method = "niche", niche_radius = 0.0 }
        """,
    )
    found = {run.settings.label: (run.settings.method, run.settings.flat().get("population")) for run in runs}
    assert found == {
        "eoh small": ("eoh", 5),
        "eoh as set": ("eoh", 10),
        "eoh+behavesim small": ("eoh+behavesim", 5),
        "eoh+behavesim as set": ("eoh+behavesim", 10),
        "control": ("niche", None),
    }
    assert {run.settings.budget for run in runs} == {50}


def test_the_defaults_of_a_task_are_its_own(tmp_path: Path) -> None:
    tsp, asp = planned(tmp_path, 'name = "x"\ntasks = ["tsp", "asp"]\nmethods = ["niche"]\nseeds = 1')
    assert (tsp.settings.budget, tsp.settings.flat()["niche_radius"]) == (2000, 0.3)
    assert (asp.settings.budget, asp.settings.flat()["niche_radius"]) == (10_000, 0.7)


def test_a_task_can_have_settings_of_its_own(tmp_path: Path) -> None:
    head = 'name = "x"\ntasks = ["tsp", "asp"]\nmethods = ["eoh"]\nseeds = 1\n[settings]\nbudget = 50\nwindow = 8\n'
    tsp, asp = planned(tmp_path, f"{head}[task_settings.asp]\nbudget = 20")
    assert [(run.settings.budget, run.settings.window) for run in (tsp, asp)] == [(50, 8), (20, 8)]
    with pytest.raises(UsageError, match="no run of the experiment has a setting 'niche_radius'"):
        planned(tmp_path, f"{head}[task_settings.asp]\nniche_radius = 0.1")
    with pytest.raises(UsageError, match="settings for task 'cpp'; its tasks are tsp, asp"):
        planned(tmp_path, f"{head}[task_settings.cpp]\nbudget = 20")


def test_each_task_can_have_seeds_of_its_own(tmp_path: Path) -> None:
    head = 'name = "x"\ntasks = ["tsp", "asp"]\nmethods = ["eoh"]\n[seeds]\ntsp = 2\n'
    runs = planned(tmp_path, f"{head}asp = [9]")
    assert [(run.settings.task, run.settings.seed) for run in runs] == [("tsp", 0), ("tsp", 1), ("asp", 9)]
    with pytest.raises(UsageError, match="no seeds for task 'asp'"):
        planned(tmp_path, head)


def test_groups_that_differ_in_their_names_alone_are_refused(tmp_path: Path) -> None:
    text = """
        name = "x"
        tasks = ["tsp"]
        methods = ["funsearch", "funsearch+behavesim"]
        seeds = 2
        [[variant]]
        name = "plain"
        [[variant]]
        name = "never"
        settings = { p_s1 = 0.0 }
        """
    with pytest.raises(UsageError, match=r"'funsearch plain' and 'funsearch never' have the same settings on tsp;"):
        planned(tmp_path, text)
    assert len(planned(tmp_path, text.replace("p_s1 = 0.0", "islands = 3"))) == 8


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('tasks = ["tsp"]', "name"),
        ('name = "../away"\ntasks = ["tsp"]', "name"),
        ('name = "x"\ntasks = []', "tasks"),
        ('name = "x"\ntasks = ["tsp"]\nseeds = 0', "seeds"),
        ('name = "x"\ntasks = ["tsp"]', "names no method: give `methods`"),
        ('name = "x"\ntasks = ["tsp"]\n[settings]\nmethod = "eoh"\n[[variant]]\nname = "a"', "names no method"),
        ('name = "x"\ntasks = ["tsp"]\nmethods = ["foo"]', "no method 'foo'"),
        (
            'name = "x"\ntasks = ["tsp"]\nmethods = ["eoh"]\n[settings]\np_s1 = 0.5',
            "no run of the experiment has a setting 'p_s1'",
        ),
        ('name = "x"\ntasks = ["tsp"]\nseedz = 3', "did you mean 'seeds'"),
        ('name = "x"\ntasks = ["tsp"]\n[[variant]]\nname = "a"\nsetting = {}', "did you mean 'settings'"),
        ('name = "x"\ntasks = ["tsp"]\nbudget = 3', "'budget'; a setting belongs in `settings`"),
        ('name = "x"\ntasks = ["tsp"]\nqqq = 3', "there are name, tasks, methods"),
        ('name = "x"\ntasks = ["nosuch"]\nmethods = ["eoh"]', "nosuch"),
        ('name = "x"\ntasks = ["tsp"]\nmethods = ["eoh"]\n[settings]\nwidnow = 3', "did you mean 'window'"),
        ('name = "x"\ntasks = ["tsp"]\nmethods = ["eoh", "niche"]\ntests = [["eoh", "nich"]]', "'nich'"),
        (f'name = "{"a" * 241}"\ntasks = ["tsp"]\nmethods = ["eoh"]', "should be made of at most 240 letters"),
        ('name = "x"\ntasks = ["tsp"]\nmethods = ["eoh"]\ntests = [["eoh", "eoh"]]', "tests 'eoh' against itself"),
        ('name = "x"\ntasks = ["tsp"]\nmethods = ["eoh", "eoh"]', "name each task, method and variant once"),
        (
            f'name = "x"\ntasks = ["tsp"]\nmethods = ["eoh"]\n[[variant]]\nname = "{"a" * 240}"',
            "has more than 240 bytes",
        ),
        ('name = "x"\ntasks = ["tsp"]\nmethods = ["eoh"]\n[settings]\nseed = 5', "'seed'; the key `seeds` says it"),
        ('name = "x"\ntasks = ["tsp"]\nmethods = ["eoh"]\n[task_settings.tsp]\ntask = "asp"', "the key `tasks`"),
        (
            'name = "x"\ntasks = ["tsp"]\nmethods = ["eoh"]\n[[variant]]\nname = "a"\nsettings = {seed = 5}',
            "the key `seeds` says it",
        ),
    ],
)
def test_a_slip_is_named_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        planned(tmp_path, text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('name = "x"', "tasks is missing"),
        ('name = "x y"\ntasks = ["tsp"]', "name should be made of at most 240 letters, digits and . _ + -"),
        ('name = "x"\ntasks = []', "tasks should have 1 or more entries, not []"),
        ('name = "x"\ntasks = "tsp"', "tasks should be a list, not 'tsp'"),
        ('name = "x"\ntasks = ["tsp"]\nseeds = "all"', "seeds should be a whole number from 1 to 10000, a list"),
        (
            'name = "x"\ntasks = ["tsp"]\nseeds = 1000000000000',
            "seeds should be a whole number from 1 to 10000, a list",
        ),
        ('name = "x"\ntasks = ["tsp"]\nseeds = []', "seeds should be a whole number from 1 to 10000, a list"),
        ('name = "x"\ntasks = ["tsp"]\nheld_out = "maybe"', "held_out should be true or false, not 'maybe'"),
        ('name = "x"\ntasks = ["tsp"]\n[[variant]]\nname = " a"', "variant.0.name should be text without white space"),
        ('name = "x"\ntasks = ["tsp"]\nsettings = 3', "settings should be a table, not 3"),
    ],
)
def test_it_is_said_in_words_what_was_expected(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"experiment.toml: {said}")):
        planned(tmp_path, text)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_shipped_experiments_can_be_planned(path: Path) -> None:
    experiment = read_experiment(path)
    runs = plan(experiment, "genetic")
    assert experiment.name == path.stem
    assert {run.settings.proposer for run in runs} == {"openai" if path.stem.endswith("-model") else "genetic"}
    assert len({run.name for run in runs}) == len(runs)


def test_the_papers_table_is_shipped_for_the_model_and_offline() -> None:
    assert {path.stem for path in SHIPPED} >= {"main-model", "main-offline", "ablation-model", "ablation-offline"}
    for name in ("main-model", "main-offline"):
        methods = read_experiment(next(path for path in SHIPPED if path.stem == name)).methods
        assert set(methods) >= {"funsearch", "funsearch+behavesim", "eoh", "eoh+behavesim", "best-of-n"}
