"""One record for each backend's part in a run, of whatever number of rounds that was."""

import pandas as pd


def whole_runs(frame: pd.DataFrame) -> pd.DataFrame:
    """The records, those of one backend in one run made one that took as long as all of them.

    A query is posed again where the model itself refuses an answer; each time leaves a record, that
    tells what posing, reducing and verifying took for all of them.

    Parameters
    ----------
    frame : records as :func:`selector.logs.read` gives them
    """
    parts = frame["run"].str.rsplit("-", n=1)
    run, number = parts.str[0], parts.str[-1]
    run = run.where(number.str.isdigit().astype(bool), frame["run"])
    several = pd.DataFrame({"run": run, "backend": frame["backend"]}).duplicated(keep=False)
    if not several.any():
        return frame
    order = pd.to_numeric(number[several], errors="coerce").sort_values(kind="stable").index
    rounds = frame.loc[order]
    joined = [
        _joined(own) for _, own in rounds.groupby([run[order], rounds["backend"]], sort=False)
    ]
    return pd.concat([frame[~several], *joined]).sort_index()


def _joined(rounds: pd.DataFrame) -> pd.DataFrame:
    last = rounds.iloc[[-1]].copy()
    shared = last[["pose_s", "reduce_s", "verify_s"]].sum(axis=1).item()
    own_s = (rounds["total_s"] - shared).clip(lower=0.0).sum()
    for name in ("build_s", "solve_s"):
        last[name] = rounds[name].sum()
    last["total_s"] = shared + own_s
    last["limit_s"] = rounds["limit_s"].max()
    return last
