# %% A training that is stopped and goes on; a model that is kept, and asked by another program.
import pickle
import tempfile
from pathlib import Path

import spexphormer as sx

folder = Path(tempfile.mkdtemp())
data = sx.Dataset("minesweeper")
clf = sx.GCN(epochs=6, width=16)
clf.fit(data, out=folder / "run", callback=lambda epoch: epoch["epoch"] == 2)  # Ctrl-C does the same
print("stopped after", len(clf.history_["epoch"]), "epochs")
clf.fit(data, out=folder / "run", resume=True)
print("finished with", len(clf.history_["epoch"]), "epochs")

# %% `spex predict` and `spex report` take the folder, too.
loaded = sx.load(folder / "run")
copied = pickle.loads(pickle.dumps(clf))
print("the same:", (loaded.predict([1, 2, 3]) == copied.predict([1, 2, 3])).all())
