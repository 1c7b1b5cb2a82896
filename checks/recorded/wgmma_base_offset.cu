// What the base offset of a matrix descriptor does to the swizzle.
#include "wgmma_places.cuh"

int main() {
  const int kB32 = 3, kB64 = 2, kB128 = 1;
  std::vector<Case> cases;
  for (bool a : {true, false}) {
    for (int base = 1; base < 8; ++base)
      cases.push_back({"K-major 128B, start aligned", a, 0, kB128, 0, 16, 1024, base});
    for (int base : {1, 3, 4, 7})
      cases.push_back({"K-major 128B, start at that line", a, 0, kB128, base * 128, 16, 1024, base});
    cases.push_back({"K-major 128B, start at line 3, second k step", a, 0, kB128, 3 * 128 + 32, 16, 1024, 3});
    for (int base : {1, 2, 3, 5}) cases.push_back({"K-major 64B", a, 0, kB64, 0, 16, 512, base});
    for (int base : {1, 3})
      cases.push_back({"K-major 64B, start at that line", a, 0, kB64, base * 128, 16, 512, base});
    for (int base : {1, 2, 7}) cases.push_back({"K-major 32B", a, 0, kB32, 0, 16, 256, base});
    cases.push_back({"K-major 32B, start at that line", a, 0, kB32, 128, 16, 256, 1});
    cases.push_back({"K-major none", a, 0, 0, 0, 128, 256, 3});
    for (int base : {1, 6}) cases.push_back({"MN-major 128B", a, 1, kB128, 0, 4096, 1024, base});
    cases.push_back({"MN-major 128B, start at that line", a, 1, kB128, 2 * 128, 4096, 1024, 2});
  }
  print_places(cases);
  return 0;
}
