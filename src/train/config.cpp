#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/train/config.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <map>
#include <numeric>
#include <sstream>

namespace spex {
namespace {

// The words for each enumeration, in one place for reading, writing and messages.
template <class E>
using Words = std::vector<std::pair<std::string_view, E>>;

const Words<Model>& words(Model) {
  static const Words<Model> words = {{"spexphormer", Model::spexphormer},
                                     {"exphormer", Model::exphormer}};
  return words;
}
const Words<Metric>& words(Metric) {
  static const Words<Metric> words = {{"auto", Metric::automatic},
                                      {"accuracy", Metric::accuracy},
                                      {"roc_auc", Metric::roc_auc},
                                      {"r2", Metric::r2}};
  return words;
}
const Words<Norm>& words(Norm) {
  static const Words<Norm> words = {
      {"layer", Norm::layer}, {"batch", Norm::batch}, {"graph", Norm::graph}};
  return words;
}
const Words<Modulation>& words(Modulation) {
  static const Words<Modulation> words = {{"elementwise", Modulation::elementwise},
                                          {"sum", Modulation::sum}};
  return words;
}
const Words<Sampling>& words(Sampling) {
  static const Words<Sampling> words = {
      {"weighted", Sampling::weighted}, {"uniform", Sampling::uniform}, {"top", Sampling::top}};
  return words;
}

template <class E>
std::string_view word_of(E value) {
  for (const auto& [word, known] : words(value))
    if (known == value) return word;
  return "";
}

template <class Visit>
void visit_optimiser(const std::string& room, auto& o, Visit&& visit) {
  visit(room + ".epochs", o.epochs, "passes over the data");
  visit(room + ".learning_rate", o.learning_rate, "largest learning rate");
  visit(room + ".warmup", o.warmup, "epochs of linear warm-up before the cosine");
  visit(room + ".weight_decay", o.weight_decay, "decoupled weight decay");
  visit(room + ".clip", o.clip, "largest norm of the gradient");
}

// Every key, once. `c` is a Config or a const Config.
template <class Visit>
void visit_config(auto& c, Visit&& visit) {
  visit("data", c.data, "file, folder or generator");
  visit("preset", c.preset, "the preset the run started from");
  visit("model", c.model, "spexphormer or exphormer");
  visit("seed", c.seed, "first seed");
  visit("seeds", c.seeds, "final networks to train, with consecutive seeds");
  visit("threads", c.threads, "0: all cores");
  visit("split.index", c.split.split, "which of the stored splits");
  visit("split.ratio", c.split.ratio, "random split instead, such as 50/25/25");
  visit("split.counts", c.split.counts,
        "random split instead: training nodes of each class, validation, test; 20/500/1000");
  visit("split.seed", c.split.split_seed, "seed of the random split");
  visit("split.metric", c.split.metric, "auto, accuracy, roc_auc or r2");
  visit("expander.degree", c.expander.degree, "even; 0: none");
  visit("expander.seed", c.expander.seed, "seed of the expander");
  visit("expander.tries", c.expander.tries, "expanders to try for a large spectral gap");
  auto& e = c.estimator;
  visit_optimiser("estimator", e.optimiser, visit);
  visit("estimator.layers", e.layers, "0: as many as the final network");
  visit("estimator.width", e.width, "4 to 8 is enough");
  visit("estimator.pre_layers", e.pre_layers, "dense layers before attention");
  visit("estimator.norm", e.norm, "layer, graph or batch");
  visit("estimator.modulation", e.modulation, "elementwise (paper) or sum (authors' program)");
  visit("estimator.scale_by_width", e.scale_by_width, "divide scores by sqrt(width)");
  visit("estimator.normalize_values", e.normalize_values, "give all values the same length");
  visit("estimator.temperature", e.temperature, "anneal the softmax temperature");
  visit("estimator.lambda", e.lambda, "epochs at temperature 1");
  visit("estimator.gamma", e.gamma, "factor per epoch after that");
  visit("estimator.tau_min", e.tau_min, "lowest temperature");
  visit("estimator.tries", e.tries, "estimators to train; the best on validation is kept");
  auto& f = c.final;
  visit_optimiser("final", f.optimiser, visit);
  visit("final.width", f.width, "features per node, all heads together");
  visit("final.heads", f.heads, "attention heads");
  visit("final.degrees", f.degrees, "neighbours to sample, per layer");
  visit("final.pre_layers", f.pre_layers, "dense layers before attention");
  visit("final.post_layers", f.post_layers, "dense layers after attention");
  visit("final.norm", f.norm, "batch, layer or graph");
  visit("final.dropout", f.dropout, "share of activations dropped in training");
  visit("final.recompute", f.recompute, "run layers again in backward: less memory, more time");
  visit("final.batch_size", f.batch_size, "target nodes per step; 0: all at once");
  visit("final.sampling", f.sampling, "weighted, uniform or top");
  visit("final.resample_every", f.resample_every, "epochs between new samples");
  visit("final.truncate", f.truncate, "draw from so many largest scores only; 0: all");
  visit("final.log_scores", f.log_scores, "feed the estimator's log-scores to attention");
  visit("final.virtual_nodes", f.virtual_nodes, "nodes joined to all others (exphormer)");
  visit("final.evaluate_every", f.evaluate_every, "epochs between evaluations");
}

template <class E>
requires std::is_enum_v<E>
void parse(E& out, const std::string& text, const std::string& key) {
  std::string possible;
  for (const auto& [word, value] : words(E{})) {
    if (word == text) {
      out = value;
      return;
    }
    possible += fmt::format("{}{}", possible.empty() ? "" : ", ", word);
  }
  fail("{} cannot be \"{}\"; possible are {}", key, text, possible);
}

template <class T>
requires(std::same_as<T, size_t> || std::same_as<T, double>) void parse(T& out,
                                                                        const std::string& text,
                                                                        const std::string& key) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = error == std::errc() && end == text.data() + text.size();
  require(whole && std::isfinite(static_cast<double>(value)), "{} needs {}, not \"{}\"", key,
          std::same_as<T, double> ? "a number" : "a whole number, 0 or more", text);
  out = value;
}

void parse(bool& out, const std::string& text, const std::string& key) {
  require(text == "true" || text == "false", "{} needs true or false, not \"{}\"", key, text);
  out = text == "true";
}

void parse(std::string& out, const std::string& text, const std::string&) {
  out = text;
}

void parse(std::vector<size_t>& out, const std::string& text, const std::string& key) {
  std::vector<size_t> values;
  std::string inner = text;
  std::erase_if(inner, [](char c) { return c == '[' || c == ']' || c == ' '; });
  std::stringstream stream(inner);
  for (std::string item; std::getline(stream, item, ',');) parse(values.emplace_back(), item, key);
  require(!values.empty(), "{} needs a list such as [10, 10], not \"{}\"", key, text);
  out = std::move(values);
}

template <class E>
requires std::is_enum_v<E> std::string format(E value) {
  return fmt::format("\"{}\"", word_of(value));
}
std::string format(size_t value) {
  return fmt::format("{}", value);
}
std::string format(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}
std::string format(bool value) {
  return value ? "true" : "false";
}
std::string format(const std::string& value) {
  std::ostringstream out;
  out << toml::value<std::string>(value);
  return out.str();
}
std::string format(const std::vector<size_t>& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

void set_value(Config& config, const std::string& key, const std::string& text,
               const std::string& where) {
  bool found = false;
  std::vector<std::string> keys;
  visit_config(config, [&](const std::string& known, auto& value, const char*) {
    keys.push_back(known);
    if (known != key) return;
    parse(value, text, where + key);
    found = true;
  });
  if (found) return;
  std::string nearest = nearest_word(key, keys);
  fail("{}there is no setting called {}{}", where, key,
       nearest.empty() ? std::string() : fmt::format("; did you mean {}?", nearest));
}

std::string text_of(const toml::node& node) {
  if (auto text = node.value_exact<std::string>()) return *text;
  if (auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  std::ostringstream out;
  if (node.is_array())
    out << *node.as_array();
  else if (auto integer = node.value_exact<int64_t>())
    out << *integer;
  else if (auto flag = node.value_exact<bool>())
    out << (*flag ? "true" : "false");
  return out.str();
}

void apply_table(Config& config, const toml::table& table, const std::string& prefix,
                 const std::string& where) {
  for (const auto& [key, node] : table) {
    std::string full =
        prefix.empty() ? std::string(key.str()) : prefix + "." + std::string(key.str());
    if (node.is_table())
      apply_table(config, *node.as_table(), full, where);
    else
      set_value(config, full, text_of(node), where);
  }
}

}  // namespace

std::string_view name(Model model) {
  return word_of(model);
}
std::string_view name(Metric metric) {
  return word_of(metric);
}

std::string nearest_word(const std::string& word, const std::vector<std::string>& known) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    std::vector<size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 1; i <= word.size(); ++i) {
      size_t diagonal = std::exchange(row[0], i);
      for (size_t j = 1; j <= candidate.size(); ++j) {
        size_t change = diagonal + (word[i - 1] != candidate[j - 1]);
        diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, change}));
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

void apply_toml(Config& config, std::string_view text, const std::string& source) {
  try {
    apply_table(config, toml::parse(text, source), "", source + ": ");
  } catch (const toml::parse_error& error) {
    fail("{}, line {}: {}", source, error.source().begin.line, error.description());
  }
}

void apply_setting(Config& config, const std::string& assignment) {
  size_t equals = assignment.find('=');
  require(equals != std::string::npos, "a setting has the form key=value, not \"{}\"", assignment);
  set_value(config, assignment.substr(0, equals), assignment.substr(equals + 1), "");
}

void check(const Config& config) {
  for (const auto& [room, o] : {std::pair{"estimator", &config.estimator.optimiser},
                                std::pair{"final", &config.final.optimiser}}) {
    require(o->epochs > 0, "{}.epochs must be at least 1", room);
    require(o->learning_rate > 0, "{}.learning_rate must be above 0", room);
    require(o->clip > 0, "{}.clip must be above 0; a very large one clips nothing", room);
    require(o->weight_decay >= 0, "{}.weight_decay must not be negative", room);
  }
  const EstimatorConfig& e = config.estimator;
  require(e.tau_min > 0 && e.gamma > 0, "estimator.tau_min and estimator.gamma must be above 0");
  const FinalConfig& f = config.final;
  require(f.dropout >= 0 && f.dropout < 1, "final.dropout must be at least 0 and below 1, not {}",
          f.dropout);
  for (size_t degree : f.degrees)
    require(degree >= 1 && degree <= 65535, "final.degrees must be from 1 to 65535, not {}",
            degree);
  require(f.width <= 1024 && f.heads <= 64 && e.width <= 1024,
          "final.width and estimator.width can be at most 1024, final.heads at most 64");
  require(f.evaluate_every > 0 && f.resample_every > 0,
          "final.evaluate_every and final.resample_every must be at least 1");
  require(config.model == Model::exphormer || f.norm != Norm::graph,
          "final.norm=graph needs the whole graph in every pass; a sampled network can have batch "
          "or layer");
}

bool needs_scores(const Config& config) {
  return config.model == Model::spexphormer &&
         (config.final.sampling != Sampling::uniform || config.final.log_scores);
}

std::string to_toml(const Config& config) {
  std::map<std::string, std::string> sections;
  std::vector<std::string> order;
  visit_config(config, [&](const std::string& key, const auto& value, const char* meaning) {
    size_t dot = key.rfind('.');
    std::string section = dot == std::string::npos ? "" : key.substr(0, dot);
    if (!sections.contains(section)) order.push_back(section);
    std::string line =
        fmt::format("{} = {}", dot == std::string::npos ? key : key.substr(dot + 1), format(value));
    sections[section] += fmt::format("{:<36} # {}\n", line, meaning);
  });
  std::string text;
  for (const std::string& section : order)
    text +=
        section.empty() ? sections[section] : fmt::format("\n[{}]\n{}", section, sections[section]);
  return text;
}

std::vector<ConfigKey> config_keys(const Config& config) {
  std::vector<ConfigKey> keys;
  visit_config(config, [&](const std::string& key, const auto& value, const char* meaning) {
    keys.push_back({key, format(value), meaning});
  });
  return keys;
}

}  // namespace spex
