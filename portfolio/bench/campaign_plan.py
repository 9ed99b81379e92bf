"""Plan of a protocol: make the missing runs, then compact, check and draw the logs."""

import time
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from itertools import takewhile
from math import inf
from pathlib import Path
from typing import Any

from encoders.core.errors import InputError
from portfolio.bench.campaign import Campaign, logged
from portfolio.bench.figures import draw_all
from portfolio.bench.protocol import Protocol, configurations, size
from portfolio.bench.runner import BenchmarkPlan
from portfolio.cli.output import Console
from portfolio.data.collection import names
from portfolio.model.fingerprint import fingerprint
from portfolio.results.timings import duration
from portfolio.workers.solver_workers import Workers
from portfolio.workers.work import Answers, Record, Task
from selector import logs
from selector.logs.summary import per_backend, second_opinions

FOREVER_S = 1e6


@dataclass(frozen=True)
class CampaignPlan(BenchmarkPlan):
    """Runs of a protocol that its folder lacks; the same plan resumes an interrupted one.

    Attributes
    ----------
    folder : directory of data sets; None for the bundled ones.
    out : folder for records, in its folder "logs", and for figures.
    executor : workers that run the configurations.
    deadline_s : time limit in seconds, None for no limit.
    """

    unit = "configurations"
    interrupted = "Interrupted: run the same command again to resume."

    protocol: Protocol
    folder: Path | None
    out: Path
    executor: Answers
    deadline_s: float | None = None

    @property
    def sets(self) -> list[str]:
        """Names of the data sets."""
        return names(self.folder, self.protocol.datasets)

    @property
    def total(self) -> int:
        """Number of configurations, with and without missing runs."""
        return size(self.protocol, self.sets)[0]

    @property
    def heading(self) -> str:
        """Line that is printed first."""
        count, most = size(self.protocol, self.sets)
        return (
            f"{count} configurations on {len(self.sets)} data sets, at most {most} runs of up to "
            f"{self.protocol.time_limit_s:g} s on {self.protocol.threads} thread(s)."
        )

    def runs(self) -> Generator[Record | str]:
        """Yield a record of each configuration; see :class:`BenchmarkPlan`."""
        folder = self.out / "logs"
        folder.mkdir(parents=True, exist_ok=True)
        ends = inf if self.deadline_s is None else time.monotonic() + self.deadline_s
        campaign = Campaign(self.protocol, self.folder, folder, logged(folder), Workers())
        missing, count = list[Task](), 0
        for configuration in configurations(self.protocol, self.sets):
            task = Task(fingerprint(configuration), configuration, FOREVER_S, ends)
            if campaign.missing(configuration):
                missing.append(task)
            else:
                yield campaign.lost(task)
        tasks = takewhile(lambda _: time.monotonic() < ends, missing)
        with closing(self.executor(campaign, tasks)) as records:
            for record in records:
                if record["late"]:
                    continue
                if record["message"]:
                    yield f"a configuration failed: {record['message']}"
                if record["full"]:
                    raise InputError(
                        f"{record['message']} Make room on the disk, then repeat the command."
                    )
                count += record["runs"]
                yield record
        yield f"{count} runs finished."

    def report(self, runs: list[Any], console: Console) -> int:
        """Check and draw all logs; return 1 if one is faulty or a configuration failed, else 0."""
        failed = any(record["message"] for record in runs)
        if not any((self.out / "logs").iterdir()):
            return int(failed)
        frame = logs.read(self.out / "logs")
        logs.write_table(frame, self.out / logs.TABLE)
        faults = logs.check(frame)
        for words in faults:
            console.print(words, soft_wrap=True, highlight=False, style="red")
        for line in per_backend(frame):
            console.print(
                f"{line.mode:8} {line.backend:8} {line.records:5} records, "
                f"{line.proved:4.0%} proved, median {duration(line.median_s)}, "
                f"PAR10 {duration(line.par10_s)}, best on {line.best:.0%}",
                highlight=False,
            )
        for second in second_opinions(frame):
            console.print(
                f"{second.backend} confirmed {second.confirmed} of {second.asked} proofs, median "
                f"{duration(second.median_s)}, and contradicted {second.contradicted or 'none'}.",
                highlight=False,
            )
        page = draw_all(frame, self.out / "figures")
        place = self.out / logs.TABLE
        console.print(f"logs: {place}; figures: {page}", soft_wrap=True, highlight=False)
        return int(failed or bool(faults))
