// Reading data sets in the formats people have. What a file is, is decided by its content:
//
//   safetensors    our own files (docs/formats.md)
//   npz            edge pairs + dense features + masks, or CSR adjacency + CSR attributes
//   mat            MATLAB 5: Pokec (edge_index, node_feat, label) and Facebook100 (A, local_info)
//   json           WikiCS (features, labels, links, masks)
//   csv, txt, gz   an edge list
//   folder         OGB (raw/edge.csv.gz ..), Geom-GCN (out1_graph_edges.txt ..), or tables: an
//                  edge list beside features (CSV, or JSON lists of feature ids) and labels (CSV)
//
// Every reader refuses what it cannot trust with one Error that names the file and the place.
#pragma once

#include <spex/data/dataset.h>

#include <filesystem>
#include <string>

namespace spex {

struct ReadOptions {
  bool undirected = true;       // add the reverse of every edge
  bool drop_duplicates = true;  // keep parallel edges once
  bool drop_self_loops = true;
  bool species = false;  // OGB proteins: append the species, one-hot, to the features
  std::string
      label_column;      // CSV labels: its name, or its number from 1; empty: see docs/formats.md
  bool validate = true;  // native files: check every id and value (validate.h)
};

// Tables that belong together; features and labels may be empty paths.
struct TableFiles {
  std::filesystem::path edges;
  std::filesystem::path features;
  std::filesystem::path labels;
};

Dataset read_dataset(const std::filesystem::path& path, const ReadOptions& options = {});
Dataset read_tables(const TableFiles& files, const ReadOptions& options = {});

}  // namespace spex
