"""The shared library and its C interface (spex/spex.h), by ctypes.

ctypes rather than a compiled extension: one build serves every Python, nothing has to be compiled
against Python's headers, and the interpreter lock is released during every call.
"""

from __future__ import annotations

import atexit
import ctypes as c
import json
import logging
import os
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any, Callable

log = logging.getLogger("spexphormer")

TYPES = {  # of spex_type, by NumPy's names
    "bool": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint8": 6, "uint16": 7,
    "uint32": 8, "uint64": 9, "float16": 10, "float32": 11, "float64": 12,
}
NAMES = {number: name for name, number in TYPES.items()}
TASKS = {None: 0, "classes": 1, "binary_labels": 2, "regression": 3}
TASK_NAMES = {1: "classes", 2: "binary_labels", 3: "regression"}
PARTS = {"keys": 12, "offsets": 1, "neighbours": 2, "features": 3, "feature_offsets": 4, "feature_columns": 5,
         "feature_values": 6, "labels": 7, "train": 8, "validation": 9, "test": 10,
         "edge_features": 11}
OUTPUTS = {"probabilities": 0, "logits": 1, "embeddings": 2}
DIRECTED, KEEP_SELF_LOOPS, KEEP_DUPLICATES = 1, 2, 4


class Error(Exception):
    """What cannot be done, in a sentence: what was wrong, where, and what was expected."""


class Array(c.Structure):
    _fields_ = [("data", c.c_void_p), ("type", c.c_int), ("dimensions", c.c_int),
                ("shape", c.c_size_t * 2), ("strides", c.c_ssize_t * 2)]


class DatasetFacts(c.Structure):
    _fields_ = [("name", c.c_char_p), ("nodes", c.c_size_t), ("edges", c.c_size_t),
                ("features", c.c_size_t), ("sparse_features", c.c_int), ("task", c.c_int),
                ("outputs", c.c_size_t), ("splits", c.c_size_t), ("edge_features", c.c_size_t),
                ("undirected", c.c_int)]


class Epoch(c.Structure):
    _fields_ = [("phase", c.c_char_p), ("seed", c.c_size_t), ("epoch", c.c_size_t),
                ("epochs", c.c_size_t), ("train_loss", c.c_double), ("train", c.c_double),
                ("validation", c.c_double), ("test", c.c_double), ("learning_rate", c.c_double),
                ("temperature", c.c_double), ("seconds", c.c_double),
                ("sample_seconds", c.c_double), ("peak_bytes", c.c_size_t)]

    def as_dict(self) -> dict[str, Any]:
        row = {name: getattr(self, name) for name, _ in self._fields_}
        row["phase"] = row["phase"].decode()
        return row


class FitOptions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("model", c.c_char_p), ("preset", c.c_char_p),
                ("config", c.c_char_p), ("settings", c.POINTER(c.c_char_p)),
                ("setting_count", c.c_size_t), ("memory", c.c_char_p), ("scores", c.c_char_p),
                ("directory", c.c_char_p), ("resume", c.c_int), ("checkpoint_seconds", c.c_double),
                ("stop", c.c_void_p)]


class TuneOptions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("models", c.POINTER(c.c_char_p)), ("model_count", c.c_size_t),
                ("splits", c.POINTER(c.c_size_t)), ("split_count", c.c_size_t), ("seeds", c.c_size_t),
                ("trials", c.c_size_t), ("budget_seconds", c.c_double)]


class TuneProgress(c.Structure):
    _fields_ = [("seconds", c.c_double), ("budget_seconds", c.c_double), ("trials", c.c_size_t),
                ("best", c.c_double), ("start", c.c_double), ("stage", c.c_char_p)]

    def as_dict(self) -> dict[str, Any]:
        row = {name: getattr(self, name) for name, _ in self._fields_}
        row["stage"] = row["stage"].decode()
        return row


class RunFacts(c.Structure):
    _fields_ = [("model", c.c_char_p), ("directory", c.c_char_p), ("task", c.c_int),
                ("outputs", c.c_size_t), ("features", c.c_size_t), ("finished", c.c_int),
                ("can_predict", c.c_int), ("peak_bytes", c.c_size_t)]


class PredictOptions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("data", c.c_void_p), ("batch", c.c_size_t),
                ("samples", c.c_size_t)]


EpochFunction = c.CFUNCTYPE(c.c_int, c.POINTER(Epoch), c.c_void_p)
TuneFunction = c.CFUNCTYPE(c.c_int, c.POINTER(TuneProgress), c.c_void_p)
StopFunction = c.CFUNCTYPE(c.c_int, c.c_void_p)
LogFunction = c.CFUNCTYPE(None, c.c_char_p, c.c_void_p)

_handle, _text, _count = c.c_void_p, c.c_char_p, c.c_size_t
_CALLS: dict[str, list[Any]] = {  # what returns a status, and its arguments
    "spex_models": [c.POINTER(_text)],
    "spex_dataset_open": [_text, c.POINTER(_handle)],
    "spex_dataset_read": [_text, c.c_uint, c.POINTER(_handle)],
    "spex_dataset_open_tables": [_text, _text, _text, c.POINTER(_handle)],
    "spex_dataset_new": [_text, _count, c.POINTER(_handle)],
    "spex_dataset_edges": [_handle, Array, c.c_uint],
    "spex_dataset_edge_features": [_handle, Array],
    "spex_dataset_features": [_handle, Array],
    "spex_dataset_sparse_features": [_handle, Array, Array, Array, _count],
    "spex_dataset_labels": [_handle, Array, c.c_int],
    "spex_dataset_class_names": [_handle, c.POINTER(_text), _count],
    "spex_dataset_split": [_handle, Array, Array, Array],
    "spex_dataset_build": [_handle],
    "spex_dataset_describe": [_handle, c.POINTER(DatasetFacts)],
    "spex_dataset_class_name": [_handle, _count, c.POINTER(_text)],
    "spex_dataset_key": [_handle, _count, c.POINTER(_text)],
    "spex_dataset_text": [_handle, c.POINTER(_text)],
    "spex_dataset_part": [_handle, c.c_int, _count, c.POINTER(Array)],
    "spex_dataset_detach": [_handle],
    "spex_dataset_save": [_handle, _text],
    "spex_fit": [_handle, c.POINTER(FitOptions), EpochFunction, c.c_void_p, c.POINTER(_handle)],
    "spex_fit_file": [_text, c.POINTER(FitOptions), EpochFunction, c.c_void_p, c.POINTER(_handle)],
    "spex_compare": [_handle, c.POINTER(_text), _count, c.POINTER(_count), _count,
                     c.POINTER(FitOptions), EpochFunction, c.c_void_p, c.POINTER(c.c_void_p)],
    "spex_tune": [_handle, c.POINTER(TuneOptions), c.POINTER(FitOptions), TuneFunction, c.c_void_p,
                  c.POINTER(c.c_void_p)],
    "spex_run_load": [_text, c.POINTER(_handle)],
    "spex_run_save": [_handle, _text],
    "spex_run_describe": [_handle, c.POINTER(RunFacts)],
    "spex_run_class_name": [_handle, _count, c.POINTER(_text)],
    "spex_run_history": [_handle, c.POINTER(c.POINTER(Epoch)), c.POINTER(_count)],
    "spex_run_summary": [_handle, c.POINTER(_text)],
    "spex_run_config": [_handle, c.POINTER(_text)],
    "spex_run_dataset": [_handle, c.POINTER(_handle)],
    "spex_run_predict": [_handle, c.c_int, Array, c.POINTER(PredictOptions), c.POINTER(_handle)],
    "spex_run_attention": [_handle, _count, Array, c.POINTER(_handle)],
}


def _candidates() -> list[str]:
    """Where the library may be: named, inside the package, in a build of the sources, installed."""
    here = Path(__file__).resolve().parent
    places = [os.environ.get("SPEX_LIBRARY", ""), here / "lib" / "libspex.so.0",
              here.parents[1] / "build" / "release" / "libspex.so.0"]
    return [str(place) for place in places if place and Path(place).exists()] + ["libspex.so.0"]


_lock = threading.Lock()
_loaded: list[Any] = []  # the library, and the log function that it calls


def _load() -> Any:
    path = _candidates()[0]
    try:
        lib = c.CDLL(path)
    except OSError as error:
        raise Error(f"the library of spexphormer cannot be loaded: {error}; build it with "
                    "`make python`, or name it in SPEX_LIBRARY") from None
    for name, arguments in _CALLS.items():
        function = getattr(lib, name)
        function.argtypes, function.restype = arguments, c.c_int
    lib.spex_last_error.restype = lib.spex_version.restype = c.c_char_p
    lib.spex_result_array.restype, lib.spex_result_array.argtypes = Array, [_handle]
    for name in ("spex_dataset_free", "spex_run_free", "spex_result_free", "spex_text_free"):
        getattr(lib, name).argtypes, getattr(lib, name).restype = [c.c_void_p], None
    lib.spex_set_log.argtypes, lib.spex_set_log.restype = [LogFunction, c.c_void_p], None
    return lib


def library() -> Any:
    """The library, loaded when it is first needed."""
    with _lock:
        if not _loaded:
            lib = _load()
            say = LogFunction(lambda line, _: log.info("%s", line.decode(errors="replace")))
            lib.spex_set_log(say, None)
            atexit.register(lib.spex_set_log, LogFunction(), None)
            _loaded.extend([lib, say])
        return _loaded[0]


def call(name: str, *arguments: Any) -> None:
    """Calls a function that returns a status; raises what it refuses."""
    lib = library()
    if getattr(lib, name)(*arguments) != 0:
        raise Error(lib.spex_last_error().decode(errors="replace"))


def text_of(name: str, *arguments: Any) -> str:
    out = c.c_char_p()
    call(name, *arguments, c.byref(out))
    return out.value.decode()


def texts(values: list[str]) -> Any:
    return (c.c_char_p * max(1, len(values)))(*[value.encode() for value in values])


@lru_cache(maxsize=1)
def models() -> dict[str, dict[str, Any]]:
    """What can be trained: name, help and settings."""
    return {model["name"]: model for model in json.loads(text_of("spex_models"))}


def check_model(name: str) -> None:
    if name not in models():
        raise Error(f"there is no model {name!r}; there are {', '.join(models())}")


def version() -> str:
    return library().spex_version().decode()


def guarded(callback: Callable[[dict[str, Any]], Any], raised: list[BaseException]) -> Any:
    """A callback for C: what it raises is kept, and ends what calls it."""

    def function(report: Any, _: Any) -> int:
        try:
            return int(bool(callback(report.contents.as_dict())))
        except BaseException as error:  # noqa: BLE001: nothing may pass through C
            raised.append(error)
            return 1

    return function


def taken_text(text: Any) -> str:
    """Text that was given away by the library."""
    try:
        return c.string_at(text.value).decode()
    finally:
        library().spex_text_free(text)
