"""From what people have (NumPy, SciPy, pandas, torch, lists) to arrays that C can read, and back."""

from __future__ import annotations

import operator
import weakref
from typing import Any

from . import _library as lib
from ._library import Array, Error


def numpy() -> Any:
    import numpy

    return numpy


def is_sparse(value: Any) -> bool:
    """A SciPy sparse matrix or array, without importing SciPy."""
    return hasattr(value, "tocsr") and hasattr(value, "nnz")


def is_path(value: Any) -> bool:
    import os

    return isinstance(value, (str, os.PathLike))


def whole(value: Any, what: str, least: int = 0) -> int:
    """A number that C can count with."""
    try:
        number = operator.index(value)
    except TypeError:
        raise Error(f"{what}: expected a whole number, got {value!r}") from None
    if not least <= number < 2**63:
        raise Error(f"{what}: expected a number from {least}, got {number}")
    return number


def _array_of(value: Any, what: str) -> Any:
    np = numpy()
    try:
        if hasattr(value, "__array__"):
            value = value.detach() if hasattr(value, "detach") else value
            return np.asarray(value)
        return np.from_dlpack(value) if hasattr(value, "__dlpack__") else np.asarray(value)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:  # on a GPU, ragged, ..
        raise Error(f"{what}: cannot be read as an array ({error})") from None


def to_numpy(value: Any, what: str) -> Any:
    """A NumPy array of what has __array__ or __dlpack__, or is a sequence; no copy where none is needed."""
    np = numpy()
    if np.ma.is_masked(value):
        raise Error(f"{what}: some entries are masked; fill them first")
    array = _array_of(value, what)
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = array.astype("float64")
    if array.dtype.kind == "O":
        raise Error(f"{what}: expected numbers, got objects such as {_example(array)!r}; tables with "
                    "words are read by Dataset.from_tables")
    if array.dtype.kind in "SU":
        raise Error(f"{what}: expected numbers, got text such as {_example(array)!r}")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.name not in lib.TYPES:
        raise Error(f"{what}: numbers of the type {array.dtype.name} are not known")
    return array


def _example(array: Any) -> Any:
    return array.flat[0] if array.size else ""


def view(array: Any, what: str) -> Array:
    """The array as C sees it; the caller keeps it alive."""
    if array is None:
        return Array()
    if array.ndim not in (1, 2):
        raise Error(f"{what}: expected 1 or 2 dimensions, got {array.ndim}")
    out = Array(array.ctypes.data, lib.TYPES[array.dtype.name], array.ndim)
    for axis in range(array.ndim):
        out.shape[axis], out.strides[axis] = array.shape[axis], array.strides[axis]
    return out


class _Memory:
    """Memory of the library that NumPy looks at; `owner` keeps it alive."""

    def __init__(self, array: Array, owner: Any, readonly: bool):
        np = numpy()
        self.owner = owner
        self.__array_interface__ = {
            "version": 3, "data": (array.data, readonly),
            "typestr": np.dtype(lib.NAMES[array.type]).str,
            "shape": tuple(array.shape[:array.dimensions]),
            "strides": tuple(array.strides[:array.dimensions]),
        }


def looked_at(array: Array, owner: Any, readonly: bool = True) -> Any:
    """A NumPy array of memory that `owner` keeps alive; None where there is none."""
    np = numpy()
    if array.dimensions == 0:
        return None
    shape = tuple(array.shape[:array.dimensions])
    if 0 in shape:
        return np.zeros(shape, lib.NAMES[array.type])
    return np.asarray(_Memory(array, owner, readonly))


class Result:
    """Numbers that a call gave."""

    def __init__(self, handle: Any):
        self._handle = handle
        weakref.finalize(self, lib.library().spex_result_free, handle)

    def array(self) -> Any:
        return looked_at(lib.library().spex_result_array(self._handle), self, readonly=False)


def features_of(x: Any) -> Any:
    """Dense features [N, F], or a CSR matrix with ascending columns."""
    if is_sparse(x):
        x = x.tocsr()
        if not x.has_canonical_format:
            x = x.copy()
            x.sum_duplicates()
        return x
    array = to_numpy(x, "x")
    return array.reshape(-1, 1) if array.ndim == 1 else array


def edges_of(edge_index: Any) -> Any:
    """[2, E] integers, from those or from a sparse matrix: row i of it holds the targets of i."""
    np = numpy()
    if is_sparse(edge_index):
        if edge_index.shape[0] != edge_index.shape[1]:
            raise Error(f"edge_index: an adjacency matrix is square, got {edge_index.shape}")
        matrix = edge_index.tocoo()
        return np.stack([matrix.row, matrix.col])
    edges = to_numpy(edge_index, "edge_index")
    if edges.size == 0 and edges.dtype.kind == "f":  # an empty list
        edges = edges.astype("int64")
    if edges.ndim != 2 or edges.shape[0] != 2:
        raise Error(f"edge_index: expected the shape [2, edges], row 0 the sources and row 1 the "
                    f"targets, got {list(edges.shape)}")
    return edges


def labels_in(y: Any) -> Any:
    """Numbers, or words with "" for unknown."""
    np = numpy()
    raw = y.to_numpy() if hasattr(y, "to_numpy") else y
    array = _array_of(raw, "y")
    if array.dtype.kind not in "OSU":
        return to_numpy(raw, "y")
    if array.ndim != 1:
        raise Error("y: words as labels are one per node")
    return np.array(["" if word is None or word != word else str(word) for word in array], dtype=str)


def labels_of(y: Any) -> tuple[Any, list[Any] | None]:
    """Numbers, and the classes that they stand for if the labels were words."""
    np = numpy()
    words = labels_in(y)
    if words.dtype.kind != "U":
        return words, None
    classes, codes = np.unique(words, return_inverse=True)
    codes = codes.astype("int64")
    if len(classes) and classes[0] == "":
        classes, codes = classes[1:], codes - 1
    return codes, [str(name) for name in classes]


def mask_of(mask: Any, what: str) -> Any:
    """A mask [N] or [N, splits], or node numbers."""
    if mask is None:
        return None
    array = to_numpy(mask, what)
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype("int64")
    if array.dtype.kind not in "biu":
        raise Error(f"{what}: expected true and false, or node numbers, got {array.dtype.name}")
    return array


def nodes_of(nodes: Any, what: str = "nodes") -> Any:
    """A mask, or the node numbers of a list or of one number."""
    array = mask_of(nodes, what)
    if array is None:
        return None
    if array.ndim > 1:
        raise Error(f"{what}: expected one dimension, got {array.ndim}")
    return array.reshape(-1)
