// What cuTensorMapEncodeIm2col answers to each legal limit and to the value beyond it.
#include "im2col_map_rules.hpp"
#include "map_rules.cuh"

int main() {
  record::print_answers(recorded::im2col_map_rows);
}
