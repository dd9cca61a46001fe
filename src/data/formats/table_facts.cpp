#include "data/formats/table_facts.h"

#include <spex/core/error.h>
#include <spex/core/log.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace spex {
namespace {

// Looking for ids costs memory per value: among very many columns only the outer ones are looked
// at.
constexpr size_t kColumnsForIds = 32;

// Shares of a column's values that are ids of the graph.
constexpr double kSurely = 0.9, kHardly = 0.5;
constexpr size_t kEnoughRows = 5;  // to believe in values rather than in a name

struct Scan {
  ColumnFacts& facts;
  bool may_be_id;
  std::unordered_set<uint64_t> hashes = {};

  void take(std::string_view field, const NodeIds& ids, bool decimal_comma) {
    FieldKind kind = kind_of(field, decimal_comma);
    facts.missing += kind == FieldKind::missing;
    facts.numbers += kind == FieldKind::number;
    facts.dates += kind == FieldKind::date;
    facts.texts += kind == FieldKind::text;
    if (kind == FieldKind::missing) return void(facts.unique = false);
    facts.commas.take(field);
    if (facts.few) {
      ++facts.values[std::string(trim(field))];
      facts.few = facts.values.size() <= kFewValues;
    }
    if (!may_be_id) return;
    facts.in_graph += ids.holds(field);
    if (facts.unique && !hashes.insert(std::hash<std::string_view>()(trim(field))).second) {
      facts.unique = false;
      hashes = {};
    }
  }
};

double share_in_graph(const TableFacts& facts, size_t column) {
  return static_cast<double>(facts.columns[column].in_graph) /
         static_cast<double>(std::max<size_t>(1, facts.rows));
}

// Of the columns that `eligible` holds for, the one with most ids of the graph; of equals the one
// called new_id, which says that another id is an old one, else the first.
template <class Eligible>
size_t best_column(const TableFacts& facts, Eligible&& eligible) {
  auto rank = [](const ColumnFacts& column) {
    return std::pair(column.in_graph, lower_case(column.name) == "new_id");
  };
  size_t best = kNoColumn;
  for (size_t c = 0; c < facts.columns.size(); ++c)
    if (eligible(c) && (best == kNoColumn || rank(facts.columns[c]) > rank(facts.columns[best])))
      best = c;
  return best;
}

// Another column by whose name and values the nodes could be meant as well.
void log_equals(const TableFacts& facts, const CsvReader& csv, size_t chosen) {
  for (size_t c = 0; c < facts.columns.size(); ++c) {
    const ColumnFacts& other = facts.columns[c];
    if (c != chosen && is_id_name(other.name) && other.unique && other.in_graph > 0 &&
        other.in_graph == facts.columns[chosen].in_graph)
      log("{}: the nodes are taken from column '{}', but {} could be meant; choose with "
          "--id-column",
          csv.path().string(), facts.columns[chosen].name, other.name);
  }
}

}  // namespace

double ColumnFacts::evenness() const {
  double total = 0, entropy = 0;
  for (const auto& [value, count] : values) total += static_cast<double>(count);
  for (const auto& [value, count] : values) {
    double share = static_cast<double>(count) / total;
    entropy -= share * std::log(share);
  }
  return values.size() > 1 ? entropy / std::log(static_cast<double>(values.size())) : 0.0;
}

bool TableFacts::is_category(size_t column) const {
  const ColumnFacts& facts = columns[column];
  return facts.few && 2 * facts.values.size() <= rows - facts.missing + 1;
}

TableFacts look_at(const TextFile& file, const NodeIds& ids) {
  CsvReader csv(file);
  TableFacts facts;
  facts.has_header = csv.has_header();
  size_t count = csv.columns().size();
  facts.columns.resize(count);
  std::vector<Scan> scans;
  for (size_t c = 0; c < count; ++c) {
    facts.columns[c].name = csv.columns()[c];
    bool outer = c < kColumnsForIds / 2 || c + kColumnsForIds / 2 >= count;
    scans.push_back({facts.columns[c], outer || is_id_name(csv.columns()[c])});
  }
  std::vector<std::string_view> fields;
  for (; csv.next(fields); ++facts.rows)
    for (size_t c = 0; c < count; ++c) scans[c].take(fields[c], ids, csv.decimal_comma());
  for (Scan& scan : scans) scan.facts.unique = scan.facts.unique && scan.may_be_id;
  return facts;
}

void check_commas(const CommaNumbers& commas, const CsvReader& csv, const std::string& column) {
  std::string number = commas.doubtful(csv.decimal_comma());
  require(
      number.empty(),
      "{}: the comma in {} of the column '{}' may separate thousands or decimals; write numbers "
      "without it, or with a point",
      csv.path().string(), shown(number), column);
}

size_t choose_id_column(const TableFacts& facts, const CsvReader& csv, const ReadOptions& options,
                        bool first) {
  bool told = !options.id_column.empty() && has_column(csv, options.id_column);
  if (told) return find_column(csv, options.id_column);
  size_t count = facts.columns.size();
  if (count == 1 && !is_id_name(facts.columns[0].name)) return kNoColumn;
  size_t named = best_column(facts, [&](size_t c) {
    return facts.has_header ? is_id_name(facts.columns[c].name) : first && c == 0;
  });
  size_t found = best_column(facts, [&](size_t c) {
    return facts.columns[c].unique && share_in_graph(facts, c) >= kSurely &&
           (facts.has_header || first || c == 0);
  });
  if (facts.has_header && named != kNoColumn) log_equals(facts, csv, named);
  if (found == kNoColumn || found == named) return named;
  if (named != kNoColumn) {
    bool repeats = !facts.has_header && !facts.columns[named].unique;
    bool doubtful = repeats || share_in_graph(facts, named) < kHardly;
    if (!doubtful || facts.rows < kEnoughRows) return named;
  }
  if (facts.has_header)
    log("{}: the nodes are in column '{}', whose values are the ids of the edges",
        csv.path().string(), facts.columns[found].name);
  return found;
}

NodeId read_row_id(const CsvReader& csv, std::string_view field, NodeIds& ids,
                   std::unordered_set<NodeId>& seen) {
  NodeId id = 0;
  if (!ids.add(field, id)) csv.refuse(ids.refusal(field));
  if (!seen.insert(id).second)
    csv.refuse(
        fmt::format("node {} comes a second time, but a node has one row; --id-column chooses "
                    "another column of ids",
                    shown(field)));
  return id;
}

}  // namespace spex
