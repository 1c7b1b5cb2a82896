#include "emulator/checker/groups.hpp"

#include "emulator/findings/text.hpp"

namespace emu::check {

namespace {

std::string nth_newest(uint32_t n) {
  return n == 1   ? "the newest"
         : n == 2 ? "the 2nd newest"
         : n == 3 ? "the 3rd newest"
                  : text("the ", n, "th newest");
}

}  // namespace

// A wait looks no further back than the longest one of the program.
void GroupLog::commit(uint32_t issued, size_t longest_wait) {
  if (commits.size() > 2 * longest_wait + 64)
    commits.erase(commits.begin(), commits.end() - static_cast<std::ptrdiff_t>(longest_wait + 1));
  commits.push_back(issued);
  ++committed;
}

void GroupLog::wait(uint32_t n, int32_t source) {
  wait_n = n;
  wait_source = source;
  wait_committed = committed;
}

GroupStory GroupStory::of(const GroupLog& log, uint32_t operation, uint32_t done) {
  GroupStory s;
  s.wait_source = log.wait_source;
  if (operation <= done) return s;
  size_t group = 0;
  while (group < log.commits.size() && log.commits[group] < operation) ++group;
  if (group == log.commits.size()) {
    s.kind = Kind::never_committed;
    return s;
  }
  const uint32_t number = log.committed - static_cast<uint32_t>(log.commits.size() - group);  // from 0
  if (log.wait_source < 0) {
    s.kind = Kind::never_waited;
  } else if (log.wait_committed <= number) {
    s.kind = Kind::committed_late;
  } else {
    s.kind = Kind::too_many;
    s.newest = log.wait_committed - number;
    s.pending = log.wait_n;
    for (size_t i = group + 1; i < group + s.newest && i < log.commits.size(); ++i)
      s.empty += log.commits[i] == log.commits[i - 1];
  }
  return s;
}

std::string GroupStory::cause(const std::string& operation) const {
  switch (kind) {
    case Kind::never_committed:
      return text(operation, " was never committed to a group");
    case Kind::never_waited:
      return text("no wait_group of its thread came after ", operation);
    case Kind::committed_late:
      return text(operation, " was committed after the wait that should cover it");
    case Kind::too_many:
      return text("the wait leaves ", pending, pending == 1 ? " group" : " groups", " pending, and ",
                  operation, " is in ", nth_newest(newest));
    case Kind::not_met:
      return text("there was no barrier since ", operation, " was issued, to tell others of its end");
    case Kind::waited:
      return text("its thread has waited for ", operation, ", and there was no barrier since to tell others");
  }
  return "";
}

std::string GroupStory::cure(const std::string& family) const {
  const std::string prefix = family + ".";
  switch (kind) {
    case Kind::never_committed:
      return text(prefix, "commit_group behind it, then ", prefix,
                  "wait_group (waits see committed groups only)");
    case Kind::never_waited:
      return text(
          prefix,
          "wait_group with few enough groups pending, in the thread that committed it, then a barrier for the others");
    case Kind::committed_late:
      return text("put ", prefix, "commit_group in front of the wait");
    case Kind::too_many:
      return text(
          "leave at most ", newest - 1, " pending here",
          family == "cp.async"
              ? ", or commit a group for every tile, an empty one where there is nothing left to copy"
          : family == "wgmma" && newest == 1
              ? ", or refill another stage: the newest product reads this one (are too many tiles copied in front of "
                "the loop?)"
              : "");
    case Kind::not_met:
    case Kind::waited:
      return "wait for the group in its thread, then a barrier (__syncthreads, or __syncwarp inside a warp), then this access";
  }
  return "";
}

}  // namespace emu::check
