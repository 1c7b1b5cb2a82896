// Every id a finding can have: what it means, the rule it enforces, and where the manual states that rule.
// checks/scripts/findings.py writes FINDINGS.md from this table and holds it to the ids that the sources use.
#pragma once

#include <vector>

namespace emu {

struct FindingId {
  const char* id;       // stable
  const char* group;    // heading under which it is listed
  const char* meaning;  // one sentence: what the emulator saw
  const char* rule;     // one sentence: what must hold
  const char* source;   // section of the PTX ISA, instruction or call; "PTX ISA" unless it says otherwise
};

const std::vector<FindingId>& finding_ids();

}  // namespace emu
