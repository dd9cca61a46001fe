#include "data/formats/table_facts.h"

#include <spex/core/error.h>
#include <spex/core/log.h>

#include <algorithm>
#include <cmath>

namespace spex {
namespace {

// Looking for ids costs memory per value: among very many columns only the outer ones are looked
// at.
constexpr size_t kColumnsForIds = 32;

// Shares of a column's values that are ids of the graph.
constexpr double kSurely = 0.9, kHardly = 0.5;
constexpr size_t kEnoughRows = 10;  // to believe in values rather than in a name

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

// Of the columns that `eligible` holds for, the one with most ids of the graph; the first of
// equals.
template <class Eligible>
size_t best_column(const TableFacts& facts, Eligible&& eligible) {
  size_t best = kNoColumn;
  for (size_t c = 0; c < facts.columns.size(); ++c)
    if (eligible(c) &&
        (best == kNoColumn || facts.columns[c].in_graph > facts.columns[best].in_graph))
      best = c;
  return best;
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
  if (found == kNoColumn || found == named) return named;
  bool doubtful = share_in_graph(facts, named == kNoColumn ? found : named) < kHardly;
  if (named != kNoColumn && (!doubtful || facts.rows < kEnoughRows)) return named;
  if (facts.has_header)
    log("{}: the nodes are in column '{}', whose values are the ids of the edges",
        csv.path().string(), facts.columns[found].name);
  return found;
}

NodeId read_row_id(const CsvReader& csv, std::string_view field, NodeIds& ids,
                   std::unordered_set<NodeId>& seen) {
  NodeId id = 0;
  if (!ids.add(field, id))
    csv.refuse(fmt::format("the node id {} is not {}", shown(field), ids.expected()));
  if (!seen.insert(id).second)
    csv.refuse(fmt::format("node {} comes a second time; --id-column chooses another column of ids",
                           shown(field)));
  return id;
}

}  // namespace spex
