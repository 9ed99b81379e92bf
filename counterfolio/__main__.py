"""The command ``counterfolio``, also as ``python -m counterfolio``."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from counterfolio.parts import check_parts

        check_parts()
        from portfolio.cli.app import main as run
    except ImportError as error:
        sys.exit(f"Error: {error}")
    run()


if __name__ == "__main__":
    main()
