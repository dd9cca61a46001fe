"""A small graph that a network learns in a moment, and the program to compare with."""

import os
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

NODES, CLASSES, WIDTH = 200, 3, 8


def make_graph(seed=0):
    """Three classes; most edges stay inside one, and features lean towards it."""
    random = np.random.default_rng(seed)
    y = random.integers(0, CLASSES, NODES)
    x = (np.eye(CLASSES, WIDTH)[y] + 0.5 * random.normal(size=(NODES, WIDTH))).astype("float32")
    sources = random.integers(0, NODES, 1200)
    targets = random.integers(0, NODES, 1200)
    kept = (y[sources] == y[targets]) | (random.random(1200) < 0.05)
    part = random.permutation(NODES)
    masks = [np.isin(np.arange(NODES), chosen) for chosen in np.split(part, [100, 150])]
    return SimpleNamespace(x=x, y=y, edge_index=np.stack([sources[kept], targets[kept]]),
                           train_mask=masks[0], val_mask=masks[1], test_mask=masks[2])


@pytest.fixture(scope="session")
def graph():
    return make_graph()


@pytest.fixture
def parts(graph):
    """The arguments of fit, to be changed by a test."""
    return dict(vars(graph))


@pytest.fixture(scope="session")
def program():
    path = os.environ.get("SPEX_PROGRAM") or shutil.which("spex")
    if not path:
        pytest.skip("the program spex is not there: set SPEX_PROGRAM")
    return path


@pytest.fixture(scope="session")
def quick():
    """A model that trains in a moment."""
    import spexphormer as sx

    return lambda **params: sx.GCN(**{"epochs": 8, "layers": 2, "width": 8, "threads": 1,
                                      "dropout": 0.0, **params})


@pytest.fixture(scope="session")
def trained(graph, quick):
    return quick(epochs=30).fit(graph)
