"""What examples/ prints is what docs/python.md says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRINTS = {"classify": "test accuracy", "compare_models": "best", "keep_and_resume": "the same: True"}


def test_every_example_is_run():
    elsewhere = {"numpy_predict"}  # tests/cli/numpy_test.cpp: it uses no package of ours
    assert PRINTS.keys() | elsewhere == {path.stem for path in (ROOT / "examples").glob("*.py")}


@pytest.mark.parametrize("name", PRINTS)
def test_example(name):
    done = subprocess.run([sys.executable, ROOT / "examples" / f"{name}.py"], capture_output=True,
                          text=True, env={**os.environ})
    assert done.returncode == 0, done.stderr
    assert PRINTS[name] in done.stdout
