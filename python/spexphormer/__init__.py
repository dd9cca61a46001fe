"""Sparse graph transformers, and what they are compared with, on ordinary CPUs.

    import spexphormer as sx

    clf = sx.Spexphormer(seed=0)
    clf.fit(x, edge_index, y, train_mask=train, val_mask=val)
    clf.predict_proba(nodes=test)

Every model of ``spex models`` is a class here (``sx.GCN``, ``sx.SGFormer``, ..) and known by name
(``sx.Model("gcn")``). ``help(sx.Spexphormer)`` lists its parameters; docs/python.md has the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._library import Error, models, version
from ._training import compare
from .dataset import Dataset
from .graph_model import GraphModel, Model, NotFittedError, class_name, find_class, load, tune

__all__ = ["Dataset", "Error", "GraphModel", "Model", "NotFittedError", "compare", "load", "models",
           "tune", "version"]

if TYPE_CHECKING:  # what __getattr__ gives
    Spexphormer: type[GraphModel]
    Exphormer: type[GraphModel]
    GCN: type[GraphModel]
    GAT: type[GraphModel]
    MLP: type[GraphModel]
    SAGE: type[GraphModel]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version()
    if not name.startswith("_") and name[0].isupper():
        found = find_class(name)
        if found is not None:
            return found
    raise AttributeError(f"module 'spexphormer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__", *(class_name(model) for model in models())])
