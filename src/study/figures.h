// Figures that several studies draw in the same way.
#pragma once

#include <spex/study/record.h>

namespace spex {

// The same figure over other columns.
inline StudyFigure by_size(StudyFigure figure, const std::string& x, const std::string& x_title,
                           const std::string& y, const std::string& y_title,
                           const std::string& y_unit) {
  figure.title = y_title.substr(0, y_title.find(',')) + " by " + x_title;
  figure.title[0] = static_cast<char>(std::toupper(figure.title[0]));
  figure.sentence.clear();
  figure.x = x;
  figure.x_title = x_title;
  figure.x_unit.clear();
  figure.y = y;
  figure.y_title = y_title;
  figure.y_unit = y_unit;
  return figure;
}

}  // namespace spex
