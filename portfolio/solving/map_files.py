"""Cache of maps in a folder, by a digest of their content."""

import hashlib
from contextlib import suppress
from pathlib import Path

import numpy as np

from encoders.arrays import FloatArray, NarrowArray
from encoders.maps.region_map import Budget, RegionMap, Space
from encoders.whole_files import replace_whole

VERSION = 1  # of the file format and of the algorithm


def load_map(path: Path, space: Space, budget: Budget) -> RegionMap | None:
    """Return a map from a file; None if absent, damaged, or smaller than the budget allows."""
    if not path.is_file():  # reading a pipe would block
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            tree, numbers, digest = file["tree"], file["numbers"], file["digest"].tobytes()
        depth, seconds, allowed_s, allowed_mb = (float(number) for number in numbers)
    except Exception:  # damaged bytes raise errors of many types
        return None
    if digest != _digest(path, tree, numbers, space):
        return None
    region_map = RegionMap(space, tree, int(depth), seconds)
    larger = budget.seconds > allowed_s or budget.megabytes > allowed_mb
    return None if region_map.gaps and larger else region_map


def save_map(path: Path, region_map: RegionMap, budget: Budget) -> None:
    """Save a map atomically; a folder that cannot be written is ignored."""
    numbers = np.array([region_map.depth, region_map.seconds, budget.seconds, budget.megabytes])
    digest = np.frombuffer(
        _digest(path, region_map.tree, numbers, region_map.space), dtype=np.uint8
    )

    def write(partial: Path) -> None:
        with partial.open("wb") as file:
            np.savez_compressed(file, tree=region_map.tree, numbers=numbers, digest=digest)

    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_whole(path, write)


def _digest(path: Path, tree: NarrowArray, numbers: FloatArray, space: Space) -> bytes:
    """Return the digest of data, space and file name, so that a renamed file is invalid."""
    digest = hashlib.blake2b(path.stem.encode(), digest_size=16)
    for part in (tree, numbers, *space):
        digest.update(f"{part.dtype.str} {part.shape} ".encode())
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.digest()
