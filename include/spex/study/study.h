// The paper's figures, ablations and theorems: each a function from trained networks to a table,
// with the claim it tests and the rule that decides.
#pragma once

#include <spex/config/config.h>
#include <spex/data/dataset.h>
#include <spex/run/run.h>
#include <spex/study/record.h>

#include <filesystem>
#include <string>
#include <vector>

namespace spex {

struct StudyRequest {
  Dataset data;
  Config config;               // for the data; a study changes what it varies
  size_t seeds = 0;            // trainings of each kind
  std::vector<size_t> widths;  // of the networks whose attention is compared; ascending
  size_t nodes = 1'000'000;    // of the largest graph that `growth` makes
  std::filesystem::path out;   // trained networks are kept in it, for the next time
  std::string command;         // that makes it again, for the record
  RunHooks hooks;
};

struct StudyInfo {
  std::string name;
  std::string title;
  std::string place;         // in the paper
  size_t seeds = 1;          // unless asked for others
  std::string default_data;  // of studies that make their own; "": it must be said
  // Gives table, figures, findings and choices.
  StudyRecord (*make)(const StudyRequest&) = nullptr;
};

const std::vector<StudyInfo>& studies();
const StudyInfo& find_study(const std::string& name);  // throws, naming the nearest one

inline const std::vector<size_t> kStudyWidths = {4, 8, 16, 32, 64};

// Makes a study and writes its files. Killed at any moment, the same request goes on with the
// networks that were trained. Throws, leaving them, if it was told to stop.
StudyRecord run_study(const StudyInfo& study, const StudyRequest& request);

}  // namespace spex
