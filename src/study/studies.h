// The studies, one file each.
#pragma once

#include <spex/study/study.h>

namespace spex {

StudyRecord study_energy(const StudyRequest& request);
StudyRecord study_entropy(const StudyRequest& request);
StudyRecord study_layers(const StudyRequest& request);
StudyRecord study_coverage(const StudyRequest& request);
StudyRecord study_topk(const StudyRequest& request);
StudyRecord study_edge_types(const StudyRequest& request);
StudyRecord study_memory(const StudyRequest& request);
StudyRecord study_tradeoff(const StudyRequest& request);
StudyRecord study_expansion(const StudyRequest& request);
StudyRecord study_growth(const StudyRequest& request);
StudyRecord study_degrees(const StudyRequest& request);
StudyRecord study_ablation(const StudyRequest& request);
StudyRecord study_bridge(const StudyRequest& request);
StudyRecord study_projection(const StudyRequest& request);
StudyRecord study_spectral(const StudyRequest& request);
StudyRecord study_mixing(const StudyRequest& request);

}  // namespace spex
