"""Counts of the requests of API keys in the jobs database, for all servers that use it."""

import asyncio

from sqlalchemy import and_, bindparam, case, or_, update

from portfolio.service.database import Database
from portfolio.service.job_tables import USES


class SharedCounts:
    """Counts in a database; see :class:`portfolio.service.quotas.Counts`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        counts, new = USES.c, database.upsert(USES)
        new = new.values(
            owner=bindparam("owner_"), unit=bindparam("unit_"), period=bindparam("period_"), uses=1
        )
        later = counts.period < new.excluded.period
        self._take = new.on_conflict_do_update(
            index_elements=[counts.owner, counts.unit],
            set_={
                "period": case((later, new.excluded.period), else_=counts.period),
                "uses": case((later, 1), else_=counts.uses + 1),
            },
            where=or_(later, counts.uses < bindparam("most_")),
        ).returning(counts.uses)
        this = and_(
            counts.owner == bindparam("owner_"),
            counts.unit == bindparam("unit_"),
            counts.period == bindparam("period_"),
        )
        self._give_back = update(USES).where(this).values(uses=counts.uses - 1)

    async def take(self, owner: str, unit: str, period: int, most: int) -> bool:
        """Count a request in a period; return False if there were as many as allowed."""
        values = {"owner_": owner, "unit_": unit, "period_": period, "most_": most}
        return bool(await asyncio.to_thread(self._database.rows, self._take, **values))

    async def give_back(self, owner: str, unit: str, period: int) -> None:
        """Remove a request from the count."""
        values = {"owner_": owner, "unit_": unit, "period_": period}
        await asyncio.to_thread(self._database.run, self._give_back, **values)
