"""Logs runs to MLflow: settings as parameters, a metric for each number, and the best program as an artifact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Metric, Param

from behavesim.application.trackers.tracking import Row

# The name of the MLflow experiment that holds all runs.
EXPERIMENT = "behavesim"
# Name of the tag that holds a run's key; `begin` finds the log of a run by it.
KEY = "behavesim.key"
# Name of the tag that holds a run's name.
RUN = "behavesim.run"
# Number of characters to which the text of a parameter is cut: MLflow refuses more than 6000.
LONGEST = 5000
# Largest number of metrics in one call, because MLflow refuses more; further metrics take further calls.
MOST = 1000


class MLflow:
    """A `Tracker` that logs runs to an MLflow store."""

    def __init__(self, target: str) -> None:
        """`target` is a tracking URI such as "sqlite:///mlflow.db" or "http://HOST:5000", or a folder."""
        self._client = MlflowClient(tracking_uri=target)
        self._id = ""

    def begin(self, key: str, name: str, settings: Mapping[str, str]) -> int:
        """Open the MLflow run whose tag KEY is `key`, or create it as `name`; return its last step, 0 for a new one."""
        known = self._client.get_experiment_by_name(EXPERIMENT)
        experiment = self._client.create_experiment(EXPERIMENT) if known is None else known.experiment_id
        found: Sequence[Any] = self._client.search_runs([experiment], f"tags.`{KEY}` = '{key}'")
        if found:
            run = found[0]
            self._client.update_run(run.info.run_id, status="RUNNING")
        else:
            run = self._client.create_run(experiment, tags={KEY: key, RUN: name}, run_name=name)
        self._id = run.info.run_id
        if not run.data.params:  # new, or the server failed just after it was made
            params = [Param(setting, text[:LONGEST]) for setting, text in settings.items()]
            self._client.log_batch(self._id, params=params)
        if not found:
            return 0
        return max((each.step for each in self._client.get_metric_history(self._id, "feasible")), default=0)

    def log(self, rows: Sequence[Row]) -> None:
        """Add each number of the rows as a metric, at the row's step and time."""
        metrics = [
            Metric(name, value, round(1000 * row.at), row.step) for row in rows for name, value in row.values.items()
        ]
        for first in range(0, len(metrics), MOST):
            self._client.log_batch(self._id, metrics=metrics[first : first + MOST])

    def end(self, facts: Mapping[str, str], program: str) -> None:
        """Add the facts as tags `behavesim.NAME` and the program as the artifact `best.py`; finish the MLflow run."""
        for name, text in facts.items():
            self._client.set_tag(self._id, f"behavesim.{name}", text)
        if program:
            self._client.log_text(self._id, program, "best.py")
        self._client.set_terminated(self._id)
