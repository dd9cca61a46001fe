// Text as users write and read it: spelling, sizes, fields of a CSV line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace spex {

// The known word closest to `word`, or an empty string when none is close.
std::string nearest_word(const std::string& word, const std::vector<std::string>& known);

// "; did you mean WORD?", or nothing when no known word is close.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known);

// "2GiB", "1.5 GB", "800M" to bytes.
size_t parse_size(const std::string& text);
std::string format_size(size_t bytes);

// A field of a CSV line, quoted where it must be.
std::string csv_field(const std::string& text);

// The whole of `text` as a number; throws `what`, naming the text, if it is none.
size_t parse_count(std::string_view text, const std::string& what);
double parse_real(std::string_view text, const std::string& what);

}  // namespace spex
