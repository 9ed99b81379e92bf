"""Records of runs in several rounds, merged into one record per backend and run."""

import pandas as pd


def whole_runs(frame: pd.DataFrame) -> pd.DataFrame:
    """Merge the records of one backend in one run into one record with their total time.

    A query is encoded again if native verification rejects an answer. Each round leaves a record,
    with the total times of encoding, presolve and verification of all rounds.
    """
    parts = frame["run"].str.rsplit("-", n=1)
    run, number = parts.str[0], parts.str[-1]
    run = run.where(number.str.isdigit().astype(bool), frame["run"])
    own = pd.DataFrame({"run": run, "backend": frame["backend"], "mode": frame["mode"]})
    several = own.duplicated(keep=False)
    if not several.any():
        return frame
    order = pd.to_numeric(number[several], errors="coerce").sort_values(kind="stable").index
    rounds = frame.loc[order]
    keys = ["run", "backend", "mode"]
    group = own.loc[order].groupby(keys, sort=False, dropna=False).ngroup()
    last = rounds[~group.duplicated(keep="last")]
    place = group[last.index]
    shared = last[["pose_s", "reduce_s", "verify_s"]].sum(axis=1)
    own_s = (rounds["total_s"] - group.map(shared.set_axis(place))).clip(lower=0.0)
    summed = rounds[["build_s", "solve_s"]].assign(total_s=own_s).groupby(group).sum().loc[place]
    joined = last.assign(
        build_s=summed["build_s"].to_numpy(),
        solve_s=summed["solve_s"].to_numpy(),
        total_s=shared + summed["total_s"].to_numpy(),
        limit_s=rounds["limit_s"].groupby(group).max().loc[place].to_numpy(),
    )
    return pd.concat([frame[~several], joined]).sort_index()
