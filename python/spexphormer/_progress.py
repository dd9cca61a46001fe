"""A bar while something trains: by tqdm, or a plain line where that is not there."""

from __future__ import annotations

import sys
from typing import Any


class _Line:
    """What tqdm draws, as far as it is used here, where there is none."""

    def __init__(self, total: int, initial: int = 0, desc: str = "", unit: str = "epoch"):
        self._total, self._done, self._desc, self._unit, self._notes = total, initial, desc, unit, ""

    def set_postfix(self, refresh: bool = False, **notes: str) -> None:
        self._notes = "".join(f"  {name} {note}" for name, note in notes.items())

    def update(self, count: int) -> None:
        self._done += count
        sys.stderr.write(f"\r{self._desc}: {self._unit} {self._done} of {self._total}{self._notes}\033[K")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\n")


class Bar:
    """A bar per network, or one for a search."""

    def __init__(self, draw: Any):
        self._draw, self._bar, self._of = draw, None, None

    def _begin(self, of: Any, done: int, total: int, desc: str, unit: str) -> None:
        if of != self._of:
            self.close()
            self._of, self._done = of, done
            self._bar = self._draw(total=total, initial=done, desc=desc, unit=unit)

    def _move(self, done: int, notes: dict[str, str]) -> None:
        if notes:
            self._bar.set_postfix(refresh=False, **notes)
        self._bar.update(done - self._done)
        self._done = done

    def show(self, report: dict[str, Any]) -> None:
        (self._search if "stage" in report else self._epoch)(report)

    def _epoch(self, e: dict[str, Any]) -> None:
        notes = {"loss": f"{e['train_loss']:.4f}", "val": f"{100 * e['validation']:.2f}%"}
        known = e["validation"] == e["validation"]
        if e["epoch"] == 0:  # of another split, too
            self._of = None
        self._begin((e["phase"], e["seed"]), e["epoch"], e["epochs"], e["phase"], "epoch")
        self._move(e["epoch"] + 1, notes if known else {})

    def _search(self, p: dict[str, Any]) -> None:
        notes = {"trials": str(p["trials"]), "best": f"{100 * p['best']:.2f}%"}
        self._begin("tune", 0, round(p["budget_seconds"]), "tune", "s")
        self._move(int(p["seconds"]), notes)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def make_bar(wanted: bool | None) -> Bar | None:
    """wanted None: in a terminal or a notebook."""
    notebook = "ipykernel" in sys.modules
    if wanted is False or (wanted is None and not notebook and not sys.stderr.isatty()):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return Bar(_Line)
    return Bar(tqdm)
