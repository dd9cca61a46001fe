"""Training calls: settings on their way in, progress and Ctrl-C on their way out."""

from __future__ import annotations

import contextlib
import ctypes as c
import json
import os
import signal
import threading
from typing import Any, Callable, Iterator, Sequence

from . import _library as lib
from ._arrays import whole
from ._library import Error
from ._progress import make_bar
from .dataset import Dataset, split_list
from .run import Run

Callback = Callable[[dict[str, Any]], Any]


def toml(value: Any) -> str:
    """A value as settings write it."""
    value = value.tolist() if hasattr(value, "tolist") else value  # of NumPy
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
def _watched(options: lib.FitOptions, callback: Callback | None,
             progress: bool | None) -> Iterator[tuple[Any, list[BaseException]]]:
    """What C is to call after each epoch or trial, and what was raised there or by Ctrl-C."""
    bar, raised = make_bar(progress), []

    def each(report: dict[str, Any]) -> bool:
        if bar:
            bar.show(report)
        return bool(callback and callback(report))

    with _interrupts() as seen:
        stop = lib.StopFunction(lambda _: int(bool(seen)))
        options.stop = c.cast(stop, c.c_void_p)
        try:
            yield lib.guarded(each, raised), raised
        except Error:
            if not seen:  # else it says that it was stopped
                raise
        finally:
            if bar:
                bar.close()
    if seen and not raised:
        raised.append(KeyboardInterrupt())


def fit(data: Dataset | str, options: lib.FitOptions, callback: Callback | None,
        progress: bool | None) -> tuple[Run | None, list[BaseException]]:
    """The run, if it came to that, and what ended it before its time."""
    handle = c.c_void_p()
    with _watched(options, callback, progress) as (function, raised):
        rest = (c.byref(options), lib.EpochFunction(function), None, c.byref(handle))
        if isinstance(data, str):
            lib.call("spex_fit_file", data.encode(), *rest)
        else:
            lib.call("spex_fit", data._handle, *rest)
    return Run(handle, data) if handle else None, raised


def _settings(seed: int, threads: int | None, settings: dict[str, Any] | None) -> dict[str, Any]:
    return {"seed": seed, **({} if threads is None else {"threads": threads}), **(settings or {})}


def _names(models: Sequence[str] | str | None) -> list[str]:
    names = [models] if isinstance(models, str) else list(models or [])
    for name in names:
        lib.check_model(name)
    return names


def _result(text: Any, raised: list[BaseException]) -> dict[str, Any]:
    if raised:
        raise raised[0]
    if not text.value:
        raise Error("stopped by the callback; the same call with the same `out` goes on")
    return json.loads(lib.taken_text(text))


def compare(data: Any, models: Sequence[str], *, seeds: int = 1, seed: int = 0,
            splits: Sequence[int] | str | None = None, out: Any = None, preset: str | None = None,
            threads: int | None = None, settings: dict[str, Any] | None = None,
            callback: Callback | None = None, progress: bool | None = None) -> dict[str, Any]:
    """Trains several models on the same splits and seeds, as ``spex compare`` does.

    Parameters
    ----------
    data : Dataset, or what Dataset takes as its first argument
    models : names, such as ["mlp", "gcn", "spexphormer"]
    seeds : trainings on each split, of one network each unless settings has "members"
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
    names, numbers, text = _names(models), split_list(splits, data), c.c_void_p()
    if not names:
        raise Error(f"compare: no model is named; there are {', '.join(lib.models())}")
    options = options_of({"seeds": seeds, **_settings(seed, threads, settings)}, preset=preset, out=out)
    with _watched(options, callback, progress) as (function, raised):
        lib.call("spex_compare", data._handle, lib.texts(names), len(names), numbers, len(numbers),
                 c.byref(options), lib.EpochFunction(function), None, c.byref(text))
    return _result(text, raised)


def _seconds(budget: str | float) -> float:
    units = {"s": 1, "m": 60, "h": 3600}
    text = str(budget)
    try:
        seconds = float(text[:-1]) * units[text[-1]] if text[-1:] in units else float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise Error(f"budget: expected a time such as 90s, 10m or 1h, got {budget!r}")
    return seconds


def _aside(call: Callable[[], None]) -> None:
    """Runs it on a thread of its own. A search reports from any thread; this one is free for Ctrl-C."""
    raised: list[BaseException] = []

    def body() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001: raised below
            raised.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]


def search(data: Dataset, models: Sequence[str] | str | None, *, budget: str | float,
           trials: int | None, seeds: int | None, seed: int, splits: Sequence[int] | str | None,
           out: Any, preset: str | None, threads: int | None, settings: dict[str, Any] | None,
           callback: Callback | None, progress: bool | None) -> dict[str, Any]:
    """What spex_tune gives."""
    names, numbers, text = _names(models), split_list(splits, data), c.c_void_p()
    wanted = lib.TuneOptions(
        c.sizeof(lib.TuneOptions), lib.texts(names), len(names), numbers, len(numbers),
        0 if seeds is None else whole(seeds, "seeds", 1),
        0 if trials is None else whole(trials, "trials", 1), _seconds(budget))
    options = options_of(_settings(seed, threads, settings), preset=preset, out=out)
    with _watched(options, callback, progress) as (function, raised):
        report = lib.TuneFunction(function)
        _aside(lambda: lib.call("spex_tune", data._handle, c.byref(wanted), c.byref(options), report,
                                None, c.byref(text)))
    return _result(text, raised)
