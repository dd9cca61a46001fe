// Settings that networks of a training take in turn.
#include "config/variants.h"

#include <fmt/format.h>
#include <spex/config/config.h>
#include <spex/core/error.h>

#include <algorithm>
#include <ranges>
#include <sstream>

namespace spex {
namespace {

// "layers=4 width=64 | norm=batch": of each variant, its assignments. One may change nothing.
std::vector<std::vector<std::string>> parsed(const std::string& text) {
  std::vector<std::vector<std::string>> variants;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, '|');) {
    std::istringstream words(part);
    std::vector<std::string>& assignments = variants.emplace_back();
    for (std::string word; words >> word;) assignments.push_back(word);
  }
  return variants;
}

// What a phase has other than another one of the same model.
std::string difference(const Phase& phase, const Phase& from) {
  Phase own = phase, other = from;  // listing hands out places to write to
  SettingList settings, others;
  own.list(settings);
  other.list(others);
  std::vector<std::string> changed;
  for (size_t i = 0; i < settings.settings().size(); ++i) {
    std::string text = settings.settings()[i].text();
    if (text == others.settings()[i].text()) continue;
    std::erase_if(text, [](char c) { return c == '"' || c == ' '; });
    changed.push_back(settings.settings()[i].name + "=" + text);
  }
  return fmt::format("{}", fmt::join(changed, " "));
}

}  // namespace

std::vector<Phase> network_phases(const Config& config) {
  std::vector<Phase> phases = {config.final()};
  for (const std::vector<std::string>& variant : parsed(config.variants)) {
    if (phases.size() >= config.members) break;
    Config changed = config;
    changed.variants.clear();
    for (const std::string& each : variant)
      apply_setting(changed, fmt::format("{}.{}", config.final().name, each));
    phases.push_back(changed.final());
  }
  return phases;
}

size_t turn_of(size_t network, const Config& config, std::span<const Phase> networks) {
  return network % config.members % networks.size();
}

void take_in_turn(Config& config, std::span<const Phase> networks) {
  std::vector<std::string> all;
  for (const Phase& network : networks) all.push_back(difference(network, networks.front()));
  size_t period = 1;  // after which they begin again
  auto repeats = [&](size_t i) { return all[i] == all[i % period]; };
  while (!std::ranges::all_of(std::views::iota(period, all.size()), repeats)) ++period;
  config.phases.back() = networks.front();
  config.variants = fmt::format("{}", fmt::join(all.begin() + 1, all.begin() + period, " | "));
}

bool can_join(const Needs& one, const Needs& first) {
  if (one.hops != first.hops || one.ball != first.ball || one.eigenvectors != first.eigenvectors ||
      one.virtual_nodes != first.virtual_nodes)
    return false;
  // An estimator is told of the first one's layers, and whether there is a local branch.
  return !one.scores || (first.scores && one.layers == first.layers && one.local == first.local &&
                         one.sampling.degrees == first.sampling.degrees);
}

bool drop_impossible_variants(Config& config) {
  std::vector<std::string> kept;
  size_t all = 0;
  for (const std::vector<std::string>& variant : parsed(config.variants)) {
    Config alone = config;
    alone.variants = fmt::format("{}", fmt::join(variant, " "));
    ++all;
    try {
      check(alone);
      kept.push_back(alone.variants);
    } catch (const Error&) {
      continue;  // what the settings are, the others decide
    }
  }
  config.variants = fmt::format("{}", fmt::join(kept, " | "));
  return kept.size() < all;
}

void drop_from_variants(Config& config, const std::string& name) {
  std::vector<std::string> kept;
  bool any = false;
  for (std::vector<std::string>& variant : parsed(config.variants)) {
    std::erase_if(variant,
                  [&](const std::string& each) { return each.substr(0, each.find('=')) == name; });
    kept.push_back(fmt::format("{}", fmt::join(variant, " ")));
    any = any || !variant.empty();
  }
  config.variants = any ? fmt::format("{}", fmt::join(kept, " | ")) : "";
}

}  // namespace spex
