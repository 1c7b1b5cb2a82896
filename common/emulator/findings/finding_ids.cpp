#include "emulator/findings/finding_ids.hpp"

#include <iterator>
#include <ostream>

#include "emulator/findings/text.hpp"

namespace emu {
namespace {

constexpr const char *kOrder = "Who may touch which bytes, and when", *kBarrier = "mbarriers",
                     *kTiles = "Tiles, tensor maps and copies", *kTensorCore = "The tensor core",
                     *kThreads = "Threads, warps, CTAs and clusters", *kMemory = "Addresses",
                     *kProgram = "The program and how it is run";

// clang-format off
constexpr FindingId kTable[] = {
    {Id::read_before_landed, "read-before-landed", kOrder,
     "bytes are read while a copy to them may still be in flight",
     "a load is complete for a thread that has seen the phase of its mbarrier complete (or waited for its "
     "cp.async group), and for those it has synchronised with since",
     "8.9.1.1, 9.7.9.25.2: async operations; mbarrier.try_wait, cp.async.wait_group"},
    {Id::overwritten_while_landing, "overwritten-while-landing", kOrder,
     "bytes are written while a copy to them may still be in flight",
     "the destination of a copy belongs to the copy until it is complete",
     "9.7.9.25.2"},
    {Id::overwritten_while_read, "overwritten-while-read", kOrder,
     "bytes are written, by a thread or by a copy, while somebody who still reads them is not done",
     "a stage may be filled again only by who has acquired the release of each of its readers; wgmma reads "
     "until wgmma.wait_group",
     "8, memory consistency; 9.7.15.7: wgmma.wait_group", Grade::error, Grade::error_in_lessons,
     "one lane of the warp that reads has told of it, with no __syncwarp between the reads and that"},
    {Id::source_reused_before_read, "source-reused-before-read", kOrder,
     "shared memory is written while a bulk store may still read it",
     "the source of a bulk store may change after cp.async.bulk.wait_group(.read) in the thread that "
     "committed it",
     "9.7.9.25.3: cp.async.bulk.wait_group"},
    {Id::read_before_stored, "read-before-stored", kOrder,
     "global memory is read or written while a bulk store to it may still be in flight",
     "a bulk store is complete after cp.async.bulk.wait_group without .read; others see it through a "
     "synchronisation that follows",
     "9.7.9.25.3: cp.async.bulk.wait_group"},
    {Id::missing_proxy_fence, "missing-proxy-fence", kOrder,
     "the async proxy (copy engine, wgmma) reads what threads wrote with nothing to make it visible there",
     "writes of the generic proxy reach the async proxy through fence.proxy.async, executed after them and "
     "before the synchronisation that hands them over",
     "9.7.13.4: fence.proxy.async"},
    {Id::proxy_fence_by_reader, "proxy-fence-by-reader", kOrder,
     "the proxy fence is executed by the thread that issues the operation, not by those that wrote",
     "the manual orders a thread's own writes by its own fence; working code relies on more",
     "9.7.13.4: fence.proxy.async", Grade::advice, Grade::advice},
    {Id::data_race, "data-race", kOrder,
     "two threads use the same bytes, one of them writes, and nothing orders them",
     "conflicting accesses are ordered by synchronisation: barriers, mbarriers, fences with flags",
     "8, memory consistency model", Grade::error, Grade::error_in_lessons,
     "a relaxed atomic that no fence follows has handed the bytes over, one lane has told of the reads of its warp, several warps "
     "store the same value, an ordinary load of global memory meets atomics, an ordinary store sets a flag that others poll, or the lanes of one "
     "instruction initialise an mbarrier alike"},
    {Id::uninitialised_read, "uninitialised-read", kOrder,
     "bytes of shared memory are used that nobody has written",
     "shared memory and registers have no defined value before they are written",
     "5.1.1, 5.1.7", Grade::error, Grade::advice,
     "a copy or wgmma reads them, or it is a register that nothing has set and whose value matters"},
    {Id::exit_before_drain, "exit-before-drain", kOrder,
     "a thread or CTA ends while an operation that it issued still uses shared memory or registers",
     "bulk stores must have read their source (wait_group.read), copies must have landed and wgmma groups "
     "must be waited for before the CTA ends",
     "9.7.9.25.3, 9.7.15.7", Grade::error, Grade::error_in_lessons,
     "a thread's own bulk store still reads (an H200 waits for it; the manual does not promise it)"},

    {Id::deadlock, "deadlock", kBarrier,
     "no thread can go on, and nothing in flight will change that",
     "every wait needs somebody who is still there to complete it: all arrivals and all announced bytes",
     "9.7.13.15: mbarrier; 9.7.13.1: bar"},
    {Id::wrong_parity, "wrong-parity", kBarrier,
     "a wait asks for a parity that makes it pass, or block, at the wrong phase",
     "a wait names the parity of the phase it waits for; the parity turns over once a phase",
     "9.7.13.15.16: mbarrier.test_wait, try_wait"},
    {Id::tx_count_mismatch, "tx-count-mismatch", kBarrier,
     "the bytes announced for a phase are not the bytes that its copies bring",
     "expect_tx announces exactly what lands: the whole box, clipped or not",
     "9.7.13.15.2: tx-count; mbarrier.expect_tx"},
    {Id::tx_count_range, "tx-count-range", kBarrier,
     "more bytes are outstanding than a transaction count can hold",
     "a tx-count lies between -1048575 and 1048575",
     "9.7.13.15.2"},
    {Id::arrival_count, "arrival-count", kBarrier,
     "an mbarrier is given an impossible count, or more arrivals than a phase has left",
     "a phase takes exactly as many arrivals as mbarrier.init (less arrive_drop) says: 1 to 1048575",
     "9.7.13.15: mbarrier.init, mbarrier.arrive"},
    {Id::arrive_scope, "arrive-scope", kBarrier,
     "an arrive in another CTA hands over writes with a release for its own CTA only",
     "the scope of a release covers those it hands over to: .cluster for another CTA",
     "9.7.13.15.13: mbarrier.arrive; 8.5, scope"},
    {Id::barrier_not_initialised, "barrier-not-initialised", kBarrier,
     "an mbarrier operation meets memory that is no mbarrier, or one that was invalidated",
     "mbarrier.init comes before every other use, ordered by a barrier for other threads",
     "9.7.13.15.9", Grade::error, Grade::advice,
     "mbarrier.inval meets one that was invalidated"},
    {Id::barrier_reinitialised, "barrier-reinitialised", kBarrier,
     "mbarrier.init on an mbarrier that is alive",
     "mbarrier.inval comes before the memory gets another use; with threads waiting or copies under way it "
     "is an error, else advice",
     "9.7.13.15.9, 9.7.13.15.10: mbarrier.init, mbarrier.inval", Grade::error, Grade::advice,
     "no arrival and no byte of its phase is outstanding"},
    {Id::missing_init_fence, "missing-init-fence", kBarrier,
     "a copy or another CTA may use an mbarrier whose initialisation was not published",
     "fence.mbarrier_init.release.cluster (or a proxy fence, for the CTA's own copies) follows the "
     "initialisation, then a barrier",
     "9.7.13.4: fence.mbarrier_init"},
    {Id::barrier_elsewhere, "barrier-elsewhere", kBarrier,
     "an mbarrier lies in another CTA than the form of the instruction allows",
     "forms with .shared::cta take addresses of the executing CTA; a copy completes on an mbarrier beside "
     "its destination",
     "9.7.13.15, 9.7.9.25.4.1"},
    {Id::barrier_state, "barrier-state", kBarrier,
     "an mbarrier state is used that the instruction cannot have",
     "a remote arrive gives no state; pending_count takes the state of a .noComplete arrive",
     "9.7.13.15.13, 9.7.13.15.15"},

    {Id::swizzle_mismatch, "swizzle-mismatch", kTiles,
     "a tile was written with one swizzle and is read with another",
     "the swizzle of the tensor map is the swizzle of whoever reads the tile",
     "5.5.6, 9.7.15.5.1.2"},
    {Id::misaligned_tile, "misaligned-tile", kTiles,
     "a tile does not start where its copy, or its reader's swizzle pattern, needs it",
     "128 bytes for any tensor copy (an error); 256, 512 or 1024, the period of the swizzle, for readers "
     "that count rows from the tile's start (advice)",
     "5.5.6, 9.7.9.27.1.2", Grade::error, Grade::advice,
     "the tile starts at a multiple of 128, but not of its pattern"},
    {Id::tensor_map_invalid, "tensor-map-invalid", kTiles,
     "a tensor copy meets bytes that are no tensor map, a map it cannot use, or a map in the wrong memory",
     "a map is encoded on the host, 64-byte aligned, in param, const or global memory, with the rank, the mode "
     "(tile or im2col) and the element type that the instruction needs",
     "9.7.9.27.1.2; cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col of the driver"},
    {Id::tensor_map_unchecked, "tensor-map-unchecked", kTiles,
     "a tensor map is encoded with values that the driver accepts although the manual rules them out, or that are hardly "
     "meant: a box that no CTA can hold, strides that make elements overlap",
     "the rules of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col that they do not check themselves",
     "cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col of the driver", Grade::advice},
    {Id::missing_tensormap_fence, "missing-tensormap-fence", kTiles,
     "a copy uses a tensor map that a thread has changed in memory, with nothing to make the change "
     "visible to it",
     "tensormap.replace or stores, fence.proxy.tensormap::generic.release, synchronisation, and the "
     "acquire form in who issues the copy",
     "9.7.13.4: fence.proxy.tensormap", Grade::error, Grade::advice,
     "the map was there before the launch"},
    {Id::map_edited_in_flight, "map-edited-in-flight", kTiles,
     "a tensor map is changed while a copy that uses it is under way",
     "a map stays as it is until every copy that was issued with it is complete",
     "9.7.13.4, 5.5.8"},
    {Id::misaligned_box, "misaligned-box", kTiles,
     "a box starts at a byte of its row that is no multiple of 16",
     "the address of a box is a multiple of 16 bytes",
     "5.5.3.1; measured"},
    {Id::store_before_tensor, "store-before-tensor", kTiles,
     "a tensor store or reduction starts at a negative coordinate",
     "a store may leave the tensor at the end of a dimension only",
     "measured"},
    {Id::pixel_outside_box, "pixel-outside-box", kTiles,
     "a copy in im2col mode starts at a pixel outside its map's box, or the box of a store or reduction leaves the tensor",
     "the coordinates without the offsets name a pixel between the map's corners; what is written lies in the tensor",
     "5.5.4.1; measured"},
    {Id::im2col_offset, "im2col-offset", kTiles,
     "an offset of im2col mode has more bits than the copy engine takes",
     "an offset is below 65536 at rank 3, 256 at rank 4, 32 at rank 5; the hardware takes others and says nothing",
     "5.5.4.1; measured"},
    {Id::copy_size, "copy-size", kTiles,
     "a bulk copy has a size that is no multiple of 16 bytes",
     "the size of cp.async.bulk is a multiple of 16; the hardware moves whole 16 bytes and says nothing",
     "9.7.9.25.4.1; measured"},
    {Id::multicast_mask, "multicast-mask", kTiles,
     "a multicast names no CTA, or one that the cluster does not have",
     "bit i of the mask names the CTA of rank i",
     "9.7.9.25.4.1: .multicast::cluster"},

    {Id::accumulator_in_flight, "accumulator-in-flight", kTensorCore,
     "registers of a wgmma are read or written before wgmma.wait_group",
     "accumulators, and A where it comes from registers, belong to the tensor core until the wait",
     "9.7.15.7: wgmma.wait_group"},
    {Id::missing_wgmma_fence, "missing-wgmma-fence", kTensorCore,
     "registers that were written, or accumulators in flight of another shape, are used by wgmma with no "
     "wgmma.fence between",
     "wgmma.fence comes before the first wgmma and wherever registers were touched; not between wgmmas of "
     "one shape on the same accumulators",
     "9.7.15.7.1: wgmma.fence"},
    {Id::wgmma_not_converged, "wgmma-not-converged", kTensorCore,
     "not all threads of a warpgroup execute a wgmma instruction",
     "the .sync.aligned instructions are executed by all threads of a warpgroup together",
     "9.7.15.5"},
    {Id::wgmma_descriptor_differs, "wgmma-descriptor-differs", kTensorCore,
     "a matrix descriptor, or another operand, differs between threads of a warpgroup",
     "all threads of a warpgroup pass the same",
     "9.7.15.5.1.2"},
    {Id::descriptor_unused_bits, "descriptor-unused-bits", kTensorCore,
     "a matrix descriptor has bits set that belong to no field",
     "each field has its place: address, leading and stride offset in units of 16 bytes, 14 bits each",
     "9.7.15.5.1.2.2"},
    {Id::operand_mismatch, "operand-mismatch", kTensorCore,
     "a matrix descriptor leads from one tile into another, to the same bytes twice, or to rows and K columns that do not belong "
     "together",
     "a descriptor's start and offsets, and N, stay inside of a tile; for each k of the product there is one K column, the same in "
     "all rows of A and of B",
     "9.7.15.5.1: matrix descriptors, leading and stride offset", Grade::error_in_lessons, Grade::error_in_lessons},

    {Id::barrier_count, "barrier-count", kThreads,
     "a barrier is used with two different thread counts at once",
     "all who meet at a barrier name the same count",
     "9.7.13.1: bar, barrier"},
    {Id::barrier_arrived_twice, "barrier-arrived-twice", kThreads,
     "a thread arrives again before the barrier has completed",
     "each arrive has its wait",
     "9.7.13.1, 9.7.13.3: bar, barrier.cluster"},
    {Id::barrier_wait_without_arrive, "barrier-wait-without-arrive", kThreads,
     "barrier.cluster.wait by a thread that has not arrived",
     "each barrier.cluster.wait follows an arrive of its thread",
     "9.7.13.3: barrier.cluster"},
    {Id::barrier_operand, "barrier-operand", kThreads,
     "a barrier operand is out of range or differs between lanes",
     "barriers are numbered 0 to 15, counts are multiples of the warp's 32",
     "9.7.13.1"},
    {Id::warp_sync_mask, "warp-sync-mask", kThreads,
     "a lane executes a .sync instruction whose member mask leaves it out",
     "the mask names exactly the lanes that execute the instruction",
     "9.7.9.6, 9.7.13.2"},
    {Id::warp_not_converged, "warp-not-converged", kThreads,
     "a matrix instruction is executed by a part of a warp",
     "ldmatrix, stmatrix and mma are executed by whole warps",
     "9.7.14.5"},
    {Id::register_count, "register-count", kThreads,
     "setmaxnreg.dec names more registers than a warp has",
     "setmaxnreg.dec lowers the registers of a thread to the number that it names",
     "9.7.19.5: setmaxnreg"},
    {Id::missing_grid_wait, "missing-grid-wait", kThreads,
     "a thread or copy uses what the grid in front writes, or writes what that one reads, without "
     "griddepcontrol.wait",
     "a grid that was launched to start early, after one that executes griddepcontrol.launch_dependents, "
     "sees the writes of that one, and comes after its reads, only behind griddepcontrol.wait",
     "9.7.13.14: griddepcontrol"},
    {Id::cluster_entry, "cluster-entry", kThreads,
     "a thread or copy uses the shared memory of another CTA of its cluster, which may not have begun",
     "the shared memory of a CTA may be used from when its threads have begun: a cluster barrier first, relaxed or not",
     "5.1.7; 9.7.13.3: barrier.cluster"},
    {Id::cluster_exit, "cluster-exit", kThreads,
     "the shared memory of a CTA that has ended is used by another CTA or a copy",
     "a CTA stays until the last access of its cluster to its memory: barrier.cluster before the end",
     "9.7.13.3"},
    {Id::cluster_rank, "cluster-rank", kThreads,
     "a rank is named that the cluster does not have",
     "ranks go from 0 to %cluster_nctarank - 1",
     "9.7.9.24: mapa"},

    {Id::out_of_bounds, "out-of-bounds", kMemory,
     "an access outside of any allocation, or of the CTA's shared memory",
     "every access lies inside one variable, allocation or the shared memory that the launch asked for",
     "5.1"},
    {Id::use_after_free, "use-after-free", kMemory,
     "an access to memory that has been freed, or a copy with a tensor map of memory that has been",
     "memory is freed when the last launch that uses it is done; a tensor map is encoded anew for other memory, at the same address "
     "too",
     "CUDA C++ guide, device memory; cuTensorMapEncodeTiled", Grade::error, Grade::error_in_lessons,
     "the memory of a map has been given out again, and nothing in the launch says that it is another's"},
    {Id::misaligned_address, "misaligned-address", kMemory,
     "an address is no multiple of what the instruction needs",
     "the size of the access; 16 bytes for bulk copies; 8 for mbarriers",
     "9.7.9, 9.7.9.25.4.1"},
    {Id::not_shared_memory, "not-shared-memory", kMemory,
     "an instruction for shared memory gets a generic address that is elsewhere",
     "the address lies in the window of shared memory",
     "5.1.7"},
    {Id::write_to_constant, "write-to-constant", kMemory,
     "a thread or a copy writes to __constant__ memory",
     "constant memory is read-only for kernels",
     "5.1.3"},
    {Id::stack_overflow, "stack-overflow", kMemory,
     "calls are nested too deep, or local memory is used up",
     "recursion ends; cudaLimitStackSize bounds the stack",
     "cudaDeviceSetLimit"},
    {Id::bad_free, "bad-free", kMemory,
     "free() of something that malloc() did not return on the device",
     "device-side free takes what device-side malloc gave",
     "CUDA C++ guide, dynamic allocation"},
    {Id::bad_function_pointer, "bad-function-pointer", kMemory,
     "a call through a pointer that is no function of the program",
     "indirect calls go to functions of the same module",
     "9.7.12: call"},
    {Id::branch_index, "branch-index", kMemory,
     "an indexed branch with an index outside of its list",
     "the index lies in the list of targets",
     "9.7.12: brx.idx"},

    {Id::failed_assert, "assert", kProgram,
     "a device-side assert failed",
     "the asserted condition holds",
     "assert()"},
    {Id::trap, "trap", kProgram,
     "the kernel executed trap",
     "whoever wrote the trap says what must hold",
     "9.7.19: trap"},
    {Id::endless_loop, "endless-loop", kProgram,
     "a loop never ends: nothing that it reads can change any more",
     "whoever ends the loop is still there and can run",
     "the emulator"},
    {Id::time_limit, "time-limit", kProgram,
     "the kernel did not end within EMU_TIME_LIMIT",
     "a kernel ends",
     "the emulator"},
    {Id::launch_configuration, "launch-configuration", kProgram,
     "a grid, block, cluster or amount of shared memory is impossible",
     "the limits of compute capability 9.0 and of the kernel's attributes",
     "CUDA C++ guide, compute capabilities"},
    {Id::unsupported_instruction, "unsupported-instruction", kProgram,
     "the PTX has an instruction or modifier that is not executed here",
     "nothing is skipped: what is not supported is refused before it runs",
     "the emulator"},
    {Id::ptx_syntax, "ptx-syntax", kProgram,
     "the PTX cannot be read",
     "the PTX is what nvcc wrote",
     "4, syntax"},
    {Id::module_variable, "module-variable", kProgram,
     "a variable of the module cannot be placed or initialised",
     "addresses and sizes in initialisers are known",
     "5.4"},
    {Id::fat_binary, "fat-binary", kProgram,
     "the program's device code is damaged, or holds no PTX that can be used",
     "compiled for compute_90a with its PTX kept",
     "nvcc: -gencode"},
    {Id::ptx_file, "ptx-file", kProgram,
     "the file that EMU_PTX names is not the device code of this program",
     "it has every kernel that the host code launches",
     "the emulator"},
    {Id::bad_environment, "bad-environment", kProgram,
     "an environment variable has a value that is not understood",
     "EMU_SCHEDULE, EMU_TIME_LIMIT, EMU_CHECK, EMU_PTX: README.md",
     "the emulator"},
};
// clang-format on

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(kTable); ++i)
    if (kTable[i].id != static_cast<Id>(i)) return false;
  return true;
}
static_assert(std::size(kTable) == kFindingIds && in_order(), "every Id has a row, in the order of the enum");

const char* words_of(Grade grade) {
  switch (grade) {
    case Grade::error:
      return "error";
    case Grade::error_in_lessons:
      return "error in lessons, else advice";
    default:
      return "advice";
  }
}

constexpr const char* kHead = R"(# What the emulator reports

Written from the table in [finding_ids.cpp](finding_ids.cpp) by `cmake --build build --target findings_page`. The first word of
a finding is its id; it stays the same from version to version, in the text and in the `id` of the JSON that `EMU_JSON` asks
for. An error ends the program with exit status 1. *Advice* is about something that works and yet is better done otherwise; it
fails nothing, unless `EMU_STRICT=1` makes it an error. Sections are those of the PTX ISA, release 9; *measured* means recorded
on an H200 (checks/recorded).
)";

}  // namespace

const FindingId& row_of(Id id) {
  return kTable[static_cast<size_t>(id)];
}

const char* name_of(Id id) {
  return id == Id::none ? "none" : row_of(id).name;
}

std::string section_of(Id id) {
  const std::string section = row_of(id).section;
  return section[0] >= '0' && section[0] <= '9' ? "PTX ISA " + section : section;
}

std::string findings_page() {
  constexpr const char* kColumns =
      "\n\n| id | what was seen | the rule | where it is stated | severity |\n|---|---|---|---|---|\n";
  std::string out = kHead;
  const char* group = nullptr;
  for (const FindingId& f : kTable) {
    if (f.group != group) out += text("\n## ", f.group, kColumns);
    group = f.group;
    out += text("| `", f.name, "` | ", f.meaning, " | ", f.rule, " | ", f.section, " | ", words_of(f.grade));
    if (f.milder_when) out += text("; ", words_of(f.milder), " where ", f.milder_when);
    out += " |\n";
  }
  return out;
}

std::ostream& operator<<(std::ostream& out, Id id) {
  return out << name_of(id);
}

}  // namespace emu
