"""Child process that runs odtlearn: request on standard input, tree as last output line."""

import json
import sys

import numpy as np
import pandas as pd


def main() -> None:
    """Answer one request of :mod:`selector.learning.odt`."""
    from odtlearn.flow_oct import FlowOCT

    request = json.load(sys.stdin)
    model = FlowOCT(
        solver="cbc",
        _lambda=request["price"] / (1 + request["price"]),
        obj_mode="weighted",
        depth=request["depth"],
        time_limit=request["seconds"],
        num_threads=1,
    )
    columns = [str(index) for index in range(len(request["values"][0]))]
    values = pd.DataFrame(request["values"], columns=columns)
    model.fit(values, np.array(request["labels"]), request["weights"])
    tree = {node: int(name) for (node, name), chosen in model.b_value.items() if chosen > 0.5}
    sys.stdout.write("\n" + json.dumps(tree) + "\n")


if __name__ == "__main__":
    main()
