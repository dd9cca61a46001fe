// Variants of a model's settings, as text.
#pragma once

#include <spex/config/config.h>

#include <string>

namespace spex {

// Leaves what variants say of the setting with this name out.
void drop_from_variants(Config& config, const std::string& name);

}  // namespace spex
