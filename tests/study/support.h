// A request that every study can answer in a moment.
#pragma once

#include <spex/data/generators.h>
#include <spex/model/spexphormer.h>
#include <spex/study/study.h>

#include "folder.h"

namespace spex::testing_support {

inline StudyRequest quick_request(const std::filesystem::path& out) {
  MinesweeperOptions mines;
  mines.rows = mines.columns = 12;
  StudyRequest request;
  request.data = generate_minesweeper(mines);
  request.config.data = "minesweeper";
  request.config.threads = 2;
  for (const char* setting :
       {"expander.degree=6", "estimator.epochs=2", "estimator.width=4", "spexphormer.epochs=2",
        "spexphormer.width=8", "spexphormer.heads=1", "spexphormer.degrees=[3,3]"})
    apply_setting(request.config, setting);
  request.seeds = 2;
  request.widths = {4, 8};
  request.nodes = 12'800;
  request.out = out;
  return request;
}

}  // namespace spex::testing_support
