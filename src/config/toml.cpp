// Settings from TOML texts and from "key=value". The one file that sees the TOML parser.
#include <spex/config/config.h>
#include <spex/core/error.h>
#include <spex/core/text.h>
#include <toml++/toml.h>

#include <optional>
#include <sstream>

#include "config/variants.h"

namespace spex {
namespace {

// The section's model if it is of one that this configuration does not train.
std::optional<Phase> other_model(const Config& config, const std::string& section) {
  for (const Phase& phase : config.phases)
    if (phase.name == section) return std::nullopt;
  for (const ModelInfo& info : models())
    if (info.name == section) return Phase{info.name, info.recipe, info.options()};
  return std::nullopt;
}

std::string section_of(const std::string& key) {
  size_t dot = key.find('.');
  return dot == std::string::npos ? std::string() : key.substr(0, dot);
}

// False if there is no such setting.
template <class Part>
bool set_in(Part& part, const std::string& prefix, const std::string& key, const std::string& text,
            const std::string& where) {
  SettingList settings;
  if (prefix.empty())
    part.list(settings);
  else
    settings.add_part(prefix, part);
  const Setting* found = settings.find(key);
  if (found) found->set(text, where + key);
  return found != nullptr;
}

[[noreturn]] void refuse(Config& config, const std::string& key, const std::string& where) {
  SettingList settings;
  config.list(settings);
  fail("{}there is no setting called {}{}", where, key, did_you_mean(key, settings.names()));
}

void set_value(Config& config, const std::string& key, const std::string& text,
               const std::string& where) {
  if (key == "model") {
    if (text != config.model) set_model(config, text);
    return;
  }
  if (!set_in(config, "", key, text, where)) refuse(config, key, where);
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

void apply_table(Config& config, const toml::table& table, const std::string& section,
                 const std::string& where) {
  std::optional<Phase> other = other_model(config, section);
  for (const auto& [key, node] : table) {
    std::string full = (section.empty() ? "" : section + ".") + std::string(key.str());
    if (node.is_table()) {
      apply_table(config, *node.as_table(), full, where);
    } else if (other) {
      SettingList settings;
      settings.add_part(section, *other);
      if (!set_in(*other, section, full, text_of(node), where))
        fail("{}there is no setting called {}{}", where, full,
             did_you_mean(full, settings.names()));
    } else {
      set_value(config, full, text_of(node), where);
    }
  }
}

}  // namespace

void apply_toml(Config& config, std::string_view text, const std::string& source) {
  try {
    toml::table table = toml::parse(text, source);
    // The model decides which settings there are.
    if (auto model = table["model"].value<std::string>())
      set_value(config, "model", *model, source + ": ");
    apply_table(config, table, "", source + ": ");
  } catch (const toml::parse_error& error) {
    fail("{}, line {}: {}", source, error.source().begin.line, error.description());
  }
}

Phase parse_phase(const std::string& model, std::string_view text, const std::string& source) {
  Config config(model);
  apply_toml(config, text, source);
  return config.final();
}

void apply_setting(Config& config, const std::string& assignment) {
  size_t equals = assignment.find('=');
  require(equals != std::string::npos, "a setting has the form key=value, not \"{}\"", assignment);
  std::string key = assignment.substr(0, equals), text = assignment.substr(equals + 1);
  std::string section = section_of(key);
  std::optional<Phase> other = other_model(config, section);
  if (other && set_in(*other, section, key, text, ""))
    fail("{} is a setting of {}, and the model is {}; choose it with --model {}", key, section,
         config.model, section);
  set_value(config, key, text, "");
  if (section == config.final().name) drop_from_variants(config, key.substr(section.size() + 1));
}

}  // namespace spex
