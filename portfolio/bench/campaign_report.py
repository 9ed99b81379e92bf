"""Run a protocol with a progress bar, then compact, check and draw its logs."""

from pathlib import Path
from typing import Any

from portfolio.bench.campaign import run_campaign
from portfolio.bench.figures import draw_all
from portfolio.bench.protocol import Protocol, size
from portfolio.cli.output import Console, progress_bar
from portfolio.data.collection import names
from portfolio.results.timings import duration
from selector import logs
from selector.logs.summary import per_backend, second_opinions


def run_protocol(
    protocol: Protocol,
    folder: Path | None,
    out: Path,
    executor: Any,
    deadline_s: float | None,
    console: Console,
) -> int:
    """Run a protocol; return 1 if proofs disagree, records are faulty or configurations failed.

    Ctrl-C and the deadline end the run. The same command resumes it.
    """
    sets = names(folder, protocol.datasets)
    count, most = size(protocol, sets)
    console.print(
        f"{count} configurations on {len(sets)} data sets, at most {most} runs of up to "
        f"{protocol.time_limit_s:g} s on {protocol.threads} thread(s).",
        highlight=False,
    )
    (out / "logs").mkdir(parents=True, exist_ok=True)
    failed = 0
    try:
        failed = _run_with_bar(protocol, folder, out / "logs", executor, deadline_s, console)
    except KeyboardInterrupt:
        console.print("Interrupted: run the same command again to resume.")
    return max(report(out, console), min(failed, 1))


def _run_with_bar(
    protocol: Protocol,
    folder: Path | None,
    out: Path,
    executor: Any,
    deadline_s: float | None,
    console: Console,
) -> int:
    """Run all configurations and return how many failed."""
    failures: list[str] = []
    with progress_bar(console, "configurations") as update:

        def on_done(done: int, total: int, error: str) -> None:
            update(done, total, "configurations")
            if error:
                failures.append(error)
                console.print(f"a configuration failed: {error}", highlight=False, markup=False)

        count = run_campaign(protocol, folder, out, executor, deadline_s, on_done)
    console.print(f"{count} runs finished.", highlight=False)
    return len(failures)


def report(out: Path, console: Console) -> int:
    """Check and draw the logs in a folder that :func:`run_protocol` filled."""
    if not any((out / "logs").iterdir()):
        return 0
    frame = logs.read(out / "logs")
    logs.write_table(frame, out / logs.TABLE)
    faults = logs.check(frame)
    for words in faults:
        console.print(words, soft_wrap=True, highlight=False, style="red")
    for line in per_backend(frame):
        console.print(
            f"{line.mode:8} {line.backend:8} {line.records:5} records, {line.proved:4.0%} proved, "
            f"median {duration(line.median_s)}, PAR10 {duration(line.par10_s)}, "
            f"best on {line.best:.0%}",
            highlight=False,
        )
    for second in second_opinions(frame):
        console.print(
            f"{second.backend} confirmed {second.confirmed} of {second.asked} proofs, "
            f"median {duration(line.median_s)}, and contradicted {second.contradicted or 'none'}.",
            highlight=False,
        )
    page = draw_all(frame, out / "figures")
    console.print(f"logs: {out / logs.TABLE}; figures: {page}", soft_wrap=True, highlight=False)
    return 1 if faults else 0
