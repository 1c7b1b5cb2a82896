#include "support/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace check {
namespace {

constexpr int kCannotStart = 127;

[[noreturn]] void become(const std::vector<std::string>& command,
                         const std::map<std::string, std::string>& environment, int cpu_s, int out) {
  setpgid(0, 0);
  rlimit cpu = {};
  getrlimit(RLIMIT_CPU, &cpu);  // which a caller may have made lower
  cpu.rlim_cur = std::min(cpu.rlim_max, static_cast<rlim_t>(cpu_s));
  setrlimit(RLIMIT_CPU, &cpu);
  const rlimit none = {};
  setrlimit(RLIMIT_CORE, &none);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  dprintf(STDERR_FILENO, "cannot start %s: %s\n", arguments[0], std::strerror(errno));
  _exit(kCannotStart);
}

// Reads until the pipe closes or the time is over. Returns false in the latter case.
bool read_all(int from, std::chrono::steady_clock::time_point deadline, std::string& text) {
  char buffer[4096];
  for (;;) {
    const auto left = deadline - std::chrono::steady_clock::now();
    const auto left_ms = std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
    if (left_ms <= 0) return false;
    pollfd ready = {from, POLLIN, 0};
    const int count = poll(&ready, 1, static_cast<int>(left_ms));
    if (count < 0 && errno != EINTR) throw std::runtime_error(std::string("poll: ") + std::strerror(errno));
    if (count <= 0) continue;
    const ssize_t bytes = read(from, buffer, sizeof buffer);
    if (bytes == 0) return true;
    if (bytes > 0) text.append(buffer, static_cast<size_t>(bytes));
  }
}

}  // namespace

Outcome run(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment,
            Limits limits) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (child == 0) become(command, environment, limits.cpu_s, ends[1]);
  close(ends[1]);

  Outcome outcome;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(limits.wall_s);
  outcome.stalled = !read_all(ends[0], deadline, outcome.output);
  close(ends[0]);
  if (outcome.stalled) {
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.timed_out = WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU;
  if (outcome.exit_code == kCannotStart) throw std::runtime_error(outcome.output);
  return outcome;
}

}  // namespace check
