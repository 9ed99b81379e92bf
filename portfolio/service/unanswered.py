"""Middleware for the proxies of Ray Serve: responses to requests whose replica was lost."""

from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from portfolio.service.problems import Problem, error_response


class Unanswered:
    """ASGI middleware that responds with status 503 to requests that the proxy does not answer.

    Without it, the response would be a status 500 without a body.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        await self._app(scope, receive, noted)
        if scope["type"] == "http" and not begun:
            words = "the replica that handled the request was lost. Retry later."
            problem = Problem(503, words, {"Retry-After": "1"})
            await error_response(scope["path"], problem)(scope, receive, send)


def around_proxies() -> list[Middleware]:
    """Return the middleware of the proxies; the environment names this function to Ray Serve."""
    return [Middleware(Unanswered)]
