"""A run: what a training leaves behind, and what can be asked of it."""

from __future__ import annotations

import ctypes as c
import json
import os
import weakref
from typing import Any

from . import _arrays as arrays
from . import _library as lib
from .dataset import Dataset


class Run:
    """A handle of the library, and the data set it may look at."""

    def __init__(self, handle: Any, kept: Any = None):
        self._handle = handle
        self._kept = kept
        weakref.finalize(self, lib.library().spex_run_free, handle)
        self.facts = lib.RunFacts()
        lib.call("spex_run_describe", handle, c.byref(self.facts))

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> "Run":
        handle = c.c_void_p()
        lib.call("spex_run_load", os.fspath(directory).encode(), c.byref(handle))
        return cls(handle)

    def save(self, directory: str | os.PathLike[str]) -> None:
        lib.call("spex_run_save", self._handle, os.fspath(directory).encode())

    def history(self) -> dict[str, Any]:
        np = arrays.numpy()
        rows, count = c.POINTER(lib.Epoch)(), c.c_size_t()
        lib.call("spex_run_history", self._handle, c.byref(rows), c.byref(count))
        records = [rows[i].as_dict() for i in range(count.value)]
        names = [name for name, _ in lib.Epoch._fields_ if name != "epochs"]
        return {name: np.array([record[name] for record in records]) for name in names}

    def summary(self) -> dict[str, Any]:
        return json.loads(lib.text_of("spex_run_summary", self._handle))

    def config(self) -> str:
        return lib.text_of("spex_run_config", self._handle)

    def class_names(self) -> list[str]:
        return [lib.text_of("spex_run_class_name", self._handle, i)
                for i in range(self.facts.outputs)]

    def dataset(self) -> Dataset:
        handle = c.c_void_p()
        lib.call("spex_run_dataset", self._handle, c.byref(handle))
        data = Dataset._of(handle)
        data._kept.append(self._kept)
        return data

    def predict(self, output: str, nodes: Any, data: Dataset | None, batch: int,
                samples: int) -> Any:
        options = lib.PredictOptions(c.sizeof(lib.PredictOptions),
                                     data._handle if data is not None else None,
                                     arrays.whole(batch, "batch"), arrays.whole(samples, "samples", 1))
        ids, result = arrays.nodes_of(nodes), c.c_void_p()
        lib.call("spex_run_predict", self._handle, lib.OUTPUTS[output], arrays.view(ids, "nodes"),
                 c.byref(options), c.byref(result))
        return arrays.Result(result).array()

    def attention(self, layer: int, edges: Any) -> Any:
        result = c.c_void_p()
        lib.call("spex_run_attention", self._handle, layer, arrays.view(edges, "edge_index"),
                 c.byref(result))
        return arrays.Result(result).array()[:, 0]
