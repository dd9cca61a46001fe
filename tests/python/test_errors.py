"""What cannot be used is refused with a sentence that says where and why; nothing crashes."""

import numpy as np
import pytest
import spexphormer as sx


def nan_at(x, row, column):
    x = x.copy()
    x[row, column] = np.nan
    return x


class OnAnotherDevice:
    """What torch says of a tensor on a GPU."""

    def __array__(self, dtype=None):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


WRONG = {
    "edges of shape [E, 2]": (lambda p: p.update(edge_index=p["edge_index"].T), r"\[2, edges\]"),
    "three rows of edges": (lambda p: p.update(edge_index=np.zeros((3, 4), int)), r"\[2, edges\]"),
    "edges as floats": (lambda p: p.update(edge_index=p["edge_index"] * 1.0), "whole numbers"),
    "edges as words": (lambda p: p.update(edge_index=[["a"], ["b"]]), "expected numbers, got text"),
    "a node too many": (lambda p: p.update(edge_index=np.array([[0], [200]])),
                        "the target of edge 0 names node 200, but nodes are 0 to 199"),
    "a negative node": (lambda p: p.update(edge_index=np.array([[-1], [2]])), "names node -1"),
    "no edges": (lambda p: p.update(edge_index=np.zeros((2, 0), int)), "no edges"),
    "an empty list of edges": (lambda p: p.update(edge_index=[[], []]), "no edges"),
    "a matrix that is not square": (lambda p: p.update(edge_index=sparse((200, 3))), "square"),
    "features of three dimensions": (lambda p: p.update(x=np.zeros((200, 2, 2))), "dimensions, got 3"),
    "complex features": (lambda p: p.update(x=p["x"] * 1j), "complex64 are not known"),
    "features as objects": (lambda p: p.update(x=p["x"].astype(object)), "expected numbers, got objects"),
    "features with a gap": (lambda p: p.update(x=nan_at(p["x"], 7, 2)), "feature 2 of node 7 is nan"),
    "infinite features": (lambda p: p.update(x=np.full_like(p["x"], np.inf)), "expected a finite number"),
    "features on a GPU": (lambda p: p.update(x=OnAnotherDevice()), "cannot be read as an array .*cuda:0"),
    "ragged features": (lambda p: p.update(x=[[1.0], [1.0, 2.0]]), "cannot be read as an array"),
    "masked features": (lambda p: p.update(x=np.ma.masked_greater(p["x"], 1)), "masked"),
    "features of fewer nodes": (lambda p: p.update(x=p["x"][:150]), "nodes are 0 to 149|labels for 150"),
    "labels of fewer nodes": (lambda p: p.update(y=p["y"][:-1]), "199 labels for 200 nodes"),
    "labels below -1": (lambda p: p.update(y=p["y"] - 2), "label of node .* is -2"),
    "a class beyond all": (lambda p: p.update(y=p["y"] + 1e300), r"label of node 0 is 1e\+300"),
    "an infinite class": (lambda p: p.update(y=p["y"] + np.inf), "label of node 0 is inf"),
    "a class that wraps to -1": (lambda p: p.update(y=np.full(200, 2**64 - 1, "uint64")), "18446744073709551615"),
    "one class": (lambda p: p.update(y=np.zeros(200, int)), "one class"),
    "a label as an object": (lambda p: p.update(y=np.array([[None]] * 200)), "one per node"),
    "no known label": (lambda p: p.update(y=np.full(200, -1)), "no node has a label"),
    "half a class": (lambda p: p.update(y=p["y"] + 0.5, task="classes"), "a whole number"),
    "an unknown task": (lambda p: p.update(task="ranking"), "there is no 'ranking'"),
    "a mask of fewer nodes": (lambda p: p.update(val_mask=p["val_mask"][:9]), "9 rows for 200 nodes"),
    "a mask of floats": (lambda p: p.update(val_mask=np.ones(200)), "true and false"),
    "a mask of 0 and 1": (lambda p: p.update(val_mask=p["val_mask"].astype(int)), "of true and false"),
    "numbers [N, splits]": (lambda p: p.update(val_mask=np.ones((200, 2), int)), "of true and false|true and false"),
    "masks that overlap": (lambda p: p.update(val_mask=p["train_mask"]), "and in another"),
    "an empty training mask": (lambda p: p.update(train_mask=np.zeros(200, bool)), "no training nodes"),
    "no validation mask": (lambda p: p.update(val_mask=None), "go together"),
    "a node twice": (lambda p: p.update(train_mask=[1, 2, 1]), "node 1 stands there twice"),
    "a node of a mask too many": (lambda p: p.update(train_mask=[200]), "nodes are 0 to 199"),
    "masks of 2 and 3 splits": (lambda p: p.update(
        train_mask=np.stack([p["train_mask"]] * 2, 1), val_mask=np.stack([p["val_mask"]] * 3, 1)),
        "2 and 3 columns"),
    "nodes below zero": (lambda p: p.update(num_nodes=-1), "num_nodes: expected a number from 1"),
    "nodes beyond all": (lambda p: p.update(num_nodes=2**70), "num_nodes: expected a number from 1"),
    "half a node": (lambda p: p.update(num_nodes=0.5), "num_nodes: expected a whole number"),
    "a huge node": (lambda p: p.update(edge_index=np.array([[2**40], [1]])), "names node 1099511627776"),
    "edge features of fewer edges": (lambda p: p.update(edge_attr=np.ones(3)), "3 rows of edge features"),
}


def sparse(shape):
    return pytest.importorskip("scipy.sparse").csr_matrix(shape)


@pytest.mark.parametrize("what", WRONG)
def test_wrong_input_gets_a_sentence(what, parts, quick):
    change, sentence = WRONG[what]
    change(parts)
    with pytest.raises(sx.Error, match=sentence) as error:
        quick().fit(**parts)
    assert 10 < len(str(error.value)) < 400


def test_sparse_features_that_lie_are_refused(parts):
    scipy_sparse = pytest.importorskip("scipy.sparse")
    for change, sentence in ((lambda m: m.indices.__setitem__(0, 70), "not below 70"),
                             (lambda m: m.indices.__setitem__(0, -1), "not below 70"),
                             (lambda m: m.indptr.__setitem__(5, 10**6), "offsets")):
        x = scipy_sparse.random(200, 70, 0.1, "csr", "float32", random_state=1)
        x.has_canonical_format = True
        change(x)
        with pytest.raises(sx.Error, match=sentence):
            sx.Dataset(**{**parts, "x": x})


def test_settings_and_models_are_checked(graph, quick):
    with pytest.raises(sx.Error, match="width"):
        quick(width=0).fit(graph)
    with pytest.raises(TypeError, match="witdh"):
        sx.GCN(witdh=3)
    with pytest.raises(sx.Error, match="no parameter 'witdh'"):
        sx.GCN().set_params(witdh=3)
    with pytest.raises(sx.Error, match="no model 'gnn'"):
        sx.Model("gnn")
    with pytest.raises(AttributeError):
        sx.GNN
    with pytest.raises(sx.Error, match="no preset"):
        quick(preset="fotos").fit(graph)
    with pytest.raises(sx.Error, match="memory|bytes|fit|MB|GB"):
        quick(memory="1KB").fit(graph)


def test_questions_are_checked(trained):
    for nodes, sentence in (([200], "names node 200"), ([-1], "names node -1"), ([0.5], "node numbers"),
                            ([[1, 2]], "one dimension"), (np.ones(5, bool), "mask of 5 for 200 nodes")):
        with pytest.raises(sx.Error, match=sentence):
            trained.predict(nodes)
    for wrong in ({"batch": -1}, {"samples": 0}, {"samples": 1.5}):
        with pytest.raises(sx.Error, match="batch|samples"):
            trained.predict(**wrong)
    with pytest.raises(sx.Error, match="no attention"):
        trained.attention()
    with pytest.raises(sx.Error, match="layer: expected a number from 0"):
        trained.attention(layer=-1)
    with pytest.raises(sx.NotFittedError, match="call fit first"):
        sx.GCN().predict()
    with pytest.raises(sx.Error, match="holds no run"):
        sx.load("/nowhere")
    with pytest.raises(sx.Error, match="does not exist"):
        sx.Dataset("nowhere.npz")
    with pytest.raises(sx.Error, match="labels for"):
        trained.score([1, 2, 3])


def test_what_a_file_or_data_set_brings_cannot_be_given_beside_it(parts, quick):
    for data in ("minesweeper", sx.Dataset(**parts)):
        with pytest.raises(sx.Error, match="train_mask, val_mask: .* brings its own"):
            quick().fit(data, train_mask=[0], val_mask=[1])
    with pytest.raises(sx.Error, match="directed: minesweeper brings its own"):
        sx.Dataset("minesweeper", directed=True)


def test_comparisons_and_searches_are_checked(graph):
    for wrong, sentence in (({"models": []}, "no model is named"), ({"models": ["gnn"]}, "no model 'gnn'"),
                            ({"splits": [3]}, "no split 3"), ({"splits": [-1]}, "splits: expected")):
        with pytest.raises(sx.Error, match=sentence):
            sx.compare(graph, **{"models": ["gcn"], **wrong})
    for wrong, sentence in (({"budget": "soon"}, "budget: expected a time"), ({"budget": -1}, "budget"),
                            ({"trials": 0}, "trials: expected a number from 1"), ({"models": "gnn"}, "'gnn'"),
                            ({"settings": {"gcn.witdh": 3}}, "width")):
        with pytest.raises(sx.Error, match=sentence):
            sx.tune(graph, **{"models": ["gcn"], **wrong})


def test_another_graph_must_have_the_same_features(parts, trained):
    parts["x"] = parts["x"][:, :5].copy()
    with pytest.raises(sx.Error, match="5 features, but the run was trained with 8"):
        trained.predict(data=sx.Dataset(**parts))
