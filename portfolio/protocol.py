"""Where programs written for 0.1 import it from."""

from portfolio.study.protocol import PAPER, QUICK, Protocol, load_protocol

__all__ = ["PAPER", "QUICK", "Protocol", "load_protocol"]
