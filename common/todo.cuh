// TODO_OPEN("04.2", "sentence") marks a blank of an exercise, in a kernel or in host code. A thread that reaches it ends the
// kernel at once, and the program reports "TODO 04.2 is still open: sentence" with exit code 3. It never hangs, on a GPU or
// on the emulator.
//
// Why not printf and assert: both are external calls, and one external call anywhere in a kernel makes the
// assembler serialise its wgmma (warning C7510). So the message travels by plain stores to host memory, and
// trap ends the kernel.
#pragma once

#include <cstdlib>

#include "host/todo.hpp"

#pragma nv_diag_suppress 177  // "declared but never referenced": a blank leaves variables without their reader
#pragma nv_diag_suppress 550  // "set but never used"

namespace lab {

static __device__ char* todo_message =
    nullptr;  // host memory of kTodoBytes bytes, set before the first launch
static __device__ int todo_claimed = 0;

// In a kernel the first thread writes the message and traps. The others wait for that end: no trap of theirs comes before the
// message is written, and nobody finds a thread gone with which it was to meet.
static __host__ __device__ __forceinline__ void todo_open(const char* text) {
#ifndef __CUDA_ARCH__
  throw TodoOpen(text);
#else
  if (atomicCAS(&todo_claimed, 0, 1) == 0) {
    volatile char* message = todo_message;
    for (int i = 0; i < kTodoBytes - 1 && text[i] != 0; ++i) message[i] = text[i];
    __threadfence_system();
    asm volatile("trap;");
  }
  // It reads memory, so that code behind it stays reachable: ptxas 13.0 crashes on some kernels whose loops have no end.
  while (*static_cast<volatile int*>(&todo_claimed) != 0) asm volatile("nanosleep.u32 1000;");
#endif
}

#ifdef TODO_ONE_AT_A_TIME
// A build for the checks, in which every blank is beside its answer; the environment variable TODO_ONLY says at run time
// which one is open (1 for the first).
static __device__ int todo_only = 0;

static __host__ __device__ __forceinline__ bool todo_is_open(int number) {
#ifdef __CUDA_ARCH__
  return todo_only == number;
#else
  const char* only = std::getenv("TODO_ONLY");
  return only != nullptr && std::atoi(only) == number;
#endif
}
static const TodoRegistration todo_registration(&todo_message, &todo_only);
#else
static const TodoRegistration todo_registration(&todo_message, nullptr);
#endif

}  // namespace lab

#define TODO_OPEN(number, sentence) lab::todo_open("TODO " number " is still open: " sentence)
