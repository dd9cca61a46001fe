// From the labels as files have them, one per node, to Labels.
#pragma once

#include <spex/data/reader.h>

#include <filesystem>
#include <string>
#include <vector>

#include "data/draft.h"

namespace spex {

// Numbers, NaN for unknown; doubles, since a code of nine digits is a class that floats would round
// to another. Whole ones are classes, unless there are so many that they must be
// quantities; others are targets of regression. `where` names the column for messages.
void set_number_labels(Draft& draft, const std::vector<double>& by_node, LabelTask task,
                       const std::string& where);

// Names of classes, empty for unknown; the classes are in sorted order. Refuses as many as there
// are of free text, unless the task is said.
void set_text_labels(Draft& draft, const std::vector<std::string>& by_node, LabelTask task,
                     const std::string& where);

// Several numbers per node: one-hot classes, binary labels, or targets, by what the values are.
void set_wide_labels(Draft& draft, const std::vector<double>& rows, size_t outputs, LabelTask task,
                     const std::string& where);

}  // namespace spex
