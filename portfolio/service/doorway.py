"""A packet filter that stops new connections to a listening socket but keeps its queue."""

import ctypes
import socket
import struct
import sys
from contextlib import suppress

SO_ATTACH_FILTER = 26  # Linux, asm-generic/socket.h; Python has no name for it
FLAGS, SYN, SYN_OR_ACK = 13, 0x02, 0x12  # offset of the flags in a TCP header, and some flags
LOAD_BYTE, AND, JUMP_IF_EQUAL, RETURN = 0x30, 0x54, 0x15, 0x06  # linux/bpf_common.h
ALL = 0xFFFFFFFF
# Drop packets that open a connection (SYN without ACK), and accept all others.
NO_BEGINNINGS = (
    (LOAD_BYTE, 0, 0, FLAGS),
    (AND, 0, 0, SYN_OR_ACK),
    (JUMP_IF_EQUAL, 0, 1, SYN),
    (RETURN, 0, 0, 0),
    (RETURN, 0, 0, ALL),
)


def let_nobody_begin(listening: socket.socket) -> None:
    """Drop all packets that open a new connection to a socket.

    Closing a socket resets the connections in its queue. A connection could enter the queue between
    the last check and the close. Clients whose packets are dropped retry after about a second, and
    are refused then. Without such a filter in the operating system, this function does nothing.
    """
    if sys.platform != "linux":
        return
    code = b"".join(struct.pack("HBBI", *each) for each in NO_BEGINNINGS)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HP", len(NO_BEGINNINGS), ctypes.addressof(buffer))
    with suppress(OSError):
        listening.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)
