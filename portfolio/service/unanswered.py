"""Around the proxies of Ray Serve: who asked a replica that is lost is told to ask again."""

from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from portfolio.service.problems import Problem, respond


class Unanswered:
    """Middleware of ASGI: a request that the proxy leaves without an answer gets a 503.

    Without it, that would be a bare 500.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        await self._app(scope, receive, noted)
        if scope["type"] == "http" and not begun:
            words = "the replica that was to answer is lost; ask again."
            await respond(Problem(503, words, {"Retry-After": "1"}), send)


def around_proxies() -> list[Middleware]:
    """What Ray Serve puts around its proxies, where the environment names this function."""
    return [Middleware(Unanswered)]
