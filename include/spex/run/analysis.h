// What the report shows besides curves: where the attention goes, degrees, and how predictions err.
#pragma once

#include <spex/run/predict.h>
#include <spex/run/problem.h>
#include <spex/run/record.h>

namespace spex {

// One entry per layer of scores; `degrees` are the final network's, for the edges it keeps.
std::vector<LayerAttention> analyse_attention(const Scores& scores, const AttentionGraph& graph,
                                              std::span<const size_t> degrees);

void analyse_degrees(RunDetails& details, const CsrGraph& graph);

// Confusion matrix or ROC curve on the test nodes, whichever fits the labels; row i of the logits
// is test[i]'s.
void analyse_predictions(RunDetails& details, const Dataset& data, ConstMatrixView logits,
                         std::span<const NodeId> test);

// The test nodes that are furthest from the truth, of those that were predicted.
void analyse_mistakes(RunDetails& details, const Dataset& data, const Predictions& predictions,
                      std::span<const NodeId> test);

}  // namespace spex
