// Reading data sets in the formats people have. What a file is, is decided by its content:
//
//   safetensors    our own files (docs/formats.md)
//   npz            edge pairs + dense features + masks, also as PyTorch Geometric calls them, or
//   CSR
//                  adjacency + CSR attributes
//   mat            MATLAB 5: Pokec (edge_index, node_feat, label) and Facebook100 (A, local_info)
//   json           WikiCS (features, labels, links, masks)
//   mtx            MatrixMarket
//   csv, txt, gz   an edge list
//   folder         OGB (raw/edge.csv.gz ..), Geom-GCN (out1_graph_edges.txt ..), or tables: an
//                  edge list beside features (CSV, or JSON lists of feature ids) and labels (CSV)
//
// Every reader refuses what it cannot trust with one Error that names the file and the place.
#pragma once

#include <spex/data/dataset.h>
#include <spex/graph/edge_values.h>

#include <filesystem>
#include <string>

namespace spex {

// What a column of labels is taken for.
enum class LabelTask { by_values, classes, regression };

// Columns are given by their names, or by their numbers from 1. Empty: docs/formats.md says what
// decides.
struct ReadOptions {
  bool undirected = true;       // add the reverse of every edge
  bool drop_duplicates = true;  // keep parallel edges once
  bool drop_self_loops = true;
  EdgeCombine combine = EdgeCombine::mean;  // of the features of parallel edges
  bool species = false;       // OGB proteins: append the species, one-hot, to the features
  std::string source_column;  // of edge tables
  std::string target_column;
  std::string weight_column;  // the only edge feature, then; empty: all columns beside the ends
  std::string id_column;      // of label and feature tables
  std::string label_column;
  LabelTask task = LabelTask::by_values;
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

// The same data set with features or labels of these tables in place of its own; `files.edges` is
// empty. Their ids are the data set's keys, and may name no other node.
Dataset with_tables(Dataset dataset, const TableFiles& files, const ReadOptions& options = {});

}  // namespace spex
