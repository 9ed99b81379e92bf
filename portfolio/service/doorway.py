"""A listening socket that lets nobody begin to connect, and keeps those that are in its queue."""

import ctypes
import socket
import struct
import sys
from contextlib import suppress

SO_ATTACH_FILTER = 26  # of Linux, asm-generic/socket.h; Python has no name for it
FLAGS, SYN, SYN_OR_ACK = 13, 0x02, 0x12  # place of a TCP header's flags, and some of them
LOAD_BYTE, AND, JUMP_IF_EQUAL, RETURN = 0x30, 0x54, 0x15, 0x06  # linux/bpf_common.h
ALL = 0xFFFFFFFF
# A packet that asks for a connection (SYN alone) is dropped, all others are taken.
NO_BEGINNINGS = (
    (LOAD_BYTE, 0, 0, FLAGS),
    (AND, 0, 0, SYN_OR_ACK),
    (JUMP_IF_EQUAL, 0, 1, SYN),
    (RETURN, 0, 0, 0),
    (RETURN, 0, 0, ALL),
)


def let_nobody_begin(listening: socket.socket) -> None:
    """Drop whatever asks a socket for a new connection.

    A closed socket resets the connections of its queue, and between a last look into the queue
    and the end of the socket there is always a moment. Who is not heard asks again, after a
    second or so, and finds nobody. Where the system has no such filter, nothing happens.
    """
    if sys.platform != "linux":
        return
    code = b"".join(struct.pack("HBBI", *each) for each in NO_BEGINNINGS)
    held = ctypes.create_string_buffer(code)
    program = struct.pack("HP", len(NO_BEGINNINGS), ctypes.addressof(held))
    with suppress(OSError):
        listening.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)
