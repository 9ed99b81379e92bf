"""The process in which odtlearn runs: a question on standard input, the tree as last line."""

import json
import sys

import numpy as np
import pandas as pd


def main() -> None:
    """Answer one question of :mod:`selector.learn_odt`."""
    from odtlearn.flow_oct import FlowOCT

    asked = json.load(sys.stdin)
    model = FlowOCT(
        solver="cbc",
        _lambda=asked["price"] / (1 + asked["price"]),
        obj_mode="weighted",
        depth=asked["depth"],
        time_limit=asked["seconds"],
        num_threads=1,
    )
    columns = [str(index) for index in range(len(asked["values"][0]))]
    values = pd.DataFrame(asked["values"], columns=columns)
    model.fit(values, np.array(asked["labels"]), asked["weights"])
    tree = {node: int(name) for (node, name), chosen in model.b_value.items() if chosen > 0.5}
    sys.stdout.write("\n" + json.dumps(tree) + "\n")


if __name__ == "__main__":
    main()
