// What the timed schedule knows of an H200, in cycles of an SM where nothing else is said. Each number has its source:
//   times     a row of plots/data/nvidia-h200-times-2026-12-01.csv, which checks/bench/hopper_times.cu records
//   counters  a row of plots/data/nvidia-h200-counters-2026-11-30.csv
//   fit       chosen so that the recorded ladder comes out; there is no measurement of it alone
#pragma once

namespace emu::timed {

// The SMs' clock in MHz while the rows of `times` were recorded, which need little power: the highest. L2 and DRAM keep their own
// clock when the SMs have a lower one: latencies that are said to be in time have fewer cycles then.
constexpr int kMostMhz = 1980, kLeastMhz = 100;

// ---- instructions of warps
constexpr int kSchedulers = 4;  // of an SM; warp w of a CTA has number w % 4
// Machine instructions for each instruction of PTX. Counters: warp instructions at 8192 over those that the emulator counts,
// 0.82 to 0.89 from lesson to lesson.
constexpr double kSlots = 0.86;
constexpr double kInterval = 2.2;    // from one instruction of a warp to its next. Fit.
constexpr double kDivideSlots = 30;  // of a division that ptxas makes a routine of. Fit.
constexpr double kTryWait = 34;      // times: mbarrier_open, less the loop around it
constexpr double kArrive = 9;        // times: mbarrier_arrive
constexpr double kProxyFence = 20;   // times: proxy_fence_128, less the store
constexpr double kCopyIssue = 30;    // of a bulk copy, for the thread that asks for it. Fit.
// Of ld.shared. Fit. Then a pass for each word that a bank has to give: times, shared_load_stride_*.
constexpr double kSharedLatency = 30;

// ---- waits: from what ends them to the next instruction
constexpr double kWakeMbarrier = 60;  // times: mbarrier_round_trip / 2, less the arrival and the branch
constexpr double kWakeBarrier = 18;   // times: syncthreads_256
constexpr double kWakeCluster = 290;  // times: cluster_barrier_2
// What barrier.cluster.arrive takes longer where it releases stores. times: cluster_barrier_2_384_bulk_stores less _relaxed
constexpr double kReleaseBehindStores = 763;
constexpr double kWakeGroup = 20;  // wait_group of any kind. Fit.

// ---- tensor core
// m64nN, 32 bytes along K: cycles of each of the four cores per column. times: wgmma_*_pipelined
constexpr double kProductPerColumn = 0.5;
// From the last cycle of a product to its end. times: wgmma_*_1wg_waited less _pipelined, less wake and issue
constexpr double kProductLatency = 32;

// ---- copy engine, loads
constexpr double kBoxIssue = 61;        // between two boxes. times: tensor_load_issue_1024
constexpr double kEngineBytes = 100;    // per cycle. times: tensor_stream_l2_1ctas_8stages
constexpr double kFirstUseOfMap = 300;  // times: tensor_load_l2_16384 less tensor_stream_l2_1ctas_1stages
// From the issue to the first bytes, in time. L2 times: tensor_stream_l2_1ctas_1stages, less the bytes, the wake and the issue. DRAM takes
// 575 more for one CTA and 772 for 132 of them (times: tensor_stream_dram_*_1stages less _l2_): the mean.
constexpr double kLatencyL2 = 263;
constexpr double kLatencyDram = kLatencyL2 + 673;

// ---- copy engine, stores
constexpr double kStoreBytes = 32;  // per cycle. times: tensor_store_read_*, the slope
constexpr double kStoreRead =
    432;  // until the source has been read. times: tensor_store_read_*, what eight boxes share
constexpr double kStoreLatency = 600;    // from then on, until global memory has it, in time. Fit.
constexpr double kClusterLatency = 200;  // to another CTA of the cluster. Fit.

// ---- from L2 to an SM, bytes per cycle
constexpr double kL2BytesAlone = 100;  // through the port of the SM. times: tensor_stream_l2_1ctas_8stages
// Its share when all SMs read. Fit: lessons 05 and 06. Counters: 54 on the average of all cycles of 05; times: 53 with 66 CTAs,
// each of which has lines of its own.
constexpr double kL2Bytes = 62;
constexpr double kL2Burst =
    32768;  // bytes of its share that an SM can catch up on. Fit: two stages in lesson 05
constexpr double kChunkBytesPerCycle = 50.5;  // of the share, by cp.async. Fit: lessons 02 and 03
constexpr double kLoadBytes =
    43;  // of the port, by ld.global. Fit: lesson 01. times: 31, load_store_l2_8x128 less _1x128
constexpr double kLoadLatency =
    315;  // cp.async or ld.global that hits L2, in time. times: load_store_l2_1x128
// st.global writes a sector of 32 bytes, or a part of it, in so many cycles. times: store_rows_128_132ctas
constexpr double kStoreSector = 3.1;
constexpr double kStoreQueue = 300;  // cycles of stores that a warp does not wait for. Fit.

// ---- CTAs
constexpr double kCtaStart = 700;  // from a free place to the first instruction. Fit.

}  // namespace emu::timed
