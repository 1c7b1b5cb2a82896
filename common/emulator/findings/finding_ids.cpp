#include "emulator/findings/finding_ids.hpp"

namespace emu {

const std::vector<FindingId>& finding_ids() {
  static const char *kOrder = "Who may touch which bytes, and when", *kBarrier = "mbarriers",
                    *kTiles = "Tiles, tensor maps and copies", *kTensorCore = "The tensor core",
                    *kThreads = "Threads, warps, CTAs and clusters", *kMemory = "Addresses",
                    *kProgram = "The program and how it is run";
  static const std::vector<FindingId> table = {
      {"read-before-landed", kOrder, "bytes are read while a copy to them may still be in flight",
       "a load is complete for a thread that has seen the phase of its mbarrier complete (or waited for its "
       "cp.async "
       "group), and for those it has synchronised with since",
       "8.9.1.1, 9.7.9.25.2: async operations; mbarrier.try_wait, cp.async.wait_group"},
      {"overwritten-while-landing", kOrder, "bytes are written while a copy to them may still be in flight",
       "the destination of a copy belongs to the copy until it is complete", "9.7.9.25.2"},
      {"overwritten-while-read", kOrder,
       "bytes are written, by a thread or by a copy, while somebody who still reads them is not done",
       "a stage may be filled again only by who has acquired the release of each of its readers; wgmma reads "
       "until "
       "wgmma.wait_group",
       "8, memory consistency; 9.7.15.7: wgmma.wait_group"},
      {"source-reused-before-read", kOrder, "shared memory is written while a bulk store may still read it",
       "the source of a bulk store may change after cp.async.bulk.wait_group(.read) in the thread that "
       "committed it",
       "9.7.9.25.3: cp.async.bulk.wait_group"},
      {"read-before-stored", kOrder,
       "global memory is read or written while a bulk store to it may still be in flight",
       "a bulk store is complete after cp.async.bulk.wait_group without .read; others see it through a "
       "synchronisation that follows",
       "9.7.9.25.3: cp.async.bulk.wait_group"},
      {"missing-proxy-fence", kOrder,
       "the async proxy (copy engine, wgmma) reads what threads wrote with nothing to make it visible there",
       "writes of the generic proxy reach the async proxy through fence.proxy.async, executed after them and "
       "before "
       "the synchronisation that hands them over",
       "9.7.13.4: fence.proxy.async"},
      {"proxy-fence-by-reader", kOrder,
       "the proxy fence is executed by the thread that issues the operation, not by those that wrote",
       "the manual orders a thread's own writes by its own fence; working code relies on more",
       "9.7.13.4: fence.proxy.async"},
      {"data-race", kOrder, "two threads use the same bytes, one of them writes, and nothing orders them",
       "conflicting accesses are ordered by synchronisation: barriers, mbarriers, fences with flags",
       "8, memory consistency model"},
      {"uninitialised-read", kOrder, "bytes of shared memory are used that nobody has written",
       "shared memory has no defined value before it is written", "5.1.7"},
      {"exit-before-drain", kOrder,
       "a thread or CTA ends while an operation that it issued still uses shared memory or registers",
       "bulk stores must have read their source (wait_group.read), copies must have landed and wgmma groups "
       "must be "
       "waited for before the CTA ends",
       "9.7.9.25.3, 9.7.15.7"},

      {"deadlock", kBarrier, "no thread can go on, and nothing in flight will change that",
       "every wait needs somebody who is still there to complete it: all arrivals and all announced bytes",
       "9.7.13.15: mbarrier; 9.7.13.1: bar"},
      {"wrong-parity", kBarrier, "a wait asks for a parity that makes it pass, or block, at the wrong phase",
       "a wait names the parity of the phase it waits for; the parity turns over once a phase",
       "9.7.13.15.16: mbarrier.test_wait, try_wait"},
      {"tx-count-mismatch", kBarrier,
       "the bytes announced for a phase are not the bytes that its copies bring",
       "expect_tx announces exactly what lands: the whole box, clipped or not",
       "9.7.13.15.2: tx-count; mbarrier.expect_tx"},
      {"tx-count-range", kBarrier, "more bytes are outstanding than a transaction count can hold",
       "a tx-count lies between -1048575 and 1048575", "9.7.13.15.2"},
      {"arrival-count", kBarrier,
       "an mbarrier is given an impossible count, or more arrivals than a phase has left",
       "a phase takes exactly as many arrivals as mbarrier.init (less arrive_drop) says: 1 to 1048575",
       "9.7.13.15: mbarrier.init, mbarrier.arrive"},
      {"arrive-scope", kBarrier,
       "an arrive in another CTA hands over writes with a release for its own CTA only",
       "the scope of a release covers those it hands over to: .cluster for another CTA",
       "9.7.13.15.13: mbarrier.arrive; 8.5, scope"},
      {"barrier-not-initialised", kBarrier,
       "an mbarrier operation meets memory that is no mbarrier, or one that was invalidated",
       "mbarrier.init comes before every other use, ordered by a barrier for other threads", "9.7.13.15.9"},
      {"barrier-reinitialised", kBarrier, "mbarrier.init on an mbarrier that is alive",
       "mbarrier.inval comes before the memory gets another use; with threads waiting or copies under way it "
       "is an "
       "error, else advice",
       "9.7.13.15.9, 9.7.13.15.10: mbarrier.init, mbarrier.inval"},
      {"missing-init-fence", kBarrier,
       "a copy or another CTA may use an mbarrier whose initialisation was not published",
       "fence.mbarrier_init.release.cluster (or a proxy fence, for the CTA's own copies) follows the "
       "initialisation, "
       "then a barrier",
       "9.7.13.4: fence.mbarrier_init"},
      {"barrier-elsewhere", kBarrier,
       "an mbarrier lies in another CTA than the form of the instruction allows",
       "forms with .shared::cta take addresses of the executing CTA; a copy completes on an mbarrier beside "
       "its "
       "destination",
       "9.7.13.15, 9.7.9.25.4.1"},
      {"barrier-state", kBarrier, "an mbarrier state is used that the instruction cannot have",
       "a remote arrive gives no state; pending_count takes the state of a .noComplete arrive",
       "9.7.13.15.13, 9.7.13.15.15"},

      {"swizzle-mismatch", kTiles, "a tile was written with one swizzle and is read with another",
       "the swizzle of the tensor map is the swizzle of whoever reads the tile", "5.5.6, 9.7.15.5.1.2"},
      {"misaligned-tile", kTiles,
       "a tile does not start where its copy, or its reader's swizzle pattern, needs it",
       "128 bytes for any tensor copy (an error); 256, 512 or 1024, the period of the swizzle, for readers "
       "that count "
       "rows from the tile's start (advice)",
       "5.5.6, 9.7.9.27.1.2"},
      {"tensor-map-invalid", kTiles,
       "a tensor copy meets bytes that are no tensor map, a map it cannot use, or a map in the wrong memory",
       "a map is encoded on the host, 64-byte aligned, in param, const or global memory, with the rank and "
       "the "
       "element type that the instruction needs",
       "9.7.9.27.1.2; cuTensorMapEncodeTiled of the driver"},
      {"missing-tensormap-fence", kTiles,
       "a copy uses a tensor map that a thread has changed in memory, with nothing to make the change "
       "visible to it",
       "tensormap.replace or stores, fence.proxy.tensormap::generic.release, synchronisation, and the "
       "acquire form in "
       "who issues the copy",
       "9.7.13.4: fence.proxy.tensormap"},
      {"map-edited-in-flight", kTiles, "a tensor map is changed while a copy that uses it is under way",
       "a map stays as it is until every copy that was issued with it is complete", "9.7.13.4, 5.5.8"},
      {"misaligned-box", kTiles, "a box starts at a byte of its row that is no multiple of 16",
       "the address of a box is a multiple of 16 bytes", "5.5.3.1; measured"},
      {"store-before-tensor", kTiles, "a tensor store or reduction starts at a negative coordinate",
       "a store may leave the tensor at the end of a dimension only", "measured"},
      {"copy-size", kTiles, "a bulk copy has a size that is no multiple of 16 bytes",
       "the size of cp.async.bulk is a multiple of 16; the hardware moves whole 16 bytes and says nothing",
       "9.7.9.25.4.1; measured"},
      {"multicast-mask", kTiles, "a multicast names no CTA, or one that the cluster does not have",
       "bit i of the mask names the CTA of rank i", "9.7.9.25.4.1: .multicast::cluster"},

      {"accumulator-in-flight", kTensorCore,
       "registers of a wgmma are read or written before wgmma.wait_group",
       "accumulators, and A where it comes from registers, belong to the tensor core until the wait; writing "
       "A before "
       "it is advice, as ptxas takes other registers or waits",
       "9.7.15.7: wgmma.wait_group"},
      {"missing-wgmma-fence", kTensorCore,
       "registers that were written, or accumulators in flight of another shape, are used by wgmma with no "
       "wgmma.fence between",
       "wgmma.fence comes before the first wgmma and wherever registers were touched; not between wgmmas of "
       "one shape "
       "on the same accumulators",
       "9.7.15.7.1: wgmma.fence"},
      {"wgmma-not-converged", kTensorCore, "not all threads of a warpgroup execute a wgmma instruction",
       "the .sync.aligned instructions are executed by all threads of a warpgroup together", "9.7.15.5"},
      {"wgmma-descriptor-differs", kTensorCore,
       "a matrix descriptor, or another operand, differs between threads of a warpgroup",
       "all threads of a warpgroup pass the same", "9.7.15.5.1.2"},
      {"descriptor-unused-bits", kTensorCore, "a matrix descriptor has bits set that belong to no field",
       "each field has its place: address, leading and stride offset in units of 16 bytes, 14 bits each",
       "9.7.15.5.1.2.2"},

      {"barrier-count", kThreads, "a barrier is used with two different thread counts at once",
       "all who meet at a barrier name the same count", "9.7.13.1: bar, barrier"},
      {"barrier-arrived-twice", kThreads, "a thread arrives again before the barrier has completed",
       "each arrive has its wait", "9.7.13.1, 9.7.13.3: bar, barrier.cluster"},
      {"barrier-wait-without-arrive", kThreads, "barrier.cluster.wait by a thread that has not arrived",
       "each barrier.cluster.wait follows an arrive of its thread", "9.7.13.3: barrier.cluster"},
      {"barrier-operand", kThreads, "a barrier operand is out of range or differs between lanes",
       "barriers are numbered 0 to 15, counts are multiples of the warp's 32", "9.7.13.1"},
      {"warp-sync-mask", kThreads, "a lane executes a .sync instruction whose member mask leaves it out",
       "the mask names exactly the lanes that execute the instruction", "9.7.9.6, 9.7.13.2"},
      {"warp-not-converged", kThreads, "a matrix instruction is executed by a part of a warp",
       "ldmatrix, stmatrix and mma are executed by whole warps", "9.7.14.5"},
      {"missing-grid-wait", kThreads,
       "a thread or copy uses what the grid in front writes, or writes what that one reads, without "
       "griddepcontrol.wait",
       "a grid that was launched to start early, after one that executes griddepcontrol.launch_dependents, "
       "sees the writes of that one, and comes after its reads, only behind griddepcontrol.wait",
       "9.7.13.14: griddepcontrol"},
      {"cluster-exit", kThreads, "the shared memory of a CTA that has ended is used by another CTA or a copy",
       "a CTA stays until the last access of its cluster to its memory: barrier.cluster before the end",
       "9.7.13.3"},
      {"cluster-rank", kThreads, "a rank is named that the cluster does not have",
       "ranks go from 0 to %cluster_nctarank - 1", "9.7.9.24: mapa"},

      {"out-of-bounds", kMemory, "an access outside of any allocation, or of the CTA's shared memory",
       "every access lies inside one variable, allocation or the shared memory that the launch asked for",
       "5.1"},
      {"misaligned-address", kMemory, "an address is no multiple of what the instruction needs",
       "the size of the access; 16 bytes for bulk copies; 8 for mbarriers", "9.7.9, 9.7.9.25.4.1"},
      {"not-shared-memory", kMemory,
       "an instruction for shared memory gets a generic address that is elsewhere",
       "the address lies in the window of shared memory", "5.1.7"},
      {"write-to-constant", kMemory, "a thread or a copy writes to __constant__ memory",
       "constant memory is read-only for kernels", "5.1.3"},
      {"stack-overflow", kMemory, "calls are nested too deep, or local memory is used up",
       "recursion ends; cudaLimitStackSize bounds the stack", "cudaDeviceSetLimit"},
      {"bad-free", kMemory, "free() of something that malloc() did not return on the device",
       "device-side free takes what device-side malloc gave", "CUDA C++ guide, dynamic allocation"},
      {"bad-function-pointer", kMemory, "a call through a pointer that is no function of the program",
       "indirect calls go to functions of the same module", "9.7.12: call"},
      {"branch-index", kMemory, "an indexed branch with an index outside of its list",
       "the index lies in the list of targets", "9.7.12: brx.idx"},

      {"assert", kProgram, "a device-side assert failed", "the asserted condition holds", "assert()"},
      {"trap", kProgram, "the kernel executed trap", "whoever wrote the trap says what must hold",
       "9.7.19: trap"},
      {"endless-loop", kProgram, "a loop never ends: nothing that it reads can change any more",
       "whoever ends the loop is still there and can run", "the emulator"},
      {"time-limit", kProgram, "the kernel did not end within EMU_TIME_LIMIT", "a kernel ends",
       "the emulator"},
      {"launch-configuration", kProgram, "a grid, block, cluster or amount of shared memory is impossible",
       "the limits of compute capability 9.0 and of the kernel's attributes",
       "CUDA C++ guide, compute capabilities"},
      {"unsupported-instruction", kProgram,
       "the PTX has an instruction or modifier that is not executed here",
       "nothing is skipped: what is not supported is refused before it runs", "the emulator"},
      {"ptx-syntax", kProgram, "the PTX cannot be read", "the PTX is what nvcc wrote", "4, syntax"},
      {"module-variable", kProgram, "a variable of the module cannot be placed or initialised",
       "addresses and sizes in initialisers are known", "5.4"},
      {"fat-binary", kProgram, "the program's device code is damaged, compressed or holds no usable PTX",
       "compiled for compute_90a with its PTX kept, uncompressed", "nvcc: -gencode, --no-compress"},
      {"bad-environment", kProgram, "an environment variable has a value that is not understood",
       "EMU_SCHEDULE, EMU_TIME_LIMIT, EMU_CHECK: README.md", "the emulator"},
  };
  return table;
}

}  // namespace emu
