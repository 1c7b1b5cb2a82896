// What cuTensorMapEncodeTiled answers to each legal limit and to the value beyond it.
#include "map_rules.cuh"
#include "tensor_map_rules.hpp"

int main() {
  record::print_answers(recorded::tensor_map_rows);
}
