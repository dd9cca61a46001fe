"""The manners of scikit-learn, questions to a trained model, and what is kept."""

import inspect
import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import spexphormer as sx


def test_a_network_learns(graph, trained):
    assert trained.score(graph.y, mask=graph.test_mask) > 0.85
    assert trained.peak_bytes_ > 0 and trained.n_features_in_ == 8
    assert len(trained.history_["train_loss"]) == 30
    assert trained.history_["train_loss"][-1] < trained.history_["train_loss"][0]
    assert trained.summary_["final"]["seeds"][0]["test"] == pytest.approx(
        trained.score(graph.y, mask=graph.test_mask), abs=1e-6)


def test_every_model_has_a_class_with_its_settings():
    for name, model in sx.models().items():
        cls = type(sx.Model(name))
        assert getattr(sx, cls.__name__) is cls
        for setting in model["settings"]:
            assert setting["meaning"] in cls.__doc__ or setting["key"] in ("data", "preset", "model")
    assert sx.GCN is sx.Gcn and "Spexphormer" in dir(sx)


def test_a_score_is_of_the_nodes_that_are_named(graph, trained):
    right = trained.predict() == graph.y
    order = np.random.default_rng(1).permutation(200)  # as many as all nodes, in another order
    assert trained.score(graph.y, mask=order) == pytest.approx(right.mean())
    some = order[:50]
    for y in (graph.y, graph.y[some]):
        assert trained.score(y, mask=some) == pytest.approx(right[some].mean())
    partly = np.where(np.arange(200) < 100, graph.y, np.nan)
    assert trained.score(partly) == pytest.approx(right[:100].mean())
    other = np.where(np.arange(200) < 100, graph.y, 3)  # a class that it does not know is a mistake
    assert trained.score(other) == pytest.approx(right[:100].sum() / 200)


def test_a_score_on_another_graph_is_by_its_own_labels(parts, quick):
    words = np.array(["ant", "bee", "cow"])
    model = quick(epochs=30).fit(**{**parts, "y": words[parts["y"]]})
    known = parts["y"] > 0  # of this graph the first class is "bee"
    other = {**parts, "y": np.where(known, words[parts["y"]], "")}
    right = (model.predict() == words[parts["y"]])[known].mean()
    assert model.score(data=sx.Dataset(**other)) == pytest.approx(right)
    assert model.score(data=SimpleNamespace(**other)) == pytest.approx(right)
    digits = quick(epochs=30).fit(**{**parts, "y": parts["y"].astype(str)})
    assert digits.score(parts["y"].astype(str)) == digits.score() > 0.8


def test_parameters_are_only_stored(quick):
    model = sx.Spexphormer(width=16, estimator__epochs=3, degrees=(4, 2))
    assert model.get_params()["degrees"] == (4, 2) and model.set_params(seed=4).seed == 4
    assert "array" in repr(sx.Spexphormer(degrees=np.array([4, 2])))
    assert "width=16" in repr(model)
    assert set(model.get_params()) == set(inspect.signature(sx.Spexphormer).parameters)


def test_scikit_learn_clones_it(trained):
    base = pytest.importorskip("sklearn.base")
    copy = base.clone(trained)
    assert copy.get_params() == trained.get_params() and not hasattr(copy, "run_")


def test_rows_come_in_the_order_asked_for(graph, trained):
    everything = trained.predict_proba()
    assert everything.shape == (200, 3) and everything.dtype == np.float32
    assert np.allclose(everything.sum(axis=1), 1, atol=1e-5)
    for nodes in ([7, 3, 7, 0], np.array([5], "uint8"), graph.test_mask, 9, []):
        index = np.atleast_1d(nodes) if not isinstance(nodes, list) else nodes
        chosen = everything[np.array(index, dtype=bool if index is graph.test_mask else int)]
        assert np.array_equal(trained.predict_proba(nodes), chosen)
    assert np.array_equal(trained.predict(), everything.argmax(axis=1))
    assert np.array_equal(trained.decision_function().argmax(axis=1), everything.argmax(axis=1))


def test_embeddings_tell_the_classes_apart(graph, trained):
    z = trained.embeddings()
    assert z.shape == (200, 8)
    centres = np.stack([z[graph.train_mask & (graph.y == c)].mean(axis=0) for c in range(3)])
    nearest = ((z[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == graph.y)[graph.test_mask].mean() > 0.8
    assert np.array_equal(trained.embeddings([4, 2]), z[[4, 2]])


def test_attention_is_in_the_order_of_the_edges_that_were_given(graph):
    model = sx.Model("estimator", epochs=4, threads=1)
    edges = np.concatenate([graph.edge_index, graph.edge_index[::-1, :5], [[3, 0], [3, 0]]], axis=1)
    model.fit(graph.x, edges, graph.y, train_mask=graph.train_mask, val_mask=graph.val_mask)
    given, weights = model.attention(layer=0)
    assert np.array_equal(given, edges) and weights.shape == (edges.shape[1],)
    assert not np.isnan(weights).any() and (weights > 0).all() and (weights <= 1).all()
    back, same = model.attention(edge_index=edges[:, ::-1])
    assert np.array_equal(same, weights[::-1])
    own, all_weights = model.attention(edge_index=sx.Dataset(edge_index=edges, num_nodes=200).edge_index)
    sums = np.bincount(own[1], all_weights, minlength=200)
    assert (sums < 1.001).all()  # the rest is the expander's and the node's own
    assert np.isnan(model.attention(edge_index=absent_edge(edges))[1]).all()
    with pytest.raises(sx.Error, match="no layer 99"):
        model.attention(layer=99)


def tensors_of(path):
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    types = {"U64": "u8", "U32": "u4", "F16": "f2"}
    header = json.loads(content[8:start])
    return {name: np.frombuffer(content[start + t["data_offsets"][0]:start + t["data_offsets"][1]],
                                types[t["dtype"]]).reshape(t["shape"])
            for name, t in header.items() if name != "__metadata__"}


@pytest.mark.parametrize("directed", [False, True])
def test_attention_is_what_the_runs_files_say(directed, graph, tmp_path):
    model = sx.Spexphormer(epochs=1, estimator__epochs=3, degrees=[4, 2], threads=1)
    model.fit(**vars(graph), directed=directed, out=tmp_path / "run")
    seen, scores = tensors_of(tmp_path / "run" / "attention.safetensors"), tensors_of(
        tmp_path / "run" / "scores.safetensors")
    begins, ends = seen["offsets"][:-1].astype(int), seen["segment_ends"][0].astype(int)
    for layer in (0, 1):
        said = {(source, target): score for target in range(200) for source, score in zip(
            seen["neighbours"][begins[target]:ends[target]],
            scores[f"layer.{layer}"][begins[target]:ends[target]])}
        (sources, targets), weights = model.attention(layer)
        kept = sources != targets  # a loop's weight is that of the loop which every node has
        assert weights[kept].tolist() == [said[edge] for edge in zip(sources[kept], targets[kept])]


def absent_edge(edges):
    there = set(zip(*np.concatenate([edges, edges[::-1]], axis=1).tolist()))
    return np.array([next((i, j) for i in range(200) for j in range(200)
                          if i != j and (i, j) not in there)]).T


def test_saved_loaded_and_pickled_models_say_the_same(graph, trained, tmp_path):
    trained.save(tmp_path / "run")
    loaded, pickled = sx.load(tmp_path / "run"), pickle.loads(pickle.dumps(trained))
    for other in (loaded, pickled, pickle.loads(pickle.dumps(pickled))):
        assert np.array_equal(other.predict_proba(), trained.predict_proba())
        assert other.score() == trained.score(graph.y)
        assert np.array_equal(other.history_["train_loss"], trained.history_["train_loss"])
    assert pickled.get_params() == trained.get_params()
    (tmp_path / "run").rename(tmp_path / "moved")
    assert np.array_equal(sx.load(tmp_path / "moved").predict([1, 2, 3]), trained.predict([1, 2, 3]))
    with pytest.raises(sx.Error, match="already holds a run"):
        trained.save(tmp_path / "moved")


def test_data_sets_are_saved_and_pickled(parts, quick, tmp_path):
    data = sx.Dataset(**parts)
    data.save(tmp_path / "data.safetensors")
    for other in (sx.Dataset(tmp_path / "data.safetensors"), pickle.loads(pickle.dumps(data))):
        assert np.array_equal(other.x, data.x) and np.array_equal(other.y, data.y)
        assert np.array_equal(other.edge_index, data.edge_index)
        assert np.array_equal(other.test_nodes(), np.flatnonzero(parts["test_mask"]))
    assert "200 nodes" in repr(data) and "200" in data.info()
    expected = quick().fit(data).predict_proba()
    assert np.array_equal(quick().fit(str(tmp_path / "data.safetensors")).predict_proba(), expected)


def test_predictions_are_those_of_the_program_bit_for_bit(parts, program, tmp_path):
    data, run = tmp_path / "mine.safetensors", tmp_path / "run"
    sx.Dataset(**parts).save(data)
    settings = {"epochs": 4, "estimator__epochs": 3, "degrees": [4, 2], "width": 16}
    keys = ["estimator.epochs=3", "spexphormer.epochs=4", "spexphormer.degrees=[4,2]",
            "spexphormer.width=16"]
    subprocess.run([program, "train", data, "--seed", "3", "--threads", "1", "--out", run,
                    *(word for key in keys for word in ("--set", key))], check=True,
                   capture_output=True)
    model = sx.Spexphormer(seed=3, threads=2, **settings).fit(**parts)
    model.save(tmp_path / "ours")
    for file in ("model.safetensors", "estimator.safetensors", "scores.safetensors",
                 "predictions.csv"):
        assert (run / file).read_bytes() == (tmp_path / "ours" / file).read_bytes(), file
    printed = subprocess.run([program, "predict", tmp_path / "ours", "--nodes", "5,1,9"], check=True,
                             capture_output=True, text=True).stdout.split("\n")[1:4]
    expected = ["%.6g" % p for p in model.predict_proba([5, 1, 9]).ravel()]
    assert [p for line in printed for p in line.split(",")[2:]] == expected
    assert np.array_equal(sx.load(run).predict_proba(), model.predict_proba())


def test_a_callback_sees_every_epoch_and_can_stop(graph, quick):
    seen = []
    model = quick(epochs=50).fit(graph, callback=lambda epoch: seen.append(epoch) or len(seen) == 6)
    assert [epoch["epoch"] for epoch in seen] == list(range(6)) and seen[0]["epochs"] == 50
    assert not model.finished_ and len(model.history_["epoch"]) == 6
    assert model.predict().shape == (200,)  # by the best so far


def test_what_a_callback_raises_is_raised(graph, quick):
    def callback(epoch):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        quick().fit(graph, callback=callback)


def test_ctrl_c_stops_after_the_epoch_and_the_run_goes_on(graph, quick, tmp_path):
    def interrupt(epoch):
        if epoch["epoch"] == 3:
            os.kill(os.getpid(), signal.SIGINT)

    model = quick()
    with pytest.raises(KeyboardInterrupt):
        model.fit(graph, out=tmp_path / "run", callback=interrupt)
    assert 4 <= len(model.history_["epoch"]) <= 5
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    model.fit(graph, out=tmp_path / "run", resume=True)
    assert (tmp_path / "run" / "report.html").exists()
    assert np.array_equal(model.predict_proba(), quick().fit(graph).predict_proba())


def test_ctrl_c_ends_the_trials_that_choose_a_shape(graph):
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    model = sx.SpexphormerLocal(threads=1)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(graph)
    assert not hasattr(model, "run_") and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_forked_child_trains(graph, quick):
    expected = quick(threads=2).fit(graph).predict_proba()
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    child = context.Process(target=lambda: results.put(quick(threads=2).fit(graph).predict_proba()))
    child.start()
    child.join(60)
    assert child.exitcode == 0 and np.array_equal(results.get(), expected)


def test_the_interpreter_runs_while_a_network_trains(graph, quick):
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1

    other = threading.Thread(target=count)
    other.start()
    before = counted[0]
    quick(epochs=20).fit(graph)
    done.set()
    other.join()
    assert counted[0] > before + 100


def test_models_are_compared_on_the_same_splits(graph, tmp_path):
    table = sx.compare(graph, ["mlp", "gcn"], seeds=2, out=tmp_path / "compared",
                       settings={"mlp.epochs": 5, "gcn.epochs": 5, "gcn.width": 8}, threads=1)
    assert [model["model"] for model in table["models"]] == ["mlp", "gcn"]
    assert all(len(model["runs"]) == 2 for model in table["models"])
    assert json.loads((tmp_path / "compared" / "compare.json").read_text()) == table
    assert sx.load(tmp_path / "compared" / "gcn" / "split-0").predict().shape == (200,)


QUICK_SEARCH = {"budget": "1m", "trials": 4, "seeds": 1, "threads": 1,
                "settings": {"gcn.epochs": 6, "mlp.epochs": 6}}


def test_a_search_gives_a_model_with_the_winners_settings(graph, tmp_path):
    seen = []
    table = sx.tune(graph, ["gcn", "mlp"], out=tmp_path / "tuned", callback=seen.append, **QUICK_SEARCH)
    winner = table["trials"][table["finalists"][table["winner"]][0]]
    assert len(table["trials"]) == 4 and seen[-1]["stage"] == "test" and seen[-1]["trials"] == 4
    best = table.pop("best")
    assert best._model == winner["model"] and not hasattr(best, "run_")
    for setting in winner["settings"]:
        key, _, value = setting.partition("=")
        own = getattr(best, key.split(".")[1] if key.startswith(winner["model"]) else key.replace(".", "__"))
        assert json.loads(value) == own if value[0] in "0123456789tf[" else value.strip('"') == own
    assert json.loads((tmp_path / "tuned" / "tune.json").read_text()) == table
    assert (tmp_path / "tuned" / "tune.html").exists()
    test = best.fit(graph).score(graph.y, mask=graph.test_mask)
    assert test == pytest.approx(table["test_mean"], abs=1e-6)
    again = sx.tune(graph, ["gcn", "mlp"], out=tmp_path / "tuned", **QUICK_SEARCH)  # is finished
    assert again["winner"] == table["winner"] and again["finals"] == table["finals"]


def test_a_search_is_stopped_by_its_callback_and_by_ctrl_c(graph):
    with pytest.raises(sx.Error, match="goes on"):
        sx.tune(graph, ["gcn", "mlp"], callback=lambda progress: True, **QUICK_SEARCH)
    with pytest.raises(ZeroDivisionError):
        sx.tune(graph, ["gcn", "mlp"], callback=lambda progress: 1 / 0, **QUICK_SEARCH)
    with pytest.raises(KeyboardInterrupt):
        sx.tune(graph, ["gcn", "mlp"], callback=lambda progress: os.kill(os.getpid(), signal.SIGINT),
                **{**QUICK_SEARCH, "trials": 500})


def test_the_log_goes_to_logging(graph, quick, caplog):
    with caplog.at_level("INFO", "spexphormer"):
        sx.Spexphormer(epochs=1, estimator__epochs=1, threads=1).fit(graph)
    assert any("estimator trained" in line for line in caplog.messages)


@pytest.mark.parametrize("tqdm", [True, False])
def test_a_progress_bar_is_drawn_where_it_is_wanted(tqdm, graph, quick, capsys, monkeypatch):
    if tqdm:
        pytest.importorskip("tqdm")
    else:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    quick().fit(graph)
    assert capsys.readouterr().err == ""
    quick(progress=True).fit(graph)
    drawn = capsys.readouterr().err
    assert "gcn" in drawn and ("8/8" in drawn or "epoch 8 of 8" in drawn)
    sx.tune(graph, ["gcn", "mlp"], progress=True, **QUICK_SEARCH)
    assert "tune" in capsys.readouterr().err


def test_importing_is_quick_and_imports_no_numpy():
    code = ("import time; t = time.process_time(); import spexphormer; "
            "print(time.process_time() - t); import sys; assert 'numpy' not in sys.modules")
    seconds = min(float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True,
                                       text=True).stdout) for _ in range(3))
    assert seconds < 0.1


def test_many_fits_do_not_leak(graph, quick, monkeypatch):
    """SPEX_FITS=1000 for the long version."""
    if os.path.isdir("/dev/shm"):
        monkeypatch.setenv("TMPDIR", "/dev/shm")  # a run syncs its files, which a disk takes time for

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def fit():
        model = quick(epochs=1).fit(graph)
        model.predict_proba([0])

    fits = int(os.environ.get("SPEX_FITS", "60"))
    for _ in range(max(20, fits // 5)):
        fit()
    before, files = resident(), len(os.listdir("/proc/self/fd"))
    for _ in range(fits):
        fit()
    assert resident() - before < 2e6 + 200 * fits
    assert len(os.listdir("/proc/self/fd")) == files


def test_training_takes_hardly_more_memory_than_the_program(parts, program, tmp_path):
    data = tmp_path / "mine.npz"
    np.savez(data, **parts)
    code = (f"import spexphormer as sx; m = sx.GCN(epochs=1, threads=1).fit({str(data)!r}); "
            "print(m.summary_['peak_rss_bytes'])")
    ours = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    subprocess.run([program, "train", data, "--model", "gcn", "--set", "gcn.epochs=1", "--threads", "1",
                    "--out", tmp_path / "run"], check=True, capture_output=True)
    theirs = json.loads((tmp_path / "run" / "summary.json").read_text())["peak_rss_bytes"]
    assert int(ours.stdout) < theirs + 20e6
