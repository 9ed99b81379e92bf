"""The process in which odtlearn runs: a question on standard input, the tree as last line."""

import json
import sys

import numpy as np
import pandas as pd


def main() -> None:
    """Answer one question of :mod:`selector.learning.odt`."""
    from odtlearn.flow_oct import FlowOCT

    question = json.load(sys.stdin)
    model = FlowOCT(
        solver="cbc",
        _lambda=question["price"] / (1 + question["price"]),
        obj_mode="weighted",
        depth=question["depth"],
        time_limit=question["seconds"],
        num_threads=1,
    )
    columns = [str(index) for index in range(len(question["values"][0]))]
    values = pd.DataFrame(question["values"], columns=columns)
    model.fit(values, np.array(question["labels"]), question["weights"])
    tree = {node: int(name) for (node, name), chosen in model.b_value.items() if chosen > 0.5}
    sys.stdout.write("\n" + json.dumps(tree) + "\n")


if __name__ == "__main__":
    main()
