// What cuTensorMapEncodeTiled answers to each legal limit and to the value beyond it.
#include "tensor_map_rules.hpp"
#include "map_rules.cuh"

int main() {
  record::print_answers(recorded::tensor_map_rows);
}
