"""Whatever form a graph comes in, the same network comes out."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
import spexphormer as sx

scipy_sparse = pytest.importorskip("scipy.sparse")


@pytest.fixture(scope="module")
def expected(graph, quick):
    return quick().fit(**vars(graph)).predict_proba()


def probabilities(quick, **parts):
    return quick().fit(**parts).predict_proba()


class OnlyDlpack:
    """A tensor of a library that NumPy does not know."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def edge_file(parts):
    """Named by numbers; nodes without an edge are not named at all."""
    path = Path(tempfile.mkdtemp()) / "edges.csv"
    np.savetxt(path, parts["edge_index"].T, "%d", ",", header="source,target", comments="")
    return path


FORMS = {
    "int32 edges": lambda p: p.update(edge_index=p["edge_index"].astype("int32")),
    "Fortran order": lambda p: p.update(edge_index=np.asfortranarray(p["edge_index"])),
    "sparse adjacency": lambda p: p.update(edge_index=scipy_sparse.coo_matrix(
        (np.ones(p["edge_index"].shape[1]), tuple(p["edge_index"])), shape=(len(p["x"]),) * 2)),
    "a file of edges": lambda p: p.update(edge_index=edge_file(p)),
    "float64 features": lambda p: p.update(x=p["x"].astype("float64")),
    "gaps between rows": lambda p: p.update(x=np.hstack([p["x"], p["x"]])[:, :p["x"].shape[1]]),
    "backwards in memory": lambda p: p.update(x=np.ascontiguousarray(p["x"][::-1])[::-1]),
    "wide floats": lambda p: p.update(x=p["x"].astype("longdouble")),
    "big-endian features": lambda p: p.update(x=p["x"].astype(">f4")),
    "features by dlpack": lambda p: p.update(x=OnlyDlpack(p["x"])),
    "labels with NaN": lambda p: p.update(y=np.where(p["test_mask"], np.nan, p["y"])),
    "labels with -1": lambda p: p.update(y=np.where(p["test_mask"], -1, p["y"])),
    "labels as a column": lambda p: p.update(y=p["y"][:, None]),
    "labels as a list": lambda p: p.update(y=p["y"].tolist()),
    "node numbers": lambda p: p.update({m: np.flatnonzero(p[m])[::-1] for m in p if "mask" in m}),
    "a split per column": lambda p: p.update(train_mask=np.stack([p["train_mask"]] * 2, axis=1)),
    "no test nodes": lambda p: p.update(test_mask=None),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_graph_in_another_form_gives_the_same_bytes(form, parts, quick, expected):
    FORMS[form](parts)
    assert np.array_equal(probabilities(quick, **parts), expected)


def test_an_object_like_that_of_pytorch_geometric_is_enough(graph, quick, expected):
    assert np.array_equal(quick().fit(graph).predict_proba(), expected)


def test_torch_tensors_are_taken(graph, quick, expected):
    torch = pytest.importorskip("torch")
    tensors = {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in vars(graph).items()}
    assert np.array_equal(probabilities(quick, **tensors), expected)


def test_float32_features_are_not_copied(parts):
    data = sx.Dataset(**parts)
    assert np.shares_memory(data.x, parts["x"])
    assert not np.shares_memory(sx.Dataset(**{**parts, "x": parts["x"].astype("float64")}).x, parts["x"])


def test_sparse_features_stay_sparse(parts, quick):
    x = scipy_sparse.random(len(parts["x"]), 500, 0.02, "csr", "float32", random_state=1)
    data = sx.Dataset(**{**parts, "x": x})
    assert np.shares_memory(data.x.data, x.data)
    assert (data.x != x).nnz == 0
    unordered = x.tocoo()
    order = np.random.default_rng(0).permutation(unordered.nnz)
    unordered = scipy_sparse.coo_matrix((unordered.data[order],
                                         (unordered.row[order], unordered.col[order])), x.shape)
    assert np.array_equal(probabilities(quick, **{**parts, "x": x}),
                          probabilities(quick, **{**parts, "x": unordered}))


def test_direction_self_loops_and_duplicates_are_what_is_said(graph):
    edges = np.array([[0, 1, 1, 2, 0], [1, 0, 1, 3, 1]])

    def kept(**how):
        data = sx.Dataset(edge_index=edges, num_nodes=4, **how)
        return sorted(zip(*data.edge_index.tolist()))

    assert kept() == [(0, 1), (1, 0), (2, 3), (3, 2)]
    assert kept(directed=True) == [(0, 1), (1, 0), (2, 3)]
    assert kept(directed=True, self_loops=True) == [(0, 1), (1, 0), (1, 1), (2, 3)]
    assert kept(directed=True, duplicates=True) == [(0, 1), (0, 1), (1, 0), (2, 3)]


def test_a_file_of_edges_keeps_its_numbers_and_follows_the_keywords(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("source,target,weight\n7,2,0.5\n2,2,1\n5,7,2\n")  # 0, 1, 3, 4 and 6 are alone

    def kept(**how):
        return sorted(zip(*sx.Dataset(np.ones((8, 1)), path, **how).edge_index.tolist()))

    assert kept() == [(2, 7), (5, 7), (7, 2), (7, 5)]
    assert kept(directed=True, self_loops=True) == [(2, 2), (5, 7), (7, 2)]
    assert sx.Dataset(np.ones((8, 1)), path)._part("edge_features").shape == (4, 1)
    with pytest.raises(sx.Error, match="names node 7, but nodes are 0 to 6"):
        sx.Dataset(np.ones((7, 1)), path)
    assert sx.Dataset(path).keys == ["2", "5", "7"]
    path.write_text("source,target\nann,bob\n")
    with pytest.raises(sx.Error, match="by names, such as ann"):
        sx.Dataset(np.ones((2, 1)), path)


def test_words_are_classes_and_come_back_as_words(parts, quick):
    words = np.array(["ant", "bee", "cow"])[parts["y"]].astype(object)
    words[~(parts["train_mask"] | parts["val_mask"])] = None
    model = quick(epochs=30).fit(**{**parts, "y": words})
    assert model.classes_.tolist() == ["ant", "bee", "cow"]
    right = model.predict() == np.array(["ant", "bee", "cow"])[parts["y"]]
    assert right.mean() > 0.8
    assert model.score(np.array(["ant", "bee", "cow"])[parts["y"]]) == right.mean()


def test_labels_of_yes_and_no_and_targets_are_tasks_of_their_own(parts, quick):
    several = np.eye(3)[parts["y"]]
    several[0] = np.nan
    model = quick(epochs=20).fit(**{**parts, "y": several})
    assert model.task_ == "binary_labels"
    assert model.predict().shape == (200, 3) and 0.5 < model.score(several) <= 1
    target = parts["x"][:, 0] + 0.25
    model = quick(epochs=60, learning_rate=0.02).fit(**{**parts, "y": target})
    assert model.task_ == "regression" and model.predict().shape == (200,)
    assert model.score(target) > 0.3
    with pytest.raises(sx.Error, match="no probabilities"):
        model.predict_proba()


def test_tables_go_through_the_readers(parts):
    pandas = pytest.importorskip("pandas")
    names = [f"node{i}" for i in range(len(parts["x"]))]
    edges = pandas.DataFrame({"source": [names[i] for i in parts["edge_index"][0]],
                              "target": [names[i] for i in parts["edge_index"][1]]})
    labels = pandas.DataFrame({"id": names, "label": np.array(["ant", "bee", "cow"])[parts["y"]]})
    data = sx.Dataset.from_tables(edges, labels=labels)
    assert data.class_names == ["ant", "bee", "cow"]
    by_name = dict(zip(data.keys, data.y))
    assert all(by_name[name] == c for name, c in zip(names, parts["y"]) if name in by_name)
    frame = pandas.DataFrame(parts["x"])
    series = pandas.Series(parts["y"])
    assert np.array_equal(sx.Dataset(**{**parts, "x": frame, "y": series}).x, parts["x"])


def test_numbers_of_edges_reach_the_network(parts):
    attributes = np.random.default_rng(0).normal(size=(parts["edge_index"].shape[1], 2))
    model = sx.Exphormer(epochs=2, width=8, heads=1, layers=1, threads=1)
    without = model.fit(**parts).predict_proba()
    assert not np.array_equal(model.fit(**parts, edge_attr=attributes).predict_proba(), without)
    data = sx.Dataset(**parts, edge_attr=attributes, directed=True)
    first = data._part("edge_features")[0]
    source, target = data.edge_index[:, 0]
    at = (parts["edge_index"] == [[source], [target]]).all(axis=0)
    assert np.allclose(first, attributes[at].mean(axis=0), atol=1e-6)
