# %% Several models on the same splits and seeds, on a field of mines that the library generates.
import spexphormer as sx

data = sx.Dataset("minesweeper")
print(data)
settings = {f"{model}.epochs": 5 for model in ("mlp", "gcn")}
table = sx.compare(data, ["mlp", "gcn"], seeds=2, settings=settings)
for model in table["models"]:
    print("%-5s %s %.3f ± %.3f%s" % (model["model"], table["metric"], model["test_mean"],
                                     model["test_std"], "  best" if model["best"] else ""))
