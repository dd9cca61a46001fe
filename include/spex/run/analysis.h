// What the report shows besides curves: where the attention goes, degrees, and how predictions err.
#pragma once

#include <spex/run/predict.h>
#include <spex/run/problem.h>
#include <spex/run/record.h>
#include <spex/train/objective.h>

namespace spex {

// One entry per layer of scores; `degrees` are the final network's, for the edges it keeps.
std::vector<LayerAttention> analyse_attention(const Scores& scores, const AttentionGraph& graph,
                                              std::span<const size_t> degrees);

void analyse_degrees(RunDetails& details, const CsrGraph& graph);

// What fits the labels, of the test nodes: confusion matrix, ROC curve, precision by recall,
// calibration, predicted against true values. Row i of the logits is test[i]'s; targets are as the
// data has them.
void analyse_predictions(RunDetails& details, const Dataset& data, ConstMatrixView logits,
                         std::span<const NodeId> test);

// The metric, on the test nodes, of the best answer that is the same for all: the class that is
// commonest among the training nodes, or their mean.
double constant_score(const Labels& labels, Metric metric, const Split& split, size_t nodes);

// The neighbours with the largest scores, of each layer.
NodeAttention look_of(const Scores& scores, const AttentionGraph& graph, const NodeKeys& keys,
                      NodeId node, size_t layers);

// The test nodes that are furthest from the truth, of those that were predicted; returns them.
std::vector<NodeId> analyse_mistakes(RunDetails& details, const Dataset& data,
                                     const Predictions& predictions, std::span<const NodeId> test);

}  // namespace spex
