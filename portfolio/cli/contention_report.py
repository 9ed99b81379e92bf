"""Measure what races cost, tell it, and leave the file that learning and judging read."""

import os
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from encoders.cores import usable_cores
from portfolio.cli.output import Console, progress_bar
from portfolio.data.collection import names
from portfolio.study.races import RaceStudy, run_races
from selector.learning.contention import CONTENTION, RacedQuery, contention_of, write_contention


def run_and_report_contention(
    study: RaceStudy, out: Path, deadline_s: float | None, console: Console
) -> int:
    """Exit code: 0; Ctrl-C and the deadline end it early, with what is known by then."""
    out.mkdir(parents=True, exist_ok=True)
    most = len(names(study.folder, study.only)) * len(study.kinds) * study.queries
    raced: list[RacedQuery] = []
    done = 0
    before = os.getloadavg()[0]
    with progress_bar(console, "queries") as tell:

        def on_query(found: list[RacedQuery]) -> None:
            nonlocal done
            done += 1
            raced.extend(found)
            tell(done, most, "queries")

        try:
            run_races(study, deadline_s, on_query)
        except KeyboardInterrupt:
            console.print("Interrupted: what follows rests on what was measured until now.")
    load = (round(before, 2), round(os.getloadavg()[0], 2))
    found = contention_of(raced, usable_cores(), load)
    own = asdict(study) | {"folder": "bundled" if study.folder is None else study.folder.name}
    told = {"made": datetime.now(UTC).isoformat(timespec="seconds"), "queries": done} | own
    write_contention(found, raced, told, out / CONTENTION)
    console.print(str(found), highlight=False, soft_wrap=True)
    console.print(f"what learning and judging read: {out / CONTENTION}", soft_wrap=True)
    return 0
