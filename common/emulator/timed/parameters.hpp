// What the timed schedule knows of an H200, in cycles of an SM where nothing else is said. Each number has its source:
//   times     a row of plots/data/nvidia-h200-times-2026-11-30.csv, which checks/bench/hopper_times.cu records
//   counters  a row of plots/data/nvidia-h200-counters-2026-11-30.csv
//   fit       chosen so that the recorded ladder comes out; there is no measurement of it alone
#pragma once

namespace emu::timed {

// ---- instructions of warps
constexpr int kSchedulers = 4;  // of an SM; warp w of a CTA has number w % 4
// Machine instructions for each instruction of PTX. Counters: warp instructions at 8192 over those the emulator counts, 0.82 to
// 0.89 from lesson to lesson.
constexpr double kSlots = 0.86;
// From one instruction of a warp to its next. Fit.
constexpr double kInterval = 2.2;
constexpr double kDivideSlots = 30;    // of an integer division: a call of ptxas's. Fit.
constexpr double kTryWait = 34;        // times: mbarrier_open, less the loop around it
constexpr double kArrive = 9;          // times: mbarrier_arrive
constexpr double kProxyFence = 20;     // times: proxy_fence_128, less the store
constexpr double kCopyIssue = 30;      // of a bulk copy, for the thread. Fit.
constexpr double kSharedLatency = 30;  // until the register is there. Fit.
constexpr double kSharedBytes = 128;   // of shared memory per cycle: 32 banks of 4 bytes
// ---- waits: from what ends them to the next instruction
constexpr double kWakeMbarrier =
    60;  // times: mbarrier_round_trip / 2, less arrival and the instructions around it
constexpr double kWakeBarrier = 18;   // times: syncthreads_256
constexpr double kWakeCluster = 290;  // times: cluster_barrier_2
constexpr double kWakeGroup = 20;     // wait_group of any kind. Fit.

// ---- tensor core: m64nNk with 32 bytes along K takes N / 2 cycles of each of the four
constexpr double kProductPerColumn = 0.5;  // times: wgmma_*_pipelined
constexpr double kProductLatency = 32;     // times: wgmma_*_1wg_waited less _pipelined, wake and issue

// ---- copy engine
constexpr double kBoxIssue = 61;      // between two boxes. times: tensor_load_issue_1024
constexpr double kEngineBytes = 100;  // per cycle. times: tensor_stream_l2_1ctas_8stages
// From issue to the first bytes. times: tensor_stream_dram_1ctas_1stages and _l2_, less the bytes, wake and issue. All CTAs of a
// wave want the same tiles at about the same time: nearly every tile is one that comes from DRAM.
constexpr double kLatencyL2 = 323 - 60;
constexpr double kLatencyDram = kLatencyL2 + 673;
constexpr double kFirstUseOfMap = 300;   // times: tensor_load_l2_16384 less tensor_stream_l2_1ctas_1stages
constexpr double kStoreBytes = 32;       // per cycle. times: tensor_store_*
constexpr double kStoreRead = 432;       // until a store has read its source. times: tensor_store_*
constexpr double kStoreLatency = 600;    // until global memory has it. Fit.
constexpr double kClusterLatency = 200;  // to another CTA of the cluster. Fit.

// ---- L2 to an SM, bytes per cycle, when all SMs read
constexpr double kL2Bytes = 59.5;             // fit: lesson 05; counters: 54 on the average of its 8192
constexpr double kL2BytesAlone = 100;         // times: tensor_stream_l2_1ctas_8stages
constexpr double kChunkBytesPerCycle = 50.5;  // of cp.async. Fit: lessons 02 and 03
constexpr double kL2Burst = 32768;            // bytes of its share that an SM can catch up on. Fit.
constexpr double kLoadBytes =
    39.5;  // of ld.global. Fit: lesson 01; times, load_store_l2_8x128 less _1x128: 31
constexpr double kLoadLatency = 315;  // of cp.async or ld.global that hits L2. times: load_store_l2_1x128
constexpr double kStoreSector =
    2.4;  // st.global: a sector of 32 bytes or a part of it. Fit: lesson 07 beside 08
constexpr double kStoreQueue = 300;  // cycles of stores that a warp does not wait for. Fit.

// ---- CTAs
constexpr double kCtaStart = 700;  // from a free place to the first instruction. Fit.

}  // namespace emu::timed
