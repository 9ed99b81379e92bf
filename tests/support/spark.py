"""Import of Spark, which fails without Java as it does without pyspark."""

import os
import shutil
import sys

import pyspark as pyspark

if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
    raise ImportError("Spark needs Java. Install a Java runtime.")
# Workers start the python3 of PATH by default, which may be another version.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
