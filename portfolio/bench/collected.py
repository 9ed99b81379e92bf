"""Collect the runs of a benchmark: progress bar, and a file that is written in any case."""

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from encoders.core.cores import usable_cores
from encoders.core.whole_files import replace_whole
from portfolio.bench.benchmark import Benchmark
from portfolio.cli.output import Console, progress_bar
from portfolio.data.collection import names


def collected(
    benchmark: Benchmark,
    each: int,
    what: str,
    run: Callable[[Callable[[Any], None]], None],
    json_file: Path | None,
    console: Console,
) -> list[Any]:
    """Return all runs of a benchmark, or the finished ones after Ctrl-C."""
    runs: list[Any] = []
    sets = names(benchmark.folder, benchmark.only)
    total = len(sets) * len(benchmark.kinds) * benchmark.queries * each
    console.print(
        f"{total} {what}: {len(sets)} data sets, kinds {', '.join(benchmark.kinds)}, "
        f"{benchmark.trees} trees of depth {benchmark.depth or 'any'}, "
        f"limit {benchmark.time_limit_s:g} s; load {os.getloadavg()[0]:.2f} on "
        f"{usable_cores()} cores."
    )
    try:
        with progress_bar(console, "running", total) as update:

            def on_run(done: Any) -> None:
                runs.append(done)
                labels = [done.dataset, done.kind, getattr(done, "question", "")]
                update(len(runs), total, " ".join(filter(None, labels)))

            run(on_run)
    except KeyboardInterrupt:
        console.print("Interrupted: reporting finished runs.")
    finally:
        if json_file is not None:
            text = json.dumps({"runs": [asdict(done) for done in runs]}, indent=1)
            replace_whole(json_file, lambda partial: partial.write_text(text, encoding="utf-8"))
    return runs
