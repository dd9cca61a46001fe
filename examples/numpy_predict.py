#!/usr/bin/python3
"""numpy_predict.py RUN: what `spex predict RUN` prints, computed in NumPy.

Written from docs/formats.md ("A network, step by step") alone, in double precision. It knows the models
spexphormer, spexphormer-local and exphormer, and a run whose data is a native file.
"""
import json
import sys

import numpy as np

DTYPES = {"F64": "<f8", "I64": "<i8", "U64": "<u8", "F32": "<f4", "I32": "<i4", "U32": "<u4",
          "F16": "<f2", "U16": "<u2", "I16": "<i2", "U8": "u1", "I8": "i1", "BOOL": "u1"}


def read_safetensors(path):
    """The arrays of a file by name, and its metadata."""
    with open(path, "rb") as file:
        raw = file.read()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + size])
    metadata = header.pop("__metadata__", {})
    arrays = {}
    for name, info in header.items():
        first, last = info["data_offsets"]
        arrays[name] = np.frombuffer(raw[8 + size + first:8 + size + last],
                                     DTYPES[info["dtype"]]).reshape(info["shape"])
    return arrays, metadata


def read_settings(text):
    """The keys and values of a TOML text; sections are part of the key."""
    settings, section = {}, ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip()[1:-1] + "."
        elif "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            value = value.strip()
            if value.startswith('"'):
                value, _ = json.JSONDecoder().raw_decode(value)
            else:
                value = json.loads(value.split("#")[0].strip())
            settings[section + key.strip()] = value
    return settings


def read_features(data):
    if "features" in data:
        return data["features"].astype(np.float64)
    nodes = len(data["features.offsets"]) - 1
    rows = np.repeat(np.arange(nodes), np.diff(data["features.offsets"]).astype(int))
    width = int(data["feature_count"])
    features = np.zeros((nodes, width))
    features[rows, data["features.columns"]] = data["features.values"]
    return features


# --- which neighbours a node draws -----------------------------------------------------------------

def philox(counter, key):
    """Philox4x32-10 of four arrays of counter words and two key words."""
    c = [np.asarray(word, np.uint64) for word in counter]
    k = [int(word) & 0xFFFFFFFF for word in key]
    low = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    for _ in range(10):
        first, second = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(second >> shift) ^ c[1] ^ np.uint64(k[0]), second & low,
             (first >> shift) ^ c[3] ^ np.uint64(k[1]), first & low]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(c, axis=-1)


def waiting_times(edges, seed, sample, layer, purpose=3):
    """One exponentially distributed number for each edge of a layer."""
    index = np.arange((edges + 3) // 4, dtype=np.uint64)
    layer_word = (layer + (seed >> 32) * 0x9E3779B9) & 0xFFFFFFFF
    full = np.full(len(index), 1, np.uint64)
    words = philox((index & np.uint64(0xFFFFFFFF), index >> np.uint64(32), full * np.uint64(sample),
                    full * np.uint64(layer_word)), (seed & 0xFFFFFFFF, purpose)).reshape(-1)[:edges]
    u = ((words >> np.uint64(1)).astype(np.float32) + np.float32(0.5)).astype(np.float64) * 2.0**-31
    return -np.log1p(-u)


def truncated(scores, offsets, keep):
    """Of each row only the `keep` largest scores above zero; of equal ones the first stay."""
    scores = scores.copy()
    for begin, end in zip(offsets[:-1], offsets[1:]):
        if end - begin <= keep:
            continue
        order = np.argsort(-scores[begin:end], kind="stable")
        scores[begin + order[:keep]] = np.maximum(scores[begin + order[:keep]], 2.0**-24)
        scores[begin + order[keep:]] = 0.0
    return scores


def drawn_edges(offsets, scores, sampling, seed, sample, layer, degree):
    """The edges, as places in `neighbours`, that every node looks along in this layer."""
    if sampling == "top":
        keys = -scores
    else:
        keys = waiting_times(offsets[-1], seed, sample, layer)
        if sampling == "weighted":
            keys = keys / np.where(scores > 0, scores, 1e-30)
    rows = []
    for begin, end in zip(offsets[:-1], offsets[1:]):
        if end - begin <= degree:
            rows.append(np.arange(begin, end))
        else:
            rows.append(begin + np.sort(np.argsort(keys[begin:end], kind="stable")[:degree]))
    return rows


# --- the network -----------------------------------------------------------------------------------

class Network:
    def __init__(self, arrays, metadata):
        self.name = metadata["model"]
        every = read_settings(metadata["settings"])
        self.settings = {key.split(".", 1)[1]: value for key, value in every.items()}
        self.arrays = {key: value.astype(np.float64) for key, value in arrays.items()}
        self.width = self.settings["width"]
        self.heads = self.settings["heads"]
        self.types = int(metadata["edge_types"])
        self.outputs = int(metadata["outputs"])
        self.temperature = float(metadata["temperature"])

    def weight(self, name, rows):
        return self.arrays[name].reshape(rows, -1)

    def norm(self, x, name, kind):
        if kind == "none":
            return x
        gain, bias = self.arrays[name + ".gain"], self.arrays[name + ".bias"]
        if kind == "batch":
            mean = self.arrays[name + ".running_mean"]
            variance = self.arrays[name + ".running_variance"]
            return gain * (x - mean) / np.sqrt(variance + 1e-5) + bias
        if kind == "layer":
            mean, variance = x.mean(1, keepdims=True), x.var(1, keepdims=True)
            return gain * (x - mean) / np.sqrt(variance + 1e-5) + bias
        c = x - self.arrays[name + ".alpha"] * x.mean(0)
        return gain * c / np.sqrt((c * c).mean(0) + 1e-5) + bias

    def dense(self, x, name):
        y = x @ self.weight(name + ".linear.weight", self.width)
        y = np.maximum(self.norm(y, name + ".norm", "batch"), 0)
        return y / np.maximum(np.sqrt((y * y).sum(1, keepdims=True)), 1e-12)

    def attention(self, x, layer, rows, neighbours, edge_type, scores):
        name = f"layers.{layer}."
        heads, depth = self.heads, self.width // self.heads
        embedding = self.weight("edge_types", self.types)
        modulation = embedding @ self.weight(name + "modulation.weight", self.width)
        q, k, v = (x @ self.weight(name + part + ".weight", x.shape[1]) for part in "qkv")
        bias = np.zeros((self.types, heads))
        clamp = 5.0 if self.name == "exphormer" else 8.0
        scale = 1.0 if self.name == "spexphormer" else 1.0 / np.sqrt(depth)
        if self.name != "exphormer":
            bias = (embedding @ self.weight(name + "type_bias.weight", self.width)
                    + self.arrays[name + "type_bias.bias"])
        log_weight = self.arrays.get(name + "log_score_weight", np.zeros(heads))
        out = np.zeros((len(x), self.width))
        for node, edges in enumerate(rows):
            if len(edges) == 0:
                continue
            j, t = neighbours[edges], edge_type[edges]
            products = modulation[t] * q[node] * k[j]
            score = products.reshape(len(edges), heads, depth).sum(2) * scale + bias[t]
            if scores is not None:
                score = score + log_weight * np.log(scores[edges, None] + 1e-8)
            w = np.exp(np.clip(score / self.temperature, -clamp, clamp))
            mixed = (w[:, :, None] * v[j].reshape(len(edges), heads, depth)).sum(0)
            out[node] = (mixed / (w.sum(0) + 1e-6)[:, None]).reshape(-1)
        return out

    def layer(self, x, index, *where):
        name = f"layers.{index}."
        kind = self.settings["norm"]
        y = self.norm(x + self.attention(x, index, *where), name + "norm1", kind)
        hidden = np.maximum(y @ self.weight(name + "up.weight", self.width)
                            + self.arrays[name + "up.bias"], 0)
        z = y + hidden @ self.weight(name + "down.weight", 2 * self.width) + self.arrays[name + "down.bias"]
        return self.norm(z, name + "norm2", kind)

    def convolve(self, x, name, rows, sizes):
        """Over the graph's own edges: `rows` has each node's neighbours and, last, itself; `sizes` of them in all."""
        s = x @ self.weight(name + ".weight", x.shape[1])
        out = np.zeros_like(s)
        for node, j in enumerate(rows):
            if self.settings["conv"] == "gcn":
                out[node] = np.sqrt(sizes[node]) / len(j) * (s[j] / np.sqrt(sizes[j])[:, None]).sum(0)
            elif self.settings["conv"] == "sage":
                out[node] = s[j].mean(0)
            else:
                by_head = s[j].reshape(len(j), self.heads, -1)
                source = (s[j] * self.arrays[name + ".a_source"]).reshape(by_head.shape).sum(2)
                query = (s[node] * self.arrays[name + ".a_query"]).reshape(self.heads, -1).sum(1)
                z = source + query
                w = np.exp(np.where(z > 0, z, 0.2 * z))
                out[node] = ((w / w.sum(0))[:, :, None] * by_head).sum(0).reshape(-1)
        out += self.arrays[name + ".bias"]
        if self.settings["conv"] == "sage":
            out += x @ self.weight(name + ".own.weight", x.shape[1])
        return out

    def local_layer(self, x, index, attention, local, sizes):
        name = f"layers.{index}."
        y = np.zeros((len(x), self.width))
        if self.settings["residual"]:
            y += x @ self.weight(name + "residual.weight", x.shape[1]) + self.arrays[name + "residual.bias"]
        if self.settings["conv"] != "none":
            y += self.convolve(x, name + "conv", local, sizes)
        if attention is not None:
            y += self.arrays[name + "gamma"] * self.attention(x, index, *attention, None)
        return np.maximum(self.norm(y, name + "norm", self.settings["norm"]), 0)

    def prepare(self, features):
        scale = self.arrays.get("preparation/features.scale", 1.0)
        return (features - self.arrays.get("preparation/features.mean", 0.0)) * scale

    def encode(self, features):
        x = features @ self.weight("encoder.weight", features.shape[1]) + self.arrays["encoder.bias"]
        if "virtual_nodes" in self.arrays:
            x = np.vstack([x, self.weight("virtual_nodes", self.settings["virtual_nodes"])])
        for i in range(self.settings["pre_layers"]):
            x = self.dense(x, f"pre.{i}")
        return x

    def finish(self, x):
        for i in range(self.settings["post_layers"]):
            x = self.dense(x, f"post.{i}")
        return x @ self.weight("head.weight", self.width) + self.arrays["head.bias"]


def edge_types(graph):
    """The type of every edge of the attention graph."""
    offsets, ends = graph["offsets"].astype(int), graph["segment_ends"].astype(int)
    types = np.zeros(len(graph["neighbours"]), int)
    for node in range(len(offsets) - 1):
        for t in range(len(ends)):
            types[ends[t, node]:offsets[node + 1]] = t + 1
    return types


def local_rows(data, about):
    """Of the graph's own edges, made undirected: each node's neighbours, then itself."""
    offsets, neighbours = data["graph.offsets"].astype(int), data["graph.neighbours"].astype(int)
    rows = [neighbours[a:b] for a, b in zip(offsets[:-1], offsets[1:])]
    if about["symmetric"] == "0":
        both = [set(row.tolist()) for row in rows]
        for node, row in enumerate(rows):
            for other in row:
                both[other].add(node)
        rows = [np.array(sorted(row - {node}), int) for node, row in enumerate(both)]
    return [np.append(row, node) for node, row in enumerate(rows)]


def drawn_rows(rows, seed, sample, layer, count):
    """`count` neighbours of each row and the node itself."""
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    times = waiting_times(offsets[-1], seed, sample, layer, purpose=9)
    drawn = []
    for row, begin in zip(rows, offsets):
        chosen = np.argsort(times[begin:begin + len(row) - 1], kind="stable")[:count]
        drawn.append(np.append(row[np.sort(chosen)], row[-1]))
    return drawn


def predict_local(network, metadata, run, data, about):
    """spexphormer-local."""
    s, seed = network.settings, int(metadata["seed"])
    sample = int(metadata["best_epoch"]) // s["resample_every"]
    draws = s["attention_layers"] > 0 and s["degree"] > 0
    local = local_rows(data, about)
    sizes = np.array([len(row) for row in local], float)
    scores = []
    if s["attention_layers"] > 0:
        graph, _ = read_safetensors(run + "/attention.safetensors")
        offsets, types = graph["offsets"].astype(int), edge_types(graph)
        neighbours = graph["neighbours"].astype(int)
    if draws and s["sampling"] != "uniform":
        stored, _ = read_safetensors(run + "/scores.safetensors")
        scores = [stored[f"layer.{i}"].astype(np.float64) for i in range(len(stored))]
    x = network.prepare(read_features(data))
    if s["pre_linear"]:
        x = x @ network.weight("pre.weight", x.shape[1]) + network.arrays["pre.bias"]
    for i in range(s["layers"]):
        attention, rows = None, local
        if i + s["attention_layers"] >= s["layers"]:
            edges = [np.arange(a, b) for a, b in zip(offsets[:-1], offsets[1:])]
            if draws:
                of_layer = scores[min(i, len(scores) - 1)] if scores else None
                edges = drawn_edges(offsets, of_layer, s["sampling"], seed, sample, i, s["degree"])
            attention = (edges, neighbours, types)
        if draws and 0 < s["batch_size"] < len(local):
            rows = drawn_rows(local, seed, sample, i, s["local_cap"])
        x = network.local_layer(x, i, attention, rows, sizes)
    return x @ network.weight("head.weight", x.shape[1]) + network.arrays["head.bias"]


def predict(run, config, file):
    data, about = read_safetensors(config["data"])
    data["feature_count"] = about["feature_count"]
    arrays, metadata = read_safetensors(run + "/" + file)
    network = Network(arrays, metadata)
    if metadata["structure"] != "none":
        sys.exit("numpy_predict: this run has features made of the graph, which are not computed here")
    if "edge_encoder" in arrays:
        sys.exit("numpy_predict: this run's edges have features, which are not computed here")
    if network.name == "spexphormer-local":
        return predict_local(network, metadata, run, data, about), network, metadata
    graph, _ = read_safetensors(run + "/attention.safetensors")
    settings = network.settings
    sampled = network.name == "spexphormer"
    layers = len(settings["degrees"]) if sampled else settings["layers"]
    offsets = graph["offsets"].astype(int)
    neighbours, types = graph["neighbours"].astype(int), edge_types(graph)
    scores = []
    if sampled and (settings["sampling"] != "uniform" or settings["log_scores"]):
        stored, _ = read_safetensors(run + "/scores.safetensors")
        scores = [stored[f"layer.{i}"].astype(np.float64) for i in range(len(stored))]
        if settings["truncate"] > 0:
            scores = [truncated(layer, offsets, settings["truncate"]) for layer in scores]
    x = network.encode(network.prepare(read_features(data)))
    nodes = len(data["graph.offsets"]) - 1
    for i in range(layers):
        of_layer = scores[min(i, len(scores) - 1)] if scores else None
        rows = [np.arange(a, b) for a, b in zip(offsets[:-1], offsets[1:])]
        if sampled:
            degree = settings["degrees"][i]
            if settings["truncate"] > 0:
                degree = min(degree, settings["truncate"])
            sample = int(metadata["best_epoch"]) // settings["resample_every"]
            rows = drawn_edges(offsets, of_layer, settings["sampling"], int(metadata["seed"]), sample, i, degree)
        logged = of_layer if sampled and settings["log_scores"] else None
        x = network.layer(x, i, rows, neighbours, types, logged)
    return network.finish(x[:nodes]), network, metadata


def probabilities(logits, network, metadata):
    task, names = int(metadata["task"]), json.loads(metadata["class_names"])
    if task == 2:
        scaled = "preparation/targets.scale" in network.arrays
        return (logits / network.arrays["preparation/targets.scale"]
                + network.arrays["preparation/targets.mean"] if scaled else logits), names
    if task == 1:
        return 1 / (1 + np.exp(-logits)), names
    if len(names) == 2:
        return np.hstack([1 / (1 + np.exp(logits)), 1 / (1 + np.exp(-logits))]), names
    e = np.exp(logits - logits.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True), names


def main():
    run = sys.argv[1]
    config = read_settings(open(run + "/config.toml").read())
    files = ["model.safetensors"] + [f"model-{m}.safetensors" for m in range(2, config.get("members", 1) + 1)]
    each, names = zip(*(probabilities(*predict(run, config, file)) for file in files))
    values, names = np.mean(each, axis=0), names[0]
    print("node," + ",".join(names))
    for node, row in enumerate(values):
        print(f"{node}," + ",".join(f"{value:.6g}" for value in row))


if __name__ == "__main__":
    main()
