"""What the tests of this package share."""

import pytest

from portfolio.logbook import Logbook


@pytest.fixture(scope="session")
def real_logs(explainer, credit, tmp_path_factory):
    """Logs of solo runs, races, sessions and whole problems."""
    made = tmp_path_factory.mktemp("logs")
    rows = [row for _, row in credit[1].iterrows() if explainer.predict(row) == "refused"][:6]
    for row in rows:
        for backend in ("search", "cp"):
            explainer.explain(row, "granted", backend=backend, log=Logbook(made, "credit"))
            explainer.explain(row, "granted", backend=backend, reduce=False, log=made)
        explainer.explain(row, "granted", race=["search", "cp"], log=made)
    with explainer.session("granted", backend="cp") as session:
        for row in rows:
            session.explain(row, log=made)
    return made
