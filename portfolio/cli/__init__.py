"""The command-line interface."""


def main() -> None:
    """Run it; consoles that were installed with 0.1 start here."""
    from portfolio.cli.app import main as run

    run()
