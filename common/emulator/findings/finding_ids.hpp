// Every id a finding can have: what it means, the rule it enforces, and where the manual states that rule. The table is
// used by the program itself: a Finding is made from an Id, and FINDINGS.md is written from the table (findings_page).
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace emu {

// clang-format off
enum class Id : uint8_t {
  // Who may touch which bytes, and when
  read_before_landed, overwritten_while_landing, overwritten_while_read, source_reused_before_read,
  read_before_stored, missing_proxy_fence, proxy_fence_by_reader, data_race, uninitialised_read,
  exit_before_drain,
  // mbarriers
  deadlock, wrong_parity, tx_count_mismatch, tx_count_range, arrival_count, arrive_scope,
  barrier_not_initialised, barrier_reinitialised, missing_init_fence, barrier_elsewhere,
  barrier_state,
  // Tiles, tensor maps and copies
  swizzle_mismatch, misaligned_tile, tensor_map_invalid, tensor_map_unchecked,
  missing_tensormap_fence, map_edited_in_flight, misaligned_box, store_before_tensor, pixel_outside_box, im2col_offset,
  copy_size, multicast_mask,
  // The tensor core
  accumulator_in_flight, missing_wgmma_fence, wgmma_not_converged, wgmma_descriptor_differs,
  descriptor_unused_bits, operand_mismatch,
  // Threads, warps, CTAs and clusters
  barrier_count, barrier_arrived_twice, barrier_wait_without_arrive, barrier_operand,
  warp_sync_mask, warp_not_converged, register_count, missing_grid_wait, cluster_entry,
  cluster_exit, cluster_rank,
  // Addresses
  out_of_bounds, use_after_free, misaligned_address, not_shared_memory, write_to_constant, stack_overflow,
  bad_free, bad_function_pointer, branch_index,
  // The program and how it is run
  failed_assert, trap, endless_loop, time_limit, launch_configuration, unsupported_instruction,
  ptx_syntax, module_variable, fat_binary, ptx_file, bad_environment,
  none,  // no finding: the end of the table
};
// clang-format on

// Which findings are errors. A program of the workbook's lessons declares itself one; EMU_STRICT=1 asks for the most.
enum class Grade : uint8_t { error, error_in_lessons, advice };

struct FindingId {
  Id id;
  const char* name;     // stable: "read-before-landed"
  const char* group;    // heading under which it is listed
  const char* meaning;  // one sentence: what the emulator saw
  const char* rule;     // one sentence: what must hold
  const char* section;  // of the PTX ISA where it begins with a digit, else of what it names
  Grade grade = Grade::error;
  Grade milder = Grade::error;  // in the case that `milder_when` names
  const char* milder_when = nullptr;
};

constexpr size_t kFindingIds = static_cast<size_t>(Id::none);

const FindingId& row_of(Id id);  // not for Id::none
const char* name_of(Id id);      // "none" for Id::none
std::string section_of(Id id);   // "PTX ISA 9.7.13.4: fence.proxy.async"
std::string findings_page();     // FINDINGS.md

inline bool operator==(Id id, const char* name) {
  return std::string(name_of(id)) == name;
}
inline bool operator!=(Id id, const char* name) {
  return !(id == name);
}
std::ostream& operator<<(std::ostream& out, Id id);

}  // namespace emu
