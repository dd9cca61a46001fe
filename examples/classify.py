# %% A graph as people have it: arrays. Here three groups of people, most of whom know their own.
import numpy as np
import spexphormer as sx

random = np.random.default_rng(0)
nodes = 600
y = random.integers(0, 3, nodes)
x = (np.eye(3, 16)[y] + random.normal(size=(nodes, 16))).astype("float32")
sources, targets = random.integers(0, nodes, (2, 6000))
kept = (y[sources] == y[targets]) | (random.random(6000) < 0.05)
edge_index = np.stack([sources[kept], targets[kept]])
order = random.permutation(nodes)
train, val, test = order[:300], order[300:400], order[400:]

# %% Train. Labels that are not known may be -1 or NaN; those of the test nodes are not looked at.
clf = sx.Spexphormer(epochs=20, estimator__epochs=20, seed=0)
clf.fit(x, edge_index, y, train_mask=train, val_mask=val)

# %% Ask.
print("test accuracy  %.3f" % clf.score(y, mask=test))
print("probabilities ", clf.predict_proba(nodes=test[:2]).round(2).tolist())
print("best epoch    ", int(np.nanargmax(clf.history_["validation"])))
print("peak memory    %.1f MB" % (1e-6 * clf.peak_bytes_))

# %% Where does it look? A weight for each of our edges, in our order.
edges, weights = clf.attention(layer=0)
same = y[edges[0]] == y[edges[1]]
print("mean attention: same group %.4f, other group %.4f" % (weights[same].mean(), weights[~same].mean()))

# %% What does the last layer make of the nodes?
print("embeddings    ", clf.embeddings().shape)
