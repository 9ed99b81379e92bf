"""Command ``counterfolio init``, which writes a project to start from."""

from pathlib import Path
from typing import Annotated

import typer

from encoders.core.errors import InputError
from portfolio.cli.output import Console, escape

README = """\
# A project with counterfolio

`tumours.csv` has ten measurements of 569 tumours and the column `diagnosis`. `tumours.skops` is a
random forest that predicts it. Run the commands in this folder:

```sh
counterfolio explain --model tumours.skops --data tumours.csv --label diagnosis --row 0 \\
    --target benign --features features.json --constraints constraints.json
counterfolio several --model tumours.skops --data tumours.csv --label diagnosis --row 0 \\
    --target benign --features features.json --count 3
counterfolio batch --model tumours.skops --data tumours.csv --label diagnosis --rows 20 \\
    --target benign --features features.json --constraints constraints.json --out answers
```

`python explain.py` does the same in Python. The service and its web page need the extra
`counterfolio[service]`:

```sh
counterfolio serve --models .
```

| file | content |
|---|---|
| `tumours.csv` | the table that the model was trained on |
| `tumours.skops` | the model |
| `tumours.toml` | the model as the service reads it |
| `features.json` | types and actions of features that differ from the inferred ones |
| `constraints.json` | demands on each answer |
| `explain.py` | the first command and the batch in Python |

To use your own model, replace the table and the model. Change their names in the commands,
`tumours.toml` and `explain.py`. Then adapt `features.json` and `constraints.json`; names of
features are those of the columns.
"""
MODEL = """\
model = "tumours.skops"
data = "tumours.csv"
label = "diagnosis"
features = "features.json"
"""
FEATURES = """\
{
  "mean texture": {"action": "fixed"},
  "mean smoothness": {"step": 0.0001}
}
"""
CONSTRAINTS = """\
[
  {"MaxChanges": 4},
  {"Range": ["mean symmetry", 0.11, 0.25]}
]
"""
SCRIPT = '''\
"""Explain a row and a batch of rows."""

import pandas as pd
import skops.io

from counterfolio import Explainer, MaxChanges, Range

X = pd.read_csv("tumours.csv").drop(columns="diagnosis")
trusted = skops.io.get_untrusted_types(file="tumours.skops")  # load files that you trust only
model = skops.io.load("tumours.skops", trusted=trusted)

explainer = Explainer(model, X, features="features.json")
constraints = [MaxChanges(4), Range("mean symmetry", 0.11, 0.25)]  # as in constraints.json
print(explainer.explain(X.iloc[0], target="benign", constraints=constraints))

answers = explainer.explain_batch(X.head(20), target="benign", constraints=constraints)
answers.to_csv("answers.csv", index=False)
print(answers[["id", "status", "distance", "changed"]])
'''
TEXTS = {
    "README.md": README,
    "tumours.toml": MODEL,
    "features.json": FEATURES,
    "constraints.json": CONSTRAINTS,
    "explain.py": SCRIPT,
}


def init(
    folder: Annotated[Path, typer.Argument(help="New or empty folder to write to.")],
) -> None:
    """Write a project to start from: a table, a model, constraints, a script and commands."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not an empty folder. Give the name of a new one.")
    import skops.io

    from portfolio.data.demo import make_demo

    demo = make_demo(1, 0)
    folder.mkdir(parents=True, exist_ok=True)
    demo.X.assign(diagnosis=demo.y).to_csv(folder / "tumours.csv", index=False)
    skops.io.dump(demo.model, folder / "tumours.skops")
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    Console().print(
        f"{escape(str(folder))} has {len(TEXTS) + 2} files. README.md lists the commands to try.",
        soft_wrap=True,
        highlight=False,
    )
