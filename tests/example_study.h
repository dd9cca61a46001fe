// A study with every kind of figure, for tests of its page.
#pragma once

#include <spex/study/record.h>

#include <cmath>
#include <string>

namespace spex::example {

inline StudyRecord study(const std::string& data = "mines") {
  StudyRecord record;
  record.name = "example";
  record.title = "An example";
  record.place = "Figure 0";
  record.data = data;
  record.command = "spex study example mines --seeds 3";
  record.findings = {{"it rises", "the last is above the first", "1 and 8", true},
                     {"it falls", "the last is below the first", "1 and 8", false}};
  record.table.names = {"edges", "width", "other"};
  record.table.values = {"layer", "value", "low", "high"};
  for (const char* edges : {"graph alone", "with expander"})
    for (const char* width : {"width 4", "width 8"})
      for (int layer = 1; layer <= 3; ++layer)
        record.table.add({edges, width, layer == 1 ? "width 4" : "width 8"},
                         {1.0 * layer, std::exp2(layer), std::exp2(layer) - 0.5,
                          layer == 2 ? std::nan("") : std::exp2(layer) + 0.5});
  StudyFigure lines;
  lines.title = "Values by layer";
  lines.sentence = "Bars are deviations.";
  lines.kind = "lines";
  lines.x = "layer";
  lines.y = "value";
  lines.series = "width";
  lines.panel = "edges";
  lines.low = "low";
  lines.high = "high";
  lines.x_title = "layer";
  lines.y_title = "value, bytes";
  lines.y_unit = "bytes";
  lines.log_y = true;
  StudyFigure bars = lines;
  bars.kind = "bars";
  bars.x = "other";
  bars.y_unit = "";
  bars.log_y = false;
  bars.only = {"edges=graph alone"};
  StudyFigure heat = lines;
  heat.kind = "heat";
  heat.x = "other";
  heat.y = "width";
  heat.value = "value";
  heat.panel = "edges";
  record.figures = {lines, bars, heat};
  record.choices = {"Nothing of note."};
  record.settings = {{"seeds", "3"}};
  record.seconds = 1.5;
  return record;
}

}  // namespace spex::example
