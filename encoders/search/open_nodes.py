"""Open nodes of the branch and bound: a heap for best first, a stack for depth first."""

from typing import NamedTuple

import numpy as np

from encoders.core.arrays import FloatArray, IntArray, NarrowArray
from encoders.core.compiled import inner, kernel
from encoders.problem.problem import Problem

HEAP, STACK, FREE, NODES, LOOKED, PRICED, SHUT, SKIPPED = range(8)  # counters in Pool.counts
POOL_BYTES = 256 * 2**20  # of open nodes; beyond, the search goes depth first
LARGEST_POOL, FIRST_POOL = 200_000, 1024  # slots at most, and at the start, without the reserve


class Pool(NamedTuple):
    """Open nodes: boxes with a lower bound each; heap and stack hold slots, free the others.

    The stack serves depth first; its nodes all come from the heap node whose bound is in
    ``floor[0]`` (inf when the stack is empty).

    Attributes
    ----------
    lo, hi : int32 (n_slots, n_axes), boxes.
    span : int32 (n_slots, 2), first and last demand of interest, see :class:`.node.Node`.
    key : float64 (n_slots,), lower bounds.
    heap, stack, free : int64 (n_slots,), slots; only as many as ``counts`` says are in use.
    counts : int64 (8,), sizes of the three at HEAP, STACK and FREE. NODES: nodes expanded so far.
        LOOKED: leaves scanned for them. PRICED: nodes that got their own prices.
        SHUT: those that these pruned. SKIPPED: nodes that got no prices although few leaves fit.
    floor : float64 (1,)
    """

    lo: NarrowArray
    hi: NarrowArray
    span: NarrowArray
    key: FloatArray
    heap: IntArray
    stack: IntArray
    free: IntArray
    counts: IntArray
    floor: FloatArray


def slots_in_reserve(problem: Problem) -> int:
    """Slots that depth first may need: two per split on the way to a single choice."""
    return 2 * int(problem.size.sum()) + 64


def make_pool(problem: Problem, n_demands: int = 1) -> Pool:
    """Return a pool with the root node only, the box of all levels."""
    slots = FIRST_POOL + slots_in_reserve(problem)
    lo, hi = np.zeros((2, slots, problem.n_axes), dtype=np.int32)
    span = np.zeros((slots, 2), dtype=np.int32)
    hi[0], span[0, 1] = problem.size - 1, n_demands - 1
    heap = np.zeros(slots, dtype=np.int64)
    free = np.arange(slots, dtype=np.int64)[::-1].copy()
    count = np.zeros(8, dtype=np.int64)
    count[HEAP], count[FREE] = 1, slots - 1
    return Pool(lo, hi, span, np.zeros(slots), heap, heap.copy(), free, count, np.full(1, np.inf))


def empty_pool(problem: Problem) -> Pool:
    """Return a pool without open nodes."""
    pool = make_pool(problem)
    pool.counts[HEAP], pool.counts[FREE] = 0, pool.free.size
    pool.free[:] = np.arange(pool.free.size)
    return pool


def grown(pool: Pool, nodes: int, reserve: int, n_pools: int = 1) -> Pool:
    """Return the pool, enlarged if it has too few free slots for a slice and memory permits."""
    slots, n_axes = pool.lo.shape
    largest = min(LARGEST_POOL, POOL_BYTES // n_pools // (8 * n_axes + 40)) + reserve
    if pool.counts[FREE] >= reserve + nodes or slots >= largest:
        return pool
    more = int(min(max(slots, nodes), largest - slots))
    free = np.zeros(slots + more, dtype=np.int64)
    held = int(pool.counts[FREE])
    free[:held] = pool.free[:held]
    free[held : held + more] = np.arange(slots, slots + more)
    pool.counts[FREE] += more
    nothing = np.zeros(more, dtype=np.int64)
    box = np.zeros((more, n_axes), dtype=np.int32)
    return Pool(
        lo=np.concatenate([pool.lo, box]),
        hi=np.concatenate([pool.hi, box]),
        span=np.concatenate([pool.span, np.zeros((more, 2), dtype=np.int32)]),
        key=np.concatenate([pool.key, np.zeros(more)]),
        heap=np.concatenate([pool.heap, nothing]),
        stack=np.concatenate([pool.stack, nothing]),
        free=free,
        counts=pool.counts,
        floor=pool.floor,
    )


def floor_of(pool: Pool) -> float:
    """Return the least bound of all open nodes, inf if there are none."""
    top = pool.key[pool.heap[0]] if pool.counts[HEAP] else np.inf
    deep = pool.floor[0] if pool.counts[STACK] else np.inf
    return float(min(top, deep))


def is_open(pool: Pool) -> bool:
    """Return whether any node is open."""
    return bool(pool.counts[HEAP] + pool.counts[STACK] > 0)


def deal(pool: Pool, other: Pool, most: int) -> None:
    """Hand every second node of the heap, by bounds, to another pool."""
    slots = pool.heap[: pool.counts[HEAP]]
    slots = slots[np.argsort(pool.key[slots], kind="stable")]
    given = slots[1::2][:most]
    places = other.free[other.counts[FREE] - given.size : other.counts[FREE]].copy()
    for mine, theirs in ((pool.lo, other.lo), (pool.hi, other.hi), (pool.span, other.span)):
        theirs[places] = mine[given]
    other.key[places] = pool.key[given]
    other.counts[FREE] -= given.size
    pool.free[pool.counts[FREE] : pool.counts[FREE] + given.size] = given
    pool.counts[FREE] += given.size
    _heap(pool, np.concatenate([slots[::2], slots[1::2][most:]]))
    _heap(other, np.concatenate([other.heap[: other.counts[HEAP]], places]))


def _heap(pool: Pool, slots: IntArray) -> None:
    """Make a heap of these slots: what is sorted is one."""
    pool.heap[: slots.size] = slots[np.argsort(pool.key[slots], kind="stable")]
    pool.counts[HEAP] = slots.size


@inner
def push(pool, lo, hi, span, key, deep):
    """Open a box, on the stack or on the heap; return its slot."""
    counts, keys, heap = pool.counts, pool.key, pool.heap
    counts[FREE] -= 1
    slot = pool.free[counts[FREE]]
    pool.lo[slot], pool.hi[slot], pool.span[slot], keys[slot] = lo, hi, span, key
    if deep:
        pool.stack[counts[STACK]] = slot
        counts[STACK] += 1
        return slot
    at = counts[HEAP]
    counts[HEAP] += 1
    while at > 0 and key < keys[heap[(at - 1) // 2]]:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = slot
    return slot


@inner
def push_side(pool, node, key, low, deep):
    """Open the low or the high side of a node's split."""
    slot = push(pool, node.lo, node.hi, node.span, key, deep)
    if low:
        pool.hi[slot, node.split[0]] = node.split[1]
    else:
        pool.lo[slot, node.split[0]] = node.split[1] + 1


@inner
def take(pool, slot, node):
    """Copy an open node, and free its slot."""
    node.lo[:], node.hi[:], node.span[:] = pool.lo[slot], pool.hi[slot], pool.span[slot]
    pool.free[pool.counts[FREE]] = slot
    pool.counts[FREE] += 1


@inner
def park(pool, node):
    """Store the box of a choice that was found where :func:`push_others` reads it."""
    last = pool.free[pool.counts[FREE] - 1]
    pool.lo[last], pool.hi[last], pool.span[last] = node.lo, node.hi, node.span


@inner
def pop(pool):
    """Remove and return the newest node of the stack, else the best of the heap; -1 if empty."""
    if pool.counts[STACK] > 0:
        pool.counts[STACK] -= 1
        return pool.stack[pool.counts[STACK]]
    pool.floor[0] = np.inf
    if pool.counts[HEAP] == 0:
        return -1
    top = pool.heap[0]
    pool.counts[HEAP] -= 1
    size = pool.counts[HEAP]
    last = pool.heap[size]
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and pool.key[pool.heap[child + 1]] < pool.key[pool.heap[child]]:
            child += 1
        if pool.key[pool.heap[child]] >= pool.key[last]:
            break
        pool.heap[at] = pool.heap[child]
        at = child
    pool.heap[at] = last
    return top


@kernel
def push_others(pool, low, high, key):
    """Open the rest of the last incumbent's node, outside another box, as disjoint nodes."""
    last = pool.free[pool.counts[FREE] - 1]
    lo, hi = pool.lo[last].astype(np.int64), pool.hi[last].astype(np.int64)
    span = pool.span[last].astype(np.int64)
    for a in range(low.size):
        if lo[a] < low[a]:
            pool.hi[push(pool, lo, hi, span, key, False), a] = low[a] - 1
            lo[a] = low[a]
        if high[a] < hi[a]:
            pool.lo[push(pool, lo, hi, span, key, False), a] = high[a] + 1
            hi[a] = high[a]
