"""Data sets: one graph, features, labels and splits, from arrays, tables or files."""

from __future__ import annotations

import ctypes as c
import os
import tempfile
import weakref
from pathlib import Path
from typing import Any, Sequence

from . import _arrays as arrays
from . import _library as lib
from ._library import Array, Error


class Dataset:
    """One graph with features, labels and splits.

    ``Dataset("graph.npz")`` opens what ``spex train`` takes: a file, a folder, or a generator's name
    such as ``minesweeper``. ``Dataset(data)`` takes an object with the attributes of a PyTorch
    Geometric ``Data`` (``x``, ``edge_index``, ``y``, ``train_mask``, ..). Otherwise:

    Parameters
    ----------
    x : array [N, F] or SciPy sparse matrix, optional
        Features. float32 without gaps is used where it lies; other numbers are converted; a sparse
        matrix stays sparse. Do not change it while the data set or a model trained on it lives.
    edge_index : integers [2, E], SciPy sparse matrix [N, N], or a file of edges
        Row 0 the sources, row 1 the targets; of a matrix, row i holds the targets of i, and its values
        do not count. A file calls nodes by their numbers from 0; for names there is ``from_tables``.
    y : array [N] or [N, K], optional
        Whole numbers or words: classes, -1, NaN or None for unknown. [N, K] of 0 and 1: so many
        yes-or-no labels. Other numbers: regression, NaN for unknown.
    train_mask, val_mask, test_mask : bool [N] or [N, splits], or node numbers, optional
        Without them a random 60/20/20 split of the labelled nodes is used (``split__ratio``).
    edge_attr : array [E] or [E, K], optional
        Numbers of the edges, in their order.
    num_nodes : int, optional
        Where neither x nor y nor a mask says it.
    directed, self_loops, duplicates : bool
        False: the reverse of every edge is added, self-loops are dropped (models add their own),
        parallel edges count once. True: they are kept as they are. A target looks at its sources.
    task : "classes", "binary_labels" or "regression", optional
        What y is, where its values mislead.
    name : str
        A preset of this name is used, if there is one.
    """

    def __init__(self, x: Any = None, edge_index: Any = None, y: Any = None, *,
                 train_mask: Any = None, val_mask: Any = None, test_mask: Any = None,
                 edge_attr: Any = None, num_nodes: int | None = None, directed: bool = False,
                 self_loops: bool = False, duplicates: bool = False, task: str | None = None,
                 name: str = "graph"):
        self._kept: list[Any] = []  # arrays that C looks at
        if edge_index is None and arrays.is_path(x):
            refuse({"y": y, "train_mask": train_mask, "val_mask": val_mask, "test_mask": test_mask,
                    "edge_attr": edge_attr, "num_nodes": num_nodes, "directed": directed,
                    "self_loops": self_loops, "duplicates": duplicates, "task": task,
                    "name": None if name == "graph" else name}, f"{x} brings its own")
            self._open(os.fspath(x))
            return
        if edge_index is None and hasattr(x, "edge_index"):
            given = {key: _attribute(x, key) for key in ("x", "edge_index", "y", "train_mask",
                                                         "val_mask", "test_mask", "edge_attr")}
            own = {"y": y, "train_mask": train_mask, "val_mask": val_mask, "test_mask": test_mask,
                   "edge_attr": edge_attr}
            given.update({key: value for key, value in own.items() if value is not None})
            num_nodes = _attribute(x, "num_nodes") if num_nodes is None else num_nodes
            x, edge_index, y = given["x"], given["edge_index"], given["y"]
            train_mask, val_mask = given["train_mask"], given["val_mask"]
            test_mask, edge_attr = given["test_mask"], given["edge_attr"]
        if edge_index is None:
            raise Error("a data set needs edge_index: integers [2, edges] or a sparse matrix")
        if arrays.is_path(edge_index):
            edge_index, own = _edges_in(edge_index)
            edge_attr = own if edge_attr is None else edge_attr
        if task not in lib.TASKS:
            raise Error(f"task: there is no {task!r}; there are classes, binary_labels, regression")
        flags = (lib.DIRECTED * bool(directed) | lib.KEEP_SELF_LOOPS * bool(self_loops)
                 | lib.KEEP_DUPLICATES * bool(duplicates))
        nodes = 0 if num_nodes is None else arrays.whole(num_nodes, "num_nodes", 1)
        handle = c.c_void_p()
        lib.call("spex_dataset_new", name.encode(), nodes, c.byref(handle))
        self._own(handle)
        self._edges(edge_index, flags)
        if edge_attr is not None:
            lib.call("spex_dataset_edge_features", handle, self._view(arrays.to_numpy(edge_attr, "edge_attr"), "edge_attr"))
        if x is not None:
            self._features(arrays.features_of(x))
        if y is not None:
            self._labels(y, lib.TASKS[task])
        self._split(train_mask, val_mask, test_mask)
        lib.call("spex_dataset_build", handle)

    @classmethod
    def from_tables(cls, edges: Any, features: Any = None, labels: Any = None) -> "Dataset":
        """From pandas tables, by the rules of the readers of CSV files (docs/formats.md).

        Nodes may have any names: ``keys`` says what each is called. `features` and `labels` have a
        column of them. Columns of words, dates and gaps are what the readers make of them.
        """
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, table in (("edges", edges), ("features", features), ("labels", labels)):
                path = os.path.join(folder, name + ".csv")
                if table is not None:
                    table.to_csv(path, index=False)
                paths.append(path.encode() if table is not None else None)
            handle = c.c_void_p()
            lib.call("spex_dataset_open_tables", *paths, c.byref(handle))
        return cls._of(handle)

    @classmethod
    def _of(cls, handle: Any) -> "Dataset":
        made = cls.__new__(cls)
        made._kept = []
        made._own(handle)
        return made

    def _own(self, handle: Any) -> None:
        self._handle = handle
        weakref.finalize(self, lib.library().spex_dataset_free, handle)

    def _open(self, path: str) -> None:
        handle = c.c_void_p()
        lib.call("spex_dataset_open", path.encode(), c.byref(handle))
        self._own(handle)

    def _view(self, array: Any, what: str) -> Array:
        self._kept.append(array)
        return arrays.view(array, what)

    def _edges(self, edge_index: Any, flags: int) -> None:
        edges = arrays.edges_of(edge_index)
        self._given_edges = edges
        lib.call("spex_dataset_edges", self._handle, self._view(edges, "edge_index"), flags)

    def _features(self, x: Any) -> None:
        if not arrays.is_sparse(x):
            lib.call("spex_dataset_features", self._handle, self._view(x, "x"))
            return
        lib.call("spex_dataset_sparse_features", self._handle, self._view(x.indptr, "x"),
                 self._view(x.indices, "x"), self._view(x.data, "x"), x.shape[1])

    def _labels(self, y: Any, task: int) -> None:
        values, classes = arrays.labels_of(y)
        lib.call("spex_dataset_labels", self._handle, self._view(values, "y"), task)
        if classes:
            lib.call("spex_dataset_class_names", self._handle, lib.texts(classes), len(classes))

    def _split(self, train: Any, val: Any, test: Any) -> None:
        if train is None and val is None and test is None:
            return
        if train is None or val is None:
            raise Error("train_mask and val_mask go together: the best epoch is chosen by the latter")
        parts = [self._view(arrays.mask_of(mask, what), what)
                 for mask, what in ((train, "train_mask"), (val, "val_mask"), (test, "test_mask"))]
        lib.call("spex_dataset_split", self._handle, *parts)

    # What it holds.

    def _facts(self) -> lib.DatasetFacts:
        facts = lib.DatasetFacts()
        lib.call("spex_dataset_describe", self._handle, c.byref(facts))
        return facts

    def _part(self, part: str, split: int = 0) -> Any:
        array = Array()
        lib.call("spex_dataset_part", self._handle, lib.PARTS[part], split, c.byref(array))
        return arrays.looked_at(array, self)

    @property
    def name(self) -> str:
        return self._facts().name.decode()

    @property
    def num_nodes(self) -> int:
        return self._facts().nodes

    @property
    def num_edges(self) -> int:
        """Directed ones: an undirected edge counts twice."""
        return self._facts().edges

    @property
    def num_features(self) -> int:
        return self._facts().features

    @property
    def num_splits(self) -> int:
        return self._facts().splits

    @property
    def task(self) -> str | None:
        facts = self._facts()
        return lib.TASK_NAMES[facts.task] if facts.outputs else None

    @property
    def class_names(self) -> list[str]:
        """Of the classes, labels or targets; their numbers where they have no names."""
        return [lib.text_of("spex_dataset_class_name", self._handle, i)
                for i in range(self._facts().outputs)]

    @property
    def keys(self) -> list[str]:
        """What the files call the nodes."""
        return [lib.text_of("spex_dataset_key", self._handle, i) for i in range(self.num_nodes)]

    @property
    def x(self) -> Any:
        """The features: a view [N, F], or a SciPy CSR matrix."""
        if not self._facts().sparse_features:
            return self._part("features")
        from scipy.sparse import csr_matrix

        shape = (self.num_nodes, self.num_features)
        parts = (self._part("feature_values"), self._part("feature_columns").view("int32"),
                 self._part("feature_offsets").view("int64"))
        return csr_matrix(parts, shape=shape, copy=False)

    @property
    def edge_index(self) -> Any:
        """The edges of the graph as it is trained on, [2, edges]: sources, targets."""
        np = arrays.numpy()
        offsets = self._part("offsets").view("int64")
        targets = np.repeat(np.arange(self.num_nodes, dtype="int64"), np.diff(offsets))
        sources = self._part("neighbours")
        if sources is None:
            sources = np.zeros(0, "uint32")
        return np.stack([sources.astype("int64"), targets])

    @property
    def y(self) -> Any:
        """The labels: classes [N] with -1 for unknown, or [N, K] with NaN for unknown."""
        return self._part("labels")

    def train_nodes(self, split: int = 0) -> Any:
        return self._nodes("train", split)

    def val_nodes(self, split: int = 0) -> Any:
        return self._nodes("validation", split)

    def test_nodes(self, split: int = 0) -> Any:
        return self._nodes("test", split)

    def _nodes(self, part: str, split: int) -> Any:
        return self._part(part, split).astype("int64")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it as a file that everything here, and ``spex``, opens at once."""
        lib.call("spex_dataset_save", self._handle, os.fspath(path).encode())

    def info(self) -> str:
        """What ``spex data info`` prints."""
        return lib.text_of("spex_dataset_text", self._handle)

    def __repr__(self) -> str:
        return (f"Dataset({self.name!r}, {self.num_nodes} nodes, {self.num_edges} edges, "
                f"{self.num_features} features, {self.num_splits} splits)")

    def __reduce__(self) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "data.safetensors"
            self.save(path)
            return _unpickle, (path.read_bytes(),)


def _unpickle(content: bytes) -> Dataset:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.safetensors"
        path.write_bytes(content)
        opened = Dataset(path)  # mapped: the file may go
        lib.call("spex_dataset_detach", opened._handle)
        return opened


def _attribute(data: Any, name: str) -> Any:
    try:
        return getattr(data, name, None)
    except Exception:  # a Data object may fail to guess num_nodes
        return None


def _edges_in(path: Any) -> tuple[Any, Any]:
    """The edges of a file as they stand there, by the numbers that it calls nodes, and their features."""
    handle = c.c_void_p()
    flags = lib.DIRECTED | lib.KEEP_SELF_LOOPS | lib.KEEP_DUPLICATES
    lib.call("spex_dataset_read", os.fspath(path).encode(), flags, c.byref(handle))
    opened = Dataset._of(handle)
    edges, keys = opened.edge_index[::-1], opened._part("keys")  # in a file, the source is the row
    return edges if keys is None else keys.astype("int64")[edges], opened._part("edge_features")


def refuse(parts: dict[str, Any], why: str) -> None:
    """For what is said beside data that has it already."""
    given = [name for name, value in parts.items() if value is not None and value is not False]
    if given:
        raise Error(f"{', '.join(given)}: {why}; make a Dataset of its x, edge_index and y, and these")


def data_of(data: Any, edge_index: Any, y: Any, **parts: Any) -> Dataset | str:
    """What fit was given, as a data set, or the path of one."""
    if not isinstance(data, Dataset) and (edge_index is not None or not arrays.is_path(data)):
        return Dataset(data, edge_index, y, **parts)
    path = None if isinstance(data, Dataset) else os.fspath(data)
    refuse({"edge_index": edge_index, "y": y, **parts}, f"{path or 'a Dataset'} brings its own")
    return path or data


def split_list(splits: Sequence[int] | str | None, data: Dataset) -> Any:
    if isinstance(splits, str) and splits == "all":
        splits = range(data.num_splits)
    numbers = [arrays.whole(split, "splits") for split in splits or []]
    return (c.c_size_t * len(numbers))(*numbers)
