"""Run a protocol with a progress bar, then compact, check and draw its logs."""

from pathlib import Path
from typing import Any

from portfolio.cli.output import Console, progress_bar
from portfolio.data.collection import names
from portfolio.study.campaign import run_campaign
from portfolio.study.figures import draw_all
from portfolio.study.protocol import Protocol, size
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
    """Exit code: 0, 1 if proofs disagree, records can't be right, or configurations failed.

    Ctrl-C and the deadline end it; the same command goes on where it stopped.
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
        console.print("Interrupted: the same command goes on from here.")
    return max(report(out, console), min(failed, 1))


def _run_with_bar(
    protocol: Protocol,
    folder: Path | None,
    out: Path,
    executor: Any,
    deadline_s: float | None,
    console: Console,
) -> int:
    """How many configurations failed."""
    failures: list[str] = []
    with progress_bar(console, "configurations") as tell:

        def on_done(done: int, total: int, wrong: str) -> None:
            tell(done, total, "configurations")
            if wrong:
                failures.append(wrong)
                console.print(f"a configuration failed: {wrong}", highlight=False, markup=False)

        made = run_campaign(protocol, folder, out, executor, deadline_s, on_done)
    console.print(f"{made} runs made.", highlight=False)
    return len(failures)


def report(out: Path, console: Console) -> int:
    """Check and draw the logs of a folder made by :func:`run_protocol`."""
    if not any((out / "logs").iterdir()):
        return 0
    frame = logs.read(out / "logs")
    logs.write_table(frame, out / logs.TABLE)
    wrong = logs.check(frame)
    for words in wrong:
        console.print(words, soft_wrap=True, highlight=False, style="red")
    for line in per_backend(frame):
        console.print(
            f"{line.mode:8} {line.backend:8} {line.records:5} records, {line.proved:4.0%} proved, "
            f"median {line.median_s:.3f} s, PAR10 {line.par10_s:.2f} s, best on {line.best:.0%}",
            highlight=False,
        )
    for of in second_opinions(frame):
        console.print(
            f"{of.backend} proved once more {of.confirmed} of {of.asked} proofs, "
            f"median {of.median_s:.3f} s, and contradicted {of.contradicted or 'none'}.",
            highlight=False,
        )
    page = draw_all(frame, out / "figures")
    console.print(f"logs: {out / logs.TABLE}; figures: {page}", soft_wrap=True, highlight=False)
    return 1 if wrong else 0
