// Tensor maps with names, each made of a good one by a change: what the answers of a driver are recorded for.
#pragma once

#include <string>
#include <vector>

#include "rules/tensor_map.hpp"

namespace recorded {

using Map = rules::TensorMapArguments;

struct MapRow {
  std::string name;
  Map map;
};

class MapRows {
 public:
  explicit MapRows(const Map& good) : good_(good) { rows.push_back({"as it should be", good}); }
  template <class Change>
  void probe(const std::string& name, Change change) {
    rows.push_back({name, good_});
    change(rows.back().map);
  }
  std::vector<MapRow> rows;

 private:
  Map good_;
};

}  // namespace recorded
