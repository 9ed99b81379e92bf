"""Measure the cost of races, print it, and write the file that training and evaluation read."""

import os
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from encoders.core.cores import usable_cores
from portfolio.bench.races import RaceStudy, run_races
from portfolio.cli.output import Console, progress_bar
from portfolio.data.collection import names
from selector.learning.contention import CONTENTION, RacedQuery, contention_of, write_contention


def run_and_report_contention(
    study: RaceStudy, out: Path, deadline_s: float | None, console: Console
) -> int:
    """Measure races, print and write the result, and return 0.

    Ctrl-C and the deadline end it early, with the measurements made so far.
    """
    out.mkdir(parents=True, exist_ok=True)
    most = len(names(study.folder, study.only)) * len(study.kinds) * study.queries
    raced: list[RacedQuery] = []
    done = 0
    before = os.getloadavg()[0]
    with progress_bar(console, "queries") as update:

        def on_query(queries: list[RacedQuery]) -> None:
            nonlocal done
            done += 1
            raced.extend(queries)
            update(done, most, "queries")

        try:
            run_races(study, deadline_s, on_query)
        except KeyboardInterrupt:
            console.print("Interrupted: the result uses the queries measured so far.")
    load = (round(before, 2), round(os.getloadavg()[0], 2))
    contention = contention_of(raced, usable_cores(), load)
    settings = asdict(study) | {"folder": "bundled" if study.folder is None else study.folder.name}
    time = datetime.now(UTC).isoformat(timespec="seconds")
    manifest = {"made": time, "queries": done} | settings
    write_contention(contention, raced, manifest, out / CONTENTION)
    console.print(str(contention), highlight=False, soft_wrap=True)
    console.print(f"file for selector train and evaluate: {out / CONTENTION}", soft_wrap=True)
    return 0
