// What became of an operation in its async-group: was it committed, and which wait should have covered it?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace emu::check {

// The commits of one kind of group by one thread (wgmma: by one warp), and its latest wait.
struct GroupLog {
  std::vector<uint32_t> commits;  // operations issued at the latest commits
  uint32_t committed = 0;         // commits so far
  uint32_t wait_n = 0;            // the latest wait_group: how many it leaves pending, where, and
  int32_t wait_source = -1;
  uint32_t wait_committed = 0;  // after how many commits

  void commit(uint32_t issued, size_t longest_wait);
  void wait(uint32_t n, int32_t source);
};

struct GroupStory {
  enum class Kind : uint8_t {
    never_committed,
    never_waited,    // committed, and no wait_group since the thread began
    committed_late,  // after the wait
    too_many,        // the wait leaves it pending
    waited,          // by its thread; others have not heard of it
    not_met,         // whatever it waited for: others have not met it since
  };
  Kind kind = Kind::waited;
  uint32_t newest = 0;   // too_many: 1 for the newest group at the wait, 2 for the one before ...
  uint32_t pending = 0;  // too_many: groups that the wait leaves
  uint32_t empty = 0;    // too_many: of those, groups in which nothing was committed
  int32_t wait_source = -1;

  // operation: which one of those that the thread has issued; done: those that its waits have covered.
  static GroupStory of(const GroupLog& log, uint32_t operation, uint32_t done);

  // What happened, "the copy was never committed to a group"; and what to do. family: "cp.async", "cp.async.bulk", "wgmma".
  std::string cause(const std::string& operation) const;
  std::string cure(const std::string& family) const;
};

}  // namespace emu::check
