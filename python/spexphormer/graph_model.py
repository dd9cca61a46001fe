"""Models with the manners of scikit-learn. The classes are made from the library's own list."""

from __future__ import annotations

import inspect
import json
import keyword
import os
import tempfile
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Sequence

from . import _arrays as arrays
from . import _library as lib
from ._library import Error
from ._training import Callback, fit as train, options_of, search
from .dataset import Dataset, data_of
from .run import Run

_GENERAL = {  # parameters of every model beside its settings
    "preset": (None, "settings of one of the paper's data sets; None: that of the data's name, if any"),
    "memory": (None, 'stay below this, such as "2GiB": sets the batch size, or refuses'),
    "progress": (None, "a bar by tqdm; None: in a terminal or a notebook"),
}
_NUMBERS = {"seed": 0, "seeds": 1, "threads": None}  # settings with a default of their own here
_HIDDEN = ("data", "preset", "model")  # keys that are said otherwise


class NotFittedError(Error, ValueError, AttributeError):
    """The model was asked before it was trained."""


class GraphModel:
    """What all models have in common. Attributes after ``fit``:

    classes_ : the classes, in the order of predict_proba's columns (classification alone)
    task_ : "classes", "binary_labels" or "regression"
    history_ : dict of arrays, a row per network and epoch: phase, seed, epoch, train_loss, train,
        validation, test, learning_rate, temperature, seconds, sample_seconds, peak_bytes
    peak_bytes_ : the most counted memory while training
    summary_ : what summary.json of a run directory holds (finished runs)
    n_features_in_ : features per node
    run_ : the run itself
    """

    _model = ""
    _keys: dict[str, str] = {}  # parameter: key of the setting

    @classmethod
    def _parameters(cls) -> list[str]:
        return [*_GENERAL, *cls._keys]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as scikit-learn has it."""
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> "GraphModel":
        """Changes parameters; the next fit uses them."""
        for name, value in params.items():
            if name not in self._parameters():
                raise Error(f"{type(self).__name__} has no parameter {name!r}; "
                            f"there are {', '.join(self._parameters())}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = {name: p.default for name, p in inspect.signature(type(self)).parameters.items()}
        changed = [f"{name}={value!r}" for name, value in self.get_params().items()
                   if repr(value) != repr(defaults[name])]
        return f"{type(self).__name__}({', '.join(changed)})"

    # Training.

    def fit(self, x: Any, edge_index: Any = None, y: Any = None, *, train_mask: Any = None,
            val_mask: Any = None, test_mask: Any = None, edge_attr: Any = None,
            num_nodes: int | None = None, directed: bool = False, self_loops: bool = False,
            duplicates: bool = False, task: str | None = None, name: str = "graph",
            out: str | os.PathLike[str] | None = None, resume: bool = False,
            scores: str | os.PathLike[str] | None = None,
            callback: Callback | None = None) -> "GraphModel":
        """Trains on a graph.

        `x` alone may be a ``Dataset``, a path or generator's name, or a PyTorch Geometric ``Data``;
        otherwise see ``Dataset`` for it and the arguments up to `name`.

        out : a run directory to write, which ``spex`` and ``load`` know; None: a temporary one
        resume : continue the run in `out`, with the same result as if it had never stopped
        scores : a file of ``spex estimate`` in place of the first phase
        callback : called after each epoch with a dict like a row of ``history_`` (and `epochs`);
            something true stops the training, and the model is the best one so far

        Ctrl-C stops after the epoch, saves everything, and raises KeyboardInterrupt; the model can
        predict with the best epoch so far.
        """
        data = data_of(x, edge_index, y, train_mask=train_mask, val_mask=val_mask,
                       test_mask=test_mask, edge_attr=edge_attr, num_nodes=num_nodes,
                       directed=directed, self_loops=self_loops, duplicates=duplicates,
                       task=task, **({} if name == "graph" else {"name": name}))
        settings = {key: getattr(self, name) for name, key in self._keys.items()
                    if getattr(self, name) is not None}
        options = options_of(settings, model=self._model, preset=self.preset, memory=self.memory,
                             out=out, resume=resume, scores=scores)
        run, raised = train(data, options, callback, self.progress)
        if run is not None:
            self._take(run)
            self._edges = getattr(data, "_given_edges", None)
        if raised:
            raise raised[0]
        return self

    def _take(self, run: Run) -> None:
        for lazy in ("history_", "classes_", "summary_"):
            self.__dict__.pop(lazy, None)
        self.run_ = run
        self._edges = None
        self.peak_bytes_ = run.facts.peak_bytes
        self.finished_ = bool(run.facts.finished)
        self.n_features_in_ = run.facts.features
        self.task_ = lib.TASK_NAMES[run.facts.task]

    # Made when they are asked for: a training needs no NumPy.

    @cached_property
    def history_(self) -> dict[str, Any]:
        return self._fitted().history()

    @cached_property
    def summary_(self) -> dict[str, Any]:
        return self._fitted().summary()

    @cached_property
    def classes_(self) -> Any:
        names = self._fitted().class_names()
        if self.task_ != "classes":
            raise AttributeError(f"{self.task_} has no classes_")
        return _classes(names)

    def _fitted(self) -> Run:
        if not hasattr(self, "run_"):
            raise NotFittedError(f"this {type(self).__name__} is not trained yet; call fit first")
        return self.run_

    # Questions.

    def predict_proba(self, nodes: Any = None, *, data: Any = None, batch: int = 0,
                      samples: int = 1) -> Any:
        """Probabilities of classes or labels, a row per node, in the order of `nodes`.

        nodes : numbers, a bool mask, or None for all
        data : another Dataset with the same features (or what Dataset takes); None: the trained one
        batch : nodes at a time, for less memory; 0: what is best
        samples : predictions over so many samples of neighbours are averaged
        """
        if self._fitted() and self.task_ == "regression":
            raise Error("a regression has no probabilities; predict gives the targets")
        return self._ask("probabilities", nodes, data, batch, samples)

    def predict(self, nodes: Any = None, *, data: Any = None, batch: int = 0,
                samples: int = 1) -> Any:
        """Classes, 0 or 1 for each label, or targets: a row per node, in the order of `nodes`."""
        values = self._ask("probabilities", nodes, data, batch, samples)
        if self.task_ == "classes":
            return self.classes_[values.argmax(axis=1)]
        if self.task_ == "binary_labels":
            return (values > 0.5).astype("int32")
        return values[:, 0] if values.shape[1] == 1 else values

    def decision_function(self, nodes: Any = None, *, data: Any = None, batch: int = 0) -> Any:
        """The network's outputs before they become probabilities; two classes have one."""
        return self._ask("logits", nodes, data, batch, 1)

    def embeddings(self, nodes: Any = None, *, data: Any = None, batch: int = 0) -> Any:
        """What the last layer before the outputs makes of each node."""
        return self._ask("embeddings", nodes, data, batch, 1)

    def _ask(self, output: str, nodes: Any, data: Any, batch: int, samples: int) -> Any:
        run = self._fitted()
        if data is not None and not isinstance(data, Dataset):
            data = Dataset(data)
        return run.predict(output, nodes, data, batch, samples)

    def attention(self, layer: int = 0, edge_index: Any = None) -> tuple[Any, Any]:
        """Edges [2, E], and for each how much its target looks at its source in `layer`.

        The edges are those that fit was given, in their order (of a loaded or opened graph, those of
        the graph), or `edge_index`. The weights of all a node looks at, expander edges and itself
        included, sum to 1. An edge that is not in the graph has NaN. Of Spexphormer these are the
        estimator's scores, by which the final network draws its neighbours.
        """
        run = self._fitted()
        edges = self._edges if edge_index is None else arrays.edges_of(edge_index)
        if edges is None:
            edges = run.dataset().edge_index
        return edges, run.attention(arrays.whole(layer, "layer"), edges)

    def score(self, y: Any = None, mask: Any = None, *, data: Any = None) -> float:
        """The share of right classes (of labels: the mean over labels), or R² of a regression.

        y : labels of all nodes, or of those in `mask`; None: the data set's own. Unknown ones are
        left out.
        """
        run = self._fitted()
        nodes = arrays.nodes_of(mask, "mask")
        if data is not None and not isinstance(data, Dataset):
            data = Dataset(data)
        graph = data or run.dataset()
        predicted = self.predict(nodes, data=data)
        truth = _labels_in(graph, self.task_) if y is None else arrays.labels_in(y)
        if nodes is not None and len(truth) == graph.num_nodes:
            truth = truth[nodes]
        if len(truth) != len(predicted):
            raise Error(f"score: {len(truth)} labels for {len(predicted)} predictions")
        return _score(self.task_, truth, predicted)

    # Keeping.

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes a run directory, which ``load`` and ``spex predict`` take."""
        self._fitted().save(directory)

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name not in ("run_", "_home")}
        if "run_" in self.__dict__:
            with tempfile.TemporaryDirectory() as folder:
                self.save(folder)
                state["_files"] = {path.name: path.read_bytes() for path in Path(folder).iterdir()
                                   if path.name != "report.html"}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        files = state.pop("_files", None)
        self.__dict__.update(state)
        if files is not None:
            self._home = tempfile.TemporaryDirectory(prefix="spex-run-")  # goes with this object
            for name, content in files.items():
                (Path(self._home.name) / name).write_bytes(content)
            self.run_ = Run.load(self._home.name)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "run_")


def _classes(names: list[str]) -> Any:
    """Numbers where the classes have no names of their own."""
    np = arrays.numpy()
    return np.arange(len(names)) if names == [str(i) for i in range(len(names))] else np.array(names)


def _labels_in(data: Dataset, task: str) -> Any:
    """The labels of a data set; classes by their names, if those are no numbers."""
    np = arrays.numpy()
    if data.y is None:
        raise Error(f"score: {data.name} has no labels; give y")
    if task != "classes":
        return data.y
    names = _classes(data.class_names)
    return np.where(data.y >= 0, names[np.maximum(data.y, 0)], "" if names.dtype.kind == "U" else -1)


def _score(task: str, y: Any, predicted: Any) -> float:
    np = arrays.numpy()
    if task == "classes":
        known = (y != "") if y.dtype.kind == "U" else (y >= 0)  # NaN is not
        if predicted.dtype.kind != y.dtype.kind and "U" in (predicted.dtype.kind, y.dtype.kind):
            y, predicted = y.astype(str), predicted.astype(str)
        return float(np.mean((y == predicted)[known])) if known.any() else float("nan")
    y = y.astype(float).reshape(len(y), -1)
    predicted = predicted.reshape(len(y), -1)
    known = ~np.isnan(y) & (y >= 0 if task == "binary_labels" else True)
    if task == "binary_labels":
        return float(np.mean((y == predicted)[known])) if known.any() else float("nan")
    each = []
    for column in range(y.shape[1]):
        k = known[:, column]
        spread = ((y[k, column] - y[k, column].mean()) ** 2).sum() if k.any() else 0.0
        missed = ((y[k, column] - predicted[k, column]) ** 2).sum()
        each.append(1 - missed / spread if spread > 0 else float("nan"))
    return float(np.mean(each))


# The classes.

_SPELLING = {"gcn": "GCN", "mlp": "MLP", "gat": "GAT", "sgc": "SGC", "gps": "GPS", "sage": "SAGE",
             "sign": "SIGN", "sgformer": "SGFormer", "nagphormer": "NAGphormer", "glognn": "GloGNN",
             "difformer": "DIFFormer", "nodeformer": "NodeFormer", "graphsaint": "GraphSAINT"}


def class_name(model: str) -> str:
    return "".join(_SPELLING.get(word, word.capitalize()) for word in model.split("-"))


def _parameter_of(model: str, key: str) -> str:
    section, _, rest = key.partition(".")
    name = rest if rest and section == model else key.replace(".", "__")
    return name + "_" if keyword.iskeyword(name) else name


def _describe(model: dict[str, Any], keys: dict[str, str]) -> str:
    meanings = {s["key"]: s for s in model["settings"]}
    lines = [f"{class_name(model['name'])}: {model['help']}.", "", "Parameters", "----------"]
    lines += [f"{name} : {meaning}" for name, (_, meaning) in _GENERAL.items()]
    for name, key in keys.items():
        value = meanings[key]["value"]
        lines.append(f"{name} : {meanings[key]['meaning']}"
                     + ("" if name in _NUMBERS else f" ({value})"))
    lines += ["", "None leaves a parameter to the preset, or to what suits the data (in brackets: where "
              "neither says otherwise).", "", inspect.cleandoc(GraphModel.__doc__ or "")]
    return "\n".join(lines)


def _initialiser(names: dict[str, Any]) -> Any:
    def __init__(self: Any, *args: Any, **params: Any) -> None:
        bound = signature.bind(self, *args, **params)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)

    kinds = inspect.Parameter
    signature = inspect.Signature(
        [kinds("self", kinds.POSITIONAL_OR_KEYWORD)]
        + [kinds(name, kinds.KEYWORD_ONLY, default=default) for name, default in names.items()])
    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


@lru_cache(maxsize=None)
def class_of(model: str) -> type[GraphModel]:
    """The class of a model, made from the library's list of its settings."""
    lib.check_model(model)
    described = lib.models()[model]
    keys = {_parameter_of(model, s["key"]): s["key"] for s in described["settings"]
            if s["key"] not in _HIDDEN}
    defaults = {name: default for name, (default, _) in _GENERAL.items()}
    defaults.update({name: _NUMBERS.get(name) for name in keys})
    name = class_name(model)
    return type(name, (GraphModel,), {
        "_model": model, "_keys": keys, "__init__": _initialiser(defaults), "__module__": "spexphormer",
        "__qualname__": name, "__doc__": _describe(described, keys)})


def find_class(name: str) -> type[GraphModel] | None:
    """By what a user writes: GCN, Gcn and gcn are one."""
    wanted = name.lower().replace("_", "")
    for model in lib.models():
        if model.replace("-", "") == wanted:
            return class_of(model)
    return None


def Model(name: str, **params: Any) -> GraphModel:
    """Any model by the name that ``spex models`` lists: ``Model("exphormer-gcn", width=64)``."""
    return class_of(name)(**params)


def tune(data: Any, models: Sequence[str] | str | None = None, *, budget: str | float = "10m",
         trials: int | None = None, seeds: int | None = None, seed: int = 0,
         splits: Sequence[int] | str | None = None, out: Any = None, preset: str | None = None,
         threads: int | None = None, settings: dict[str, Any] | None = None,
         callback: Callback | None = None, progress: bool | None = None) -> dict[str, Any]:
    """Searches for better settings on validation nodes, as ``spex tune`` does.

    Parameters
    ----------
    data : Dataset, or what Dataset takes as its first argument
    models : names to search among; None: the one that ``spex train`` would take
    budget : time for all of it: "90s", "10m", "1h", or seconds
    trials : at most so many configurations; None: as time allows
    seeds : trainings of each finalist on each split; None: 3, with several splits 1
    splits : stored splits to judge on, or "all"; None: the first
    out : a folder for best.toml, the trials and a page; the same call goes on where it was stopped.
        None: a temporary one
    settings : to start from, such as {"gcn.width": 64}
    callback : called after each training, by any thread, with a dict: stage, seconds, budget_seconds,
        trials, best and start (validation metrics); something true stops the search

    Returns
    -------
    dict
        best: an untrained model with the winner's settings. The rest is what tune.json holds: trials,
        finalists (lists of trials that predict together), finals, tests, winner (a finalist; 0: the
        default is kept), test_mean and test_std of the winner, ..
        Test nodes are looked at once, in the end, for the winner.
    """
    data = data if isinstance(data, Dataset) else Dataset(data)
    table = search(data, models, budget=budget, trials=trials, seeds=seeds, seed=seed, splits=splits,
                   out=out, preset=preset, threads=threads, settings=settings, callback=callback,
                   progress=progress)
    said = {key: json.loads(value) for key, value in table["best"].items()}
    keys = class_of(said["model"])._keys
    params = {name: said[key] for name, key in keys.items() if said[key] != "" and key != "threads"}
    table["best"] = class_of(said["model"])(preset="none", threads=threads, **params)
    return table


def load(directory: str | os.PathLike[str]) -> GraphModel:
    """A model from a run directory, of ``save``, of ``fit(out=..)`` or of ``spex train``."""
    run = Run.load(directory)
    made = class_of(run.facts.model.decode())()
    made._take(run)
    return made
