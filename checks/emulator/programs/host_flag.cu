// A kernel that waits for the host: launches run beside it. Words in pinned memory go back and forth.
#include "program.cuh"

constexpr int kRounds = 5;

// words[0]: the host's turn number, words[1]: the kernel's, words[2]: what it has added up
__global__ void answer(volatile int* words) {
  int sum = 0;
  for (int round = 1; round <= kRounds; ++round) {
    while (words[0] < round) {
    }
    sum += words[3];
    words[2] = sum;
    __threadfence_system();
    words[1] = round;
  }
}

int main() {
  volatile int* words = nullptr;
  OK(cudaMallocHost(const_cast<int**>(&words), 4 * sizeof(int)));
  for (int i = 0; i < 4; ++i) words[i] = 0;
  answer<<<1, 1>>>(words);
  OK(cudaGetLastError());
  int want = 0;
  for (int round = 1; round <= kRounds; ++round) {
    words[3] = 10 * round;
    want += 10 * round;
    __sync_synchronize();
    words[0] = round;
    while (words[1] < round) {
    }
    expect("sum", round, words[2], want);
  }
  return finish("host_flag");
}
