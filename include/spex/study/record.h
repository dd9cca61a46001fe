// What a study leaves behind: a table, how to draw it, and what it says about the paper's claim.
// Plain structs; NAME.study.json and NAME.csv hold them, and the pages show them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace spex {

struct StudyRow {
  std::vector<std::string> names;
  std::vector<double> values;  // NaN: there is none
};

struct StudyTable {
  std::vector<std::string> names;   // heads of the columns of words
  std::vector<std::string> values;  // heads of the columns of numbers
  std::vector<StudyRow> rows;

  void add(std::vector<std::string> row_names, std::vector<double> row_values);
  size_t name_column(const std::string& head) const;   // throws if there is none
  size_t value_column(const std::string& head) const;  // throws if there is none
};

// A chart of the table. Columns are named by their heads.
struct StudyFigure {
  std::string title;
  std::string sentence;
  std::string kind;       // "lines", "bars" or "heat"
  std::string x, y;       // x: numbers (lines) or words (bars, heat); y: numbers; heat: words
  std::string value;      // heat: the numbers
  std::string series;     // words that tell lines or bars apart; "": one
  std::string panel;      // words that tell charts apart; "": one chart
  std::string low, high;  // ends of the error bars; "": none
  std::string x_title, y_title;  // with their units
  std::string x_unit, y_unit;    // "", "percent", "seconds" or "bytes": how numbers are written
  bool log_x = false, log_y = false;
  std::vector<std::string> only;  // "head=word": rows that are drawn; empty: all
};

// A claim of the paper, held against the numbers by a rule that could have come out otherwise.
struct StudyFinding {
  std::string claim;
  std::string rule;
  std::string numbers;  // what the rule was applied to
  bool agrees = false;
};

struct StudySetting {
  std::string key, value;
};

struct StudyRecord {
  std::string name;  // as `spex study` takes it
  std::string title;
  std::string place;  // in the paper
  std::string data;
  bool synthetic = false;
  std::string command;  // that makes it again
  std::vector<StudyFinding> findings;
  std::vector<StudyFigure> figures;
  StudyTable table;
  std::vector<std::string> choices;  // what was chosen where the paper is silent
  std::vector<StudySetting> settings;
  double seconds = 0;
};

std::string to_json(const StudyRecord& record);
StudyRecord parse_study(const std::string& text, const std::string& source);
std::string to_csv(const StudyTable& table);
std::string to_text(const StudyRecord& record);  // for a terminal

// Writes NAME.study.json and NAME.csv, each whole or not at all.
void save_study(const std::filesystem::path& folder, const StudyRecord& record);
// Those of a folder and of the folders in it, by path; none if there is none.
std::vector<StudyRecord> load_studies(const std::filesystem::path& folder);

}  // namespace spex
