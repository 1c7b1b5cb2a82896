// Where a wgmma finds its operands: for every swizzle mode and both majors, the byte offset of each element.
#include "wgmma_places.cuh"

int main() {
  const int kB32 = 3, kB64 = 2, kB128 = 1;
  std::vector<Case> cases;
  for (bool a : {true, false}) {
    // dense tiles as a copy engine leaves them, then tiles with gaps
    cases.push_back({"K-major none", a, 0, 0, 0, 128, 256, 0});
    cases.push_back({"K-major none, gaps", a, 0, 0, 0, 8192, 272, 0});
    cases.push_back({"K-major 32B", a, 0, kB32, 0, 16, 256, 0});
    cases.push_back({"K-major 32B, gaps", a, 0, kB32, 0, 16, 768, 0});
    cases.push_back({"K-major 64B", a, 0, kB64, 0, 16, 512, 0});
    cases.push_back({"K-major 64B, gaps", a, 0, kB64, 0, 0, 1536, 0});
    cases.push_back({"K-major 128B", a, 0, kB128, 0, 16, 1024, 0});
    cases.push_back({"K-major 128B, gaps", a, 0, kB128, 0, 48, 2048, 0});
    cases.push_back({"K-major 64B, second k step", a, 0, kB64, 32, 16, 512, 0});
    cases.push_back({"K-major 128B, second k step", a, 0, kB128, 32, 16, 1024, 0});
    cases.push_back({"K-major 128B, third k step", a, 0, kB128, 64, 16, 1024, 0});
    cases.push_back({"K-major 128B, fourth k step", a, 0, kB128, 96, 16, 1024, 0});
    cases.push_back({"K-major 128B, k offset of 8", a, 0, kB128, 16, 16, 1024, 0});
    cases.push_back({"K-major 32B, start only 128-aligned", a, 0, kB32, 128, 16, 256, 0});
    cases.push_back({"K-major 64B, start only 128-aligned", a, 0, kB64, 128, 16, 512, 0});
    cases.push_back({"K-major 128B, start only 128-aligned", a, 0, kB128, 128, 16, 1024, 0});
    cases.push_back({"K-major 128B, start at line 5, second k step", a, 0, kB128, 5 * 128 + 32, 16, 1024, 0});
    cases.push_back({"K-major 128B, groups of rows only 128-aligned", a, 0, kB128, 0, 16, 1152, 0});
    cases.push_back({"MN-major none", a, 1, 0, 0, 2048, 128, 0});
    cases.push_back({"MN-major none, gaps", a, 1, 0, 0, 16384, 400, 0});
    cases.push_back({"MN-major 32B", a, 1, kB32, 0, 4096, 256, 0});
    cases.push_back({"MN-major 32B, gaps", a, 1, kB32, 0, 1280, 512, 0});
    cases.push_back({"MN-major 64B", a, 1, kB64, 0, 4096, 512, 0});
    cases.push_back({"MN-major 64B, gaps", a, 1, kB64, 0, 1536, 5120, 0});
    cases.push_back({"MN-major 128B", a, 1, kB128, 0, 4096, 1024, 0});
    cases.push_back({"MN-major 128B, gaps", a, 1, kB128, 0, 8192, 3072, 0});
    cases.push_back({"MN-major 128B, start only 128-aligned", a, 1, kB128, 128, 4096, 1024, 0});
  }
  print_places(cases);
  return 0;
}
