// Structs to JSON and back from one list of their fields. A struct S takes part by a function
//   void fields(auto& io, S& s) { io("name", s.name); io("size", s.size); }
// which both JsonWriter and JsonReader call. Kinds: string, bool, size_t, double (NaN is null),
// vectors and such structs.
#pragma once

#include <spex/core/error.h>

#include <cmath>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace spex {

class JsonWriter {
 public:
  template <class T>
  void operator()(const char* key, T& value) {
    json_[key] = to_value(value);
  }
  // One that files of earlier versions may lack.
  template <class T>
  void optional(const char* key, T& value) {
    (*this)(key, value);
  }
  // An object inside this one whose fields `list` names.
  template <class List>
  void object(const char* key, List&& list) {
    JsonWriter inner;
    list(inner);
    json_[key] = std::move(inner.json_);
  }
  template <class S>
  static nlohmann::ordered_json to_value(S& value) {
    JsonWriter writer;
    fields(writer, value);
    return std::move(writer.json_);
  }

 private:
  template <class T>
  requires(std::is_arithmetic_v<T> || std::same_as<T, std::string>)  //
      static nlohmann::ordered_json to_value(T& value) {
    return value;
  }
  static nlohmann::ordered_json to_value(double& value) {
    return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
  }
  template <class T>
  static nlohmann::ordered_json to_value(std::vector<T>& values) {
    auto array = nlohmann::ordered_json::array();
    for (T& value : values) array.push_back(to_value(value));
    return array;
  }

  nlohmann::ordered_json json_ = nlohmann::ordered_json::object();
};

class JsonReader {
 public:
  // `where` opens every message: the file, then the path of keys.
  JsonReader(const nlohmann::json& json, std::string where)
      : json_(json), where_(std::move(where)) {
    require(json.is_object(), "{}: expected a JSON object", where_);
  }
  template <class T>
  void operator()(const char* key, T& value) {
    read(value, member(key), fmt::format("{}: {}", where_, key));
  }
  template <class T>
  void optional(const char* key, T& value) {
    if (json_.contains(key)) (*this)(key, value);
  }
  template <class List>
  void object(const char* key, List&& list) {
    JsonReader inner(member(key), fmt::format("{}: {}", where_, key));
    list(inner);
  }

 private:
  const nlohmann::json& member(const char* key) const {
    auto found = json_.find(key);
    require(found != json_.end(), "{}: {} is missing", where_, key);
    return *found;
  }
  static void read(std::string& out, const nlohmann::json& json, const std::string& where) {
    require(json.is_string(), "{} must be a text", where);
    out = json.get<std::string>();
  }
  static void read(bool& out, const nlohmann::json& json, const std::string& where) {
    require(json.is_boolean(), "{} must be true or false", where);
    out = json.get<bool>();
  }
  static void read(size_t& out, const nlohmann::json& json, const std::string& where) {
    require(json.is_number_unsigned(), "{} must be a whole number, 0 or more", where);
    out = json.get<size_t>();
  }
  static void read(double& out, const nlohmann::json& json, const std::string& where) {
    require(json.is_number() || json.is_null(), "{} must be a number or null", where);
    out = json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
  }
  template <class T>
  static void read(std::vector<T>& out, const nlohmann::json& json, const std::string& where) {
    require(json.is_array(), "{} must be a list", where);
    out.resize(json.size());
    for (size_t i = 0; i < out.size(); ++i) read(out[i], json[i], fmt::format("{}[{}]", where, i));
  }
  template <class S>
  static void read(S& out, const nlohmann::json& json, const std::string& where) {
    JsonReader reader(json, where);
    fields(reader, out);
  }

  const nlohmann::json& json_;
  std::string where_;
};

// The whole file `text` as an S.
template <class S>
S read_json(const std::string& text, const std::string& source) {
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  require(!json.is_discarded(), "{} is not valid JSON; was it cut short?", source);
  JsonReader reader(json, source);
  S value;
  fields(reader, value);
  return value;
}

// `indent` < 0: all on one line. Bytes that are not UTF-8 are replaced, since JSON cannot hold
// them.
template <class S>
std::string write_json(S value, int indent) {
  return JsonWriter::to_value(value).dump(indent, ' ', false,
                                          nlohmann::json::error_handler_t::replace) +
         "\n";
}

}  // namespace spex
