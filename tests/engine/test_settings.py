"""What settings are accepted, a run reads back from its files as they are; all else is refused before it begins."""

from __future__ import annotations

import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from behavesim.base.config import OWN, Settings
from behavesim.base.errors import UsageError
from behavesim.engine.admission import changed_settings, settings_from_person
from behavesim.state.events import RunStarted
from behavesim.state.settings import METHODS, PROPOSERS, is_foreign, owners, settings_from_journal
from behavesim.store.codec import decode, encode
from behavesim.store.folder import RunFolder
from behavesim.task import TaskReference

NUMBERS = st.one_of(st.floats(0, 1), st.integers(1, 100), st.integers(-(2**70), 2**70), st.floats())
KINDS = {bool: st.booleans(), str: st.text(max_size=8)}
PRICES = st.dictionaries(
    st.text(max_size=4), st.dictionaries(st.sampled_from(("prompt", "completion", "cached")), NUMBERS), max_size=2
)
KEPT = ("task", "method", "proposer", "prompts")
"""Settings that name a part, which the property draws by itself or leaves alone."""


def names(method: str, proposer: str) -> list[str]:
    options = [owner.options for owner in owners(method, proposer) if owner.options]
    found = (name for each in options for name, field in each.model_fields.items() if not field.exclude)
    return sorted(set(found) - set(KEPT))


@cache
def defaults_of(method: str, proposer: str) -> dict[str, Any]:
    return settings_from_person({"task": "tsp", "method": method, "proposer": proposer}).flat()


@st.composite
def drawn(draw: st.DrawFn) -> dict[str, Any]:
    """One to three settings of a method and a proposer, with values of every kind."""
    method = draw(st.sampled_from(METHODS.installed()))
    proposer = draw(st.sampled_from(PROPOSERS.installed()))
    chosen = draw(st.lists(st.sampled_from(names(method, proposer)), min_size=1, max_size=3, unique=True))
    defaults = defaults_of(method, proposer)
    kinds = {name: KINDS.get(type(defaults[name]), NUMBERS) for name in chosen}
    values = {name: draw(PRICES if name == "prices" else kind) for name, kind in kinds.items()}
    return {"task": "tsp", "method": method, "proposer": proposer, **values}


def read_back(folder: Path, accepted: Settings) -> tuple[Settings, Settings]:
    """The settings as the run's TOML file and as its journal give them back."""
    run = RunFolder(folder)
    run.write_settings(accepted.flat())
    event = decode(*encode(RunStarted(accepted.flat(), {}, "strong")))
    assert isinstance(event, RunStarted)
    return settings_from_journal(run.read_settings()), settings_from_journal(event.settings)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=drawn())
def test_whatever_is_accepted_reads_back_equal(tmp_path: Path, values: dict[str, Any]) -> None:
    try:
        accepted = settings_from_person({}, defaults=values)
    except UsageError:
        return
    assert read_back(tmp_path, accepted) == (accepted, accepted)


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("funsearch", "timeout_s"),
        ("funsearch", "max_cost_usd"),
        ("funsearch", "max_time_s"),
        ("funsearch", "shortlist_radius"),
        ("funsearch", "restart_every_s"),
        ("funsearch", "score_scale"),
        ("niche", "niche_radius"),
        ("funsearch", "p_s1"),
    ],
)
def test_a_number_that_is_none_is_refused_by_name(method: str, name: str, value: str) -> None:
    with pytest.raises(UsageError, match=rf"setting {name} should be .*, not -?(inf|nan)"):
        settings_from_person({"task": "tsp", "method": method}, [f"{name}={value}"])


@pytest.mark.parametrize("kind", ["prompt", "completion", "cached", "cache_write"])
def test_a_price_that_is_no_number_is_refused(kind: str) -> None:
    prices = "prices={ m = {prompt = 1.0, completion = 1.0, cached = 1.0, cache_write = 1.0} }"
    with pytest.raises(UsageError, match=rf"setting prices.m.{kind} should be a finite number, not nan"):
        settings_from_person({"task": "tsp"}, [prices.replace(f"{kind} = 1.0", f"{kind} = nan")])


def test_a_tasks_own_radius_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    task = TaskReference("tsp").load()
    monkeypatch.setattr(task, "niche_radius", float("nan"))
    with pytest.raises(UsageError, match="setting niche_radius should be a finite number, not nan"):
        settings_from_person({"task": "tsp", "method": "niche"}, task=task)


OWN_METHOD = """
import datetime, math
from typing import Any
from pydantic import ConfigDict
import behavesim as bs
from behavesim.methods.baselines import BestOfN

class Settings(bs.MethodSettings):
    {setting}

class Method(BestOfN):
    settings_type = Settings

method = Method
"""


@pytest.mark.parametrize(
    ("setting", "given", "shown"),
    [
        ("wait: float = math.inf", None, "inf"),
        ("wait: Any = math.nan", None, "nan"),
        ("wait: Any = math.inf", None, "inf"),
        ("wait: Any = 1", float("inf"), "inf"),
        ("wait: Any = 1", [1.0, float("nan")], "nan"),
        ("wait: int | None = 3", None, "None"),
        ("wait: Any = 1", datetime.date(2020, 1, 2), "datetime.date"),
        ("model_config = ConfigDict(allow_inf_nan=True)\n    wait: float = 1", float("inf"), "inf"),
    ],
)
def test_whatever_a_method_of_ones_own_declares_is_refused_where_it_would_be_lost(
    tmp_path: Path, setting: str, given: Any, shown: str
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN_METHOD.format(setting=setting))
    values = {"task": "tsp", "method": str(file)}
    if given is not None or "None" in setting:
        values["wait"] = given
    with pytest.raises(UsageError, match=f"setting wait cannot be .*{shown}.*, which the run's files"):
        settings_from_person({}, defaults=values)


def test_a_setting_of_ones_own_that_is_kept_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN_METHOD.format(setting="wait: float | None = None\n    kinds: tuple[str, ...] = ('a',)"))
    accepted = settings_from_person({"task": "tsp", "method": str(file)})
    assert [each.flat() for each in read_back(tmp_path, accepted)] == [accepted.flat()] * 2


def test_every_default_is_kept(tmp_path: Path) -> None:
    for method in METHODS.installed():
        accepted = settings_from_person({"task": "tsp", "method": method})
        assert read_back(tmp_path, accepted) == (accepted, accepted)
    assert set(KEPT) <= OWN


def test_a_file_is_kept_by_its_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(OWN_METHOD.format(setting="wait: int = 3"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "improve.md").write_text("Write another.\n")
    monkeypatch.chdir(tmp_path)
    own = settings_from_person({"task": "tsp", "method": "mine.py", "prompts": "folder"})
    assert (own.method, own.prompts) == (str(tmp_path / "mine.py"), str(tmp_path / "folder"))
    named = settings_from_person({"task": "tsp", "method": "eoh", "proposer": "genetic", "prompts": "paper"})
    assert (named.method, named.proposer, named.prompts) == ("eoh", "genetic", "paper")


def test_what_is_not_given_is_left_to_the_task_and_before_it_to_other_defaults() -> None:
    task = TaskReference("tsp").load()
    given = settings_from_person({"task": "tsp", "seed": None}, task=task, defaults={"seed": 4, "budget": 7})
    assert (given.seed, given.budget, given.timeout_s) == (4, task.budget, task.timeout_s)


@pytest.mark.parametrize(
    ("assignment", "value"),
    [
        ("label = a b ", "a b"),
        ('label="a = b"', "a = b"),
        ("label=a=b", "a=b"),
        ("seed = 3", 3),
        ("recommend=false", False),
    ],
)
def test_an_assignment_is_toml_or_else_text(assignment: str, value: Any) -> None:
    found = settings_from_person({"task": "tsp"}, [assignment]).flat()
    assert found[assignment.partition("=")[0].strip()] == value


def test_settings_change_by_flags_and_assignments_and_lose_those_of_a_part_that_was_replaced() -> None:
    before = settings_from_person({"task": "tsp", "method": "eoh", "population": 8, "seed": 4})
    after = changed_settings(before, {"seed": 5, "budget": None}, ["window=2"])
    assert after.flat() == {**before.flat(), "seed": 5, "window": 2}
    assert "population" not in changed_settings(before, {"method": "funsearch"}).flat()
    with pytest.raises(UsageError, match="there is no setting 'widnow'; did you mean 'window'"):
        changed_settings(before, {}, ["widnow=2"])


OWN_PROPOSER = """
import behavesim as bs

class Settings(bs.ProposerSettings):
    {setting}

class Proposer(bs.Proposer):
    settings_type = Settings

    async def propose(self, prompt, number):
        return bs.Reply("", "mine")

proposer = Proposer
"""


@pytest.mark.parametrize(
    ("part", "text", "other"),
    [("method", OWN_METHOD, {"proposer": "openai"}), ("proposer", OWN_PROPOSER, {"method": "funsearch"})],
)
def test_no_part_of_ones_own_may_call_a_setting_as_every_run_or_the_other_part_does(
    tmp_path: Path, part: str, text: str, other: dict[str, str]
) -> None:
    file = tmp_path / "mine.py"
    values = {"task": "tsp", part: str(file), **other}
    for owner in owners(**other):
        assert owner.options is not None
        for name in owner.options.model_fields:
            file.write_text(text.format(setting=f"{name}: int = 7"))
            with pytest.raises(UsageError) as refused:
                settings_from_person({}, defaults=values)
            said = (f"setting {name!r}", owner.name, f"{part} {file}", "rename it")
            assert all(each in str(refused.value) for each in said), refused.value


def test_the_parts_that_are_installed_share_no_name_with_every_run_or_with_one_another() -> None:
    for method in METHODS.installed():
        for proposer in PROPOSERS.installed():
            settings_from_person({"task": "tsp", "method": method, "proposer": proposer})


@pytest.mark.parametrize("part", ["method", "proposer"])
def test_a_journal_is_read_though_a_part_is_not_installed_any_more(part: str) -> None:
    known = settings_from_person({"task": "tsp", "method": "eoh", "population": 8, "proposer": "openai"}).flat()
    read = settings_from_journal({**known, part: "gone", "its_own": 3})
    kept = read.flat()
    assert (kept[part], kept["task"], "its_own" in kept) == ("gone", "tsp", False)
    assert ("population" in kept, "models" in kept) == (part != "method", part != "proposer")
    with pytest.raises(UsageError, match="setting seed should be"):
        settings_from_journal({**known, part: "gone", "seed": -1})


def test_a_journal_that_names_what_no_part_has_is_refused() -> None:
    known = settings_from_person({"task": "tsp"}).flat()
    with pytest.raises(UsageError, match="there is no setting 'zzzz'; `behavesim list settings` lists them all"):
        settings_from_journal({**known, "zzzz": 3})


def test_owners_are_every_run_and_the_parts_that_are_named_or_all_that_there_are() -> None:
    assert [owner.name for owner in owners("eoh")] == ["every run", "method eoh"]
    assert [owner.name for owner in owners(proposer="openai")] == ["every run", "proposer openai"]
    count = 1 + len(METHODS.installed()) + len(PROPOSERS.installed())
    assert len(owners()) == count
    with pytest.raises(UsageError, match="no method 'eho'"):
        owners("eho")


@pytest.mark.parametrize(
    ("key", "method", "foreign"),
    [("population", "eoh", False), ("population", "funsearch", True), ("seed", "eoh", False), ("zzzz", "eoh", False)],
)
def test_a_setting_is_foreign_if_only_other_parts_have_it(key: str, method: str, foreign: bool) -> None:
    assert is_foreign(key, {"method": method}) == foreign
