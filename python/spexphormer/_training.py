"""Training calls: settings on their way in, progress and Ctrl-C on their way out."""

from __future__ import annotations

import contextlib
import ctypes as c
import json
import os
import signal
import sys
import threading
from typing import Any, Callable, Iterator, Sequence

from . import _library as lib
from ._library import Error
from .dataset import Dataset, int_list
from .run import Run

Callback = Callable[[dict[str, Any]], Any]


def toml(value: Any) -> str:
    """A value as settings write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(toml(each) for each in value) + "]"
    return str(value)


def options_of(settings: dict[str, Any], *, model: str | None = None, preset: str | None = None,
               memory: str | int | None = None, out: Any = None, resume: bool = False,
               scores: Any = None) -> lib.FitOptions:
    options = lib.FitOptions(size=c.sizeof(lib.FitOptions))
    lines = [f"{key}={toml(value)}" for key, value in settings.items()]
    options.settings, options.setting_count = lib.texts(lines), len(lines)
    words = {"model": model, "preset": preset, "memory": memory, "directory": out, "scores": scores}
    for name, value in words.items():
        if value is not None:
            setattr(options, name, os.fspath(value).encode() if name != "memory"
                    else str(value).encode())
    options.resume = int(resume)
    return options


class _Bar:
    """A bar per network, by tqdm."""

    def __init__(self, tqdm: Any):
        self._tqdm, self._bar, self._of = tqdm, None, None

    def __call__(self, epoch: dict[str, Any]) -> None:
        of = (epoch["phase"], epoch["seed"])
        if of != self._of:
            self.close()
            self._of = of
            self._bar = self._tqdm(total=epoch["epochs"], initial=epoch["epoch"], desc=epoch["phase"])
        if epoch["validation"] == epoch["validation"]:
            self._bar.set_postfix(loss=f"{epoch['train_loss']:.4f}",
                                  val=f"{100 * epoch['validation']:.2f}%", refresh=False)
        self._bar.update(1)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _bar(wanted: bool | None) -> _Bar | None:
    """wanted None: in a terminal or a notebook, if tqdm is there."""
    notebook = "ipykernel" in sys.modules
    if wanted is False or (wanted is None and not notebook and not sys.stderr.isatty()):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        if wanted:
            raise Error("a progress bar needs tqdm (Debian: python3-tqdm)") from None
        return None
    return _Bar(tqdm)


@contextlib.contextmanager
def _interrupts() -> Iterator[list[bool]]:
    """Ctrl-C is remembered rather than raised: it ends the epoch's callback, not the library."""
    seen: list[bool] = []
    catch = (threading.current_thread() is threading.main_thread()
             and signal.getsignal(signal.SIGINT) is signal.default_int_handler)
    if catch:
        signal.signal(signal.SIGINT, lambda *_: seen.append(True))
    try:
        yield seen
    finally:
        if catch:
            signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def _watched(callback: Callback | None, progress: bool | None) -> Iterator[tuple[Any, list[Any]]]:
    bar = _bar(progress)

    with _interrupts() as seen:
        def each(epoch: dict[str, Any]) -> bool:
            if bar:
                bar(epoch)
            return bool(callback and callback(epoch)) or bool(seen)

        function, raised = lib.on_epoch(each)
        try:
            yield function, raised
        finally:
            if bar:
                bar.close()
    if seen and not raised:
        raised.append(KeyboardInterrupt())


def fit(data: Dataset, options: lib.FitOptions, callback: Callback | None,
        progress: bool | None) -> tuple[Run, list[BaseException]]:
    """The run, and what ended it before its time."""
    handle = c.c_void_p()
    with _watched(callback, progress) as (function, raised):
        lib.call("spex_fit", data._handle, c.byref(options), function, None, c.byref(handle))
    return Run(handle, data), raised


def compare(data: Any, models: Sequence[str], *, seeds: int = 1, seed: int = 0,
            splits: Sequence[int] | str | None = None, out: Any = None, preset: str | None = None,
            threads: int | None = None, settings: dict[str, Any] | None = None,
            callback: Callback | None = None, progress: bool | None = None) -> dict[str, Any]:
    """Trains several models on the same splits and seeds, as ``spex compare`` does.

    Parameters
    ----------
    data : Dataset, or what Dataset takes as its first argument
    models : names, such as ["mlp", "gcn", "spexphormer"]
    seeds : networks to train on each split
    splits : stored splits, or "all"; None: the first
    out : a folder for the runs; the same call goes on where it was stopped. None: a temporary one
    settings : such as {"gcn.width": 64, "split.ratio": "50/25/25"}; a model's own count for it alone

    Returns
    -------
    dict
        data, metric, and models: for each its mean and spread on test nodes, seconds, bytes, whether
        it is the best or not told from the best, and every training.
    """
    data = data if isinstance(data, Dataset) else Dataset(data)
    if splits == "all":
        splits = range(data.num_splits)
    own = {"seed": seed, "seeds": seeds, **(settings or {})}
    if threads is not None:
        own["threads"] = threads
    options, text = options_of(own, preset=preset, out=out), c.c_void_p()
    numbers, count = int_list(splits)
    with _watched(callback, progress) as (function, raised):
        lib.call("spex_compare", data._handle, lib.texts(list(models)), len(models), numbers, count,
                 c.byref(options), function, None, c.byref(text))
    if raised:
        raise raised[0]
    if not text.value:
        raise Error("stopped by the callback; the same call with the same `out` goes on")
    try:
        return json.loads(c.string_at(text.value).decode())
    finally:
        lib.library().spex_text_free(text)
