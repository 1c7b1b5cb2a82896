// The checker: happens-before over threads, engine operations and proxies, for every byte of shared memory and the
// global bytes a kernel touches. It watches through observer.hpp and changes nothing.
//
// How a copy is ordered: when it is issued, its bytes are marked as written by it, and the mark says what a reader
// must have seen: phase p of mbarrier B, or group g of thread t. A reader whose clock does not hold that is reported,
// whether or not the bytes happen to be there. So findings do not depend on when the emulator lets copies land.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/checker/clock.hpp"
#include "emulator/checker/shadow.hpp"
#include "emulator/machine/async.hpp"
#include "emulator/machine/machine.hpp"
#include "emulator/machine/mbarrier.hpp"
#include "emulator/machine/observer.hpp"
#include "emulator/machine/warp.hpp"

namespace emu::check {

// What one thread knows and has done; the knowledge itself is shared by lanes (WarpState::knowledge).
struct LaneState {
  uint32_t cp_issued = 0, cp_done = 0, cp_fenced = 0;  // cp.async instructions
  uint32_t bulk_read = 0, bulk_done = 0;               // bulk groups: sources read, complete
  std::vector<uint32_t> cp_commits;                    // cp_issued at the latest commits
  // Bulk groups whose sources may still be read, and the line of the first operation of each.
  std::vector<std::pair<uint32_t, int32_t>> bulk_unread;
  uint32_t bulk_commits = 0;
  uint32_t init_fence_epoch = 0;  // its mbarrier.inits up to this epoch are behind fence.mbarrier_init
  bool memory_fence = false;      // has executed fence.acq_rel/sc: its relaxed atomics may carry order
  // What its relaxed reads have seen since then, which the next such fence acquires; null: nothing.
  std::shared_ptr<Clock> seen;
  Component cp_component = 0, read_component = 0, done_component = 0;  // 0: not yet needed
};

struct Knowledge {
  uint32_t mask = 0;
  Clock clock;
};

// Which lanes of a threads' record the lanes `group` are ordered after (or, fenced, of which also behind a proxy fence).
// What is known stays known; what is not is looked at again when `changes` has moved on.
struct KnownRecord {
  uint32_t record = 0, group = 0, lanes = 0;
  bool fenced = false;
  uint64_t changes = 0;
};

struct WarpState {
  std::vector<Knowledge> knowledge;  // disjoint masks
  uint64_t changes = 0;              // of `knowledge`
  std::array<KnownRecord, 512> known_records;
  // By lane: its steps, from 1; the step up to which its accesses are behind a proxy fence of its own; and the step up to
  // which they were released, but for arrivals as in WeakArrivals.
  std::array<uint32_t, 32> epoch, fence_epoch{}, handed_over{};
  std::array<LaneState, 32> lanes;
  uint32_t epoch_block = 0;
  bool epoch_block_stale = true;
  bool copies = false;  // has issued cp.async or bulk operations: their components are in use
  struct LastRecord {
    int32_t source = -1;
    uint32_t record = 0, block = 0;
  };
  LastRecord last_record[2][2];  // the latest record by write and `again`, for reuse
  uint32_t wgmma_issued = 0;
  std::vector<uint32_t> wgmma_commits;  // wgmma_issued at the latest commits
  // Registers (registers.cpp), by frame offset / 8.
  struct Register {
    uint32_t accumulator = 0,
             fragment = 0;           // the latest wgmma that writes it, and that reads it as a part of A
    uint32_t shape = 0, fences = 0;  // of that writer, and how many wgmma.fence came before it
    int32_t wgmma_at = -1;           // where it is
    uint32_t written = 0;            // the step in which something else wrote it
    int32_t written_at = -1;
  };
  std::vector<Register> registers;
  uint32_t wgmma_done = 0;
  // What is written in a step needs a wgmma.fence in this step or a later one before a wgmma uses it.
  uint32_t steps = 0, fenced_step = 0;
  uint32_t wgmma_fences = 0;
  bool fence_since_wgmma = false;
};

struct CtaState {
  Cta* cta = nullptr;
  std::unique_ptr<Shadow> shadow;
  std::vector<WarpState> warps;
  struct Bar {
    uint64_t generation = 0;
    Clock gathering, complete;
  };
  // What threads of other CTAs did here, arrivals and accesses: the latest of each thread.
  struct Remote {
    uint32_t epoch = 0;
    int32_t source = -1;
  };
  std::map<Component, Remote> remote;
  std::array<Bar, 17> bars;  // 16: the cluster barrier is kept in ClusterState
};

// A question by a thread about a phase, remembered to tell a missing wait from a wait for the wrong phase.
struct LastWait {
  uint64_t complete = 0;  // the answer was: phases below this are complete
  int32_t source = -1;
  bool used = false;      // bytes of that phase were read after it
  bool repeated = false;  // the wait before it had the same answer, and was used
};

struct BarrierState {
  Mbarrier* bar = nullptr;
  Component component = 0;
  uint64_t phase = 0;
  Clock gathering;                          // of the arrivals of the running phase
  Clock complete[2];                        // of the latest complete phases, by parity
  std::vector<uint32_t> in_flight;          // operations that will complete on it
  uint32_t last_op = 0;                     // the latest operation that completes on it, landed or not
  uint32_t init_owner = 0, init_epoch = 0;  // thread component and epoch of the init
  int32_t init_source = -1;
  uint64_t announced = 0;       // bytes, by expect_tx in the running phase
  int32_t expect_source = -1;   // the latest expect_tx
  uint64_t seen = 0;            // phases below this one were seen complete by somebody
  std::vector<LastWait> waits;  // by thread component
};

// Arrivals of a thread in other CTAs with .release.cta, its releases of epochs first..last: they order its reads (a
// stage is handed back), but what it wrote after epoch `released` is not handed to the other CTA.
struct WeakArrivals {
  uint32_t first = 0, last = 0, released = 0;
  int32_t source = -1;
};

struct ClusterState {
  uint32_t index = 0;
  Cluster* cluster = nullptr;
  uint32_t threads_per_cta = 0;
  Component components = 0;  // used so far; threads come first
  Component grid_wait = 0;   // whoever holds 1 of it is ordered after a griddepcontrol.wait
  std::vector<CtaState> ctas;
  std::map<const Mbarrier*, BarrierState> barriers;
  CtaState::Bar cluster_bar;
  std::map<uint64_t, Clock> sync_words;  // strong accesses to shared words, by rank << 32 | address
  std::map<uint64_t, Component> warpgroup_component;             // by rank << 16 | warpgroup
  std::map<Component, std::vector<WeakArrivals>> weak_arrivals;  // by thread
};

struct OpState {
  AsyncOp::Kind kind = AsyncOp::Kind::cp_async;
  uint32_t cluster = 0;
  uint16_t rank = 0, warp = 0;
  uint8_t lane = 0;
  int32_t source = -1;
  uint32_t tile = 0;   // tensor loads: where the box starts in shared memory
  bool dense = false;  // tensor loads: the box leaves no gaps between its rows
  bool landed = false;
  Component done = 0;  // whoever holds done >= done_value is ordered after its writes
  uint32_t done_value = 0;
  Component read = 0;  // likewise for its reads of the source
  uint32_t read_value = 0;
  std::array<uint32_t, 32> lane_value{};  // cp.async: per issuing lane
  const Mbarrier* barrier = nullptr;
  Swizzle swizzle = Swizzle::none;
  uint64_t bytes = 0;
  uint64_t from = 0, to = 0;  // stores: where their bytes begin, and go
  uint64_t turn = 0;          // the same for the lanes of a warp that execute the instruction together
  uint32_t next_copy = 0;     // the same multicast copy in the next destination CTA
};

// A tensor map in global memory (tensor_maps.cpp).
struct MapState {
  struct Acquired {  // fence.proxy.tensormap acquire of it
    uint32_t cluster = 0;
    uint16_t rank = 0;
    Component thread = 0;
    uint32_t epoch = 0;
    uint64_t contents = 0;  // who had written its bytes
    bool released = false;  // and they, or somebody after them, had executed the release fence
  };
  std::vector<Acquired> acquired;
  std::vector<Tag> users;  // copies
};
struct MapRelease {  // a release fence, and what it covers
  uint32_t cluster = 0, threads_per_cta = 0;
  Component thread = 0;
  uint32_t epoch = 0;
  Clock covers;
};

// Who is making an access that is being checked.
struct Accessor {
  ClusterState* cluster = nullptr;
  CtaState* cta = nullptr;
  WarpState* warp = nullptr;
  Warp* hardware = nullptr;
  const Inst* inst = nullptr;
  uint32_t lanes = 0;           // all of them must be ordered
  uint32_t group = 0;           // the lanes that make like accesses with the same instruction
  const OpState* op = nullptr;  // when an engine acts for them
  bool async_proxy = false;
};

class Checker : public Observer {
 public:
  void on_launch(Machine&, const Program&, const LaunchConfig&) override;
  void on_launch_end(Machine&) override;
  void on_cta_start(Cta&) override;
  void on_cta_end(Cta&) override;
  void on_exit(Warp&, const Inst&, uint32_t mask) override;
  void on_access(Warp&, const Inst&, const AccessEvent&) override;
  void on_malloc(Warp&, uint64_t address, uint64_t bytes) override;
  void on_fence(Warp&, const Inst&, uint32_t mask, FenceKind, bool cluster_or_wider) override;
  void on_warp_sync(Warp&, const Inst&, uint32_t mask) override;
  void on_instruction(Warp&, const Inst&) override;
  void on_bar_arrive(Warp&, const Inst&, uint32_t mask, uint32_t barrier, uint64_t generation,
                     bool release) override;
  void on_bar_leave(Warp&, const Inst&, uint32_t mask, uint32_t barrier, uint64_t generation) override;
  void on_mbarrier(Warp&, const Inst&, int lane, Mbarrier&, MbarrierOp, int64_t amount,
                   bool release) override;
  void on_mbarrier_wait(Warp&, const Inst&, uint32_t mask, Mbarrier&, uint64_t phase, bool result,
                        bool acquire) override;
  void on_async_issue(AsyncOp&) override;
  void on_async_complete(AsyncOp&) override;
  void on_commit(Warp&, const Inst&, uint32_t mask, GroupKind) override;
  void on_group_wait(Warp&, const Inst&, uint32_t mask, GroupKind, uint32_t n, bool read) override;
  void on_map_use(Warp&, const Inst&, int lane, uint64_t address) override;
  void on_grid_dependency(Warp&, const Inst&, uint32_t mask, bool wait) override;

  // Bytes of the tables of past accesses. When they have grown by least_growth, what nobody can ask about any more is
  // dropped; 0: before every access, for tests.
  size_t table_bytes() const { return records_.bytes() + ops_.size() * sizeof(OpState) + snapshot_bytes_; }
  size_t least_growth = 16 << 20;

 private:
  const Program* program_ = nullptr;
  Machine* machine_ = nullptr;
  Records records_;
  GlobalShadow global_;
  std::vector<OpState> ops_;
  struct Turn {                     // of the last operation that was issued
    uint64_t event = 0, first = 0;  // its issue, and that of the first lane's
    const Warp* warp = nullptr;
    const Inst* inst = nullptr;
    int lane = 0;
  } turn_;
  // For each cp.async.mbarrier.arrive under way, which cp.async of its lanes come before it; and for the one that lands.
  std::unordered_map<uint64_t, std::array<uint32_t, 32>> copy_arrives_;
  std::array<uint32_t, 32> landing_copies_{};
  std::map<const Cluster*, ClusterState> clusters_;
  const Cta* last_cta_ = nullptr;
  ClusterState* last_cluster_ = nullptr;
  uint32_t next_cluster_ = 1;
  std::unordered_map<uint64_t, std::shared_ptr<Clock>>
      global_words_;  // strong accesses and atomics, by address
  struct Unwritten {  // reads of shared bytes that nobody had written; a later copy onto them names the cause
    Finding finding = Finding(Id::none);
    Sightings seen;
  };
  std::map<std::pair<uint32_t, int32_t>, Unwritten> unwritten_;  // by cluster and source
  // Tags that the accessor at hand has been found to be ordered after: neighbouring bytes mostly share theirs.
  Tag good_write_ = 0, good_read_ = 0, good_writer_ = 0, good_readers_ = 0;
  Tag combined_from_ = 0, combined_to_ = 0;
  std::vector<uint64_t> told_;  // in this event, as told() has it
  void start_event() {
    machine_->findings.next_event();
    told_.clear();
  }
  void start_access() {
    start_event();
    good_write_ = good_read_ = good_writer_ = good_readers_ = combined_from_ = 0;
    for (EarlierReader& r : seen_readers_) r.record = 0;
  }

  // ---- clocks (order.cpp)
  ClusterState& cluster_of(const Cta& cta);
  CtaState& cta_of(const Cta& cta) { return cluster_of(cta).ctas[cta.cluster_rank]; }
  Component thread_component(const Cta& cta, int warp, int lane) const;
  template <class F>
  void update(WarpState& w, uint32_t mask, F f);  // f(Clock&) on the knowledge of exactly these lanes
  void publish(const Cta& cta, int warp, uint32_t mask, Clock& to);
  void acquire(WarpState& w, uint32_t mask, const Clock& from);
  void add_own(const Cta& cta, int warp, uint32_t mask, Clock& to, bool step);
  BarrierState& barrier_state(Mbarrier& bar);
  void rotate(BarrierState& b);
  Component warpgroup_component(Warp& w);
  void strong_access(Warp& w, const AccessEvent& e);
  size_t longest_wait_ =
      0;  // the largest N of the program's wait_group N: commits before that many are settled
  void keep_commit(std::vector<uint32_t>& commits, uint32_t issued);

  // ---- what nobody can ask about any more (collect.cpp)
  size_t collect_at_ = 0;      // table_bytes() for the next time
  size_t snapshot_bytes_ = 0;  // of the clocks kept for other clusters since the last time, about
  void collect_when_due() {
    if (table_bytes() >= collect_at_) collect();
  }
  void collect();
  template <class F>
  void replace_all_tags(F f);
  template <class F>
  void each_op_in_use(F f);
  template <class F>
  void each_clock(F f);
  bool running(uint32_t cluster) const;
  void drop_ops();
  void drop_weak_arrivals();
  void drop_clocks();
  size_t shadow_bytes();

  // ---- checks (access.cpp)
  bool known(const Clock& clock, const Accessor& who, Tag single, Clock::Kind kind) const;
  static bool of_warp(const Record& r, const Accessor& who);
  bool own(const Accessor& who, int lane, Tag single, Clock::Kind kind) const;
  uint32_t plain_lanes(const Accessor& who, Tag tag, bool fenced);
  bool settled(const Accessor& who, Tag tag, Tag* memo);
  bool ordered_all(const Accessor& who, Tag tag, Clock::Kind kind = Clock::order) const;
  Tag first_unordered(const Accessor& who, Tag tag) const;
  bool reduces(Tag single) const;
  bool same_store(const Accessor& who, Tag writers) const;
  bool implied(Tag earlier, Tag later) const;
  Tag with_reader(const Accessor& who, Tag readers, Tag me);
  Tag with_reduction(const Accessor& who, Tag writers, Tag me, uint64_t address, Space space);
  void check_read(const Accessor& who, Tag* write, Tag* read, size_t bytes, Tag me, uint64_t address,
                  Space space);
  void check_write(const Accessor& who, Tag* write, Tag* read, size_t bytes, Tag me, uint64_t address,
                   Space space);
  void check_range(const Accessor& who, const MemoryRange& range, Tag me, bool write);
  struct SeenRecord {
    uint32_t record = 0;
    uint32_t plain = 0;  // lanes whose access all lanes of the instruction are ordered after
    uint32_t again = 0;  // mine: lanes that have released since
    bool mine = false;   // of the warp itself
    bool ordered(Tag tag, int lane) const {
      return plain >> Records::lane_of(tag) & 1 || (mine && Records::lane_of(tag) == lane);
    }
  };
  const SeenRecord& look(const Accessor& who, SeenRecord& seen, Tag tag);
  const SeenRecord& look_up(const Accessor& who, SeenRecord& seen, Tag tag);
  uint32_t thread_record(Warp& w, WarpState& state, const Inst& in, bool write, bool again);
  void mark_used(const Accessor& who, Tag write);
  uint32_t add_op(AsyncOp& op, OpState s, Mbarrier* barrier, const Accessor& who);
  void check_wgmma_swizzle(AsyncOp& op, const Accessor& who);
  void check_tile_alignment(const std::vector<MemoryRange>& box, uint32_t op, const Accessor& who);
  void check_reader_swizzle(Warp& w, const AccessEvent& e, const Accessor& who);

  // ---- global memory that is read and then written (global.cpp)
  bool landed_somewhere(const Accessor& who, Tag read) const;
  struct EarlierReader {
    uint32_t record = 0;
    uint32_t before = 0;  // lanes whose read all lanes of the instruction are ordered after
    uint64_t place = 0;   // in the order of the grid, but for the lane
    bool mine = false;    // threads of the accessor's own warp
    bool open = false;    // of lanes that are not in `before` there is more to be said
  };
  EarlierReader seen_readers_[3];  // by the access at hand
  const EarlierReader& earlier_reader(const Accessor& who, EarlierReader& seen, Tag tag);
  bool stands_for(const Accessor& who, const EarlierReader& r, Tag earlier, Tag me) const;
  std::pair<Tag, Tag> two_readers(const Accessor& who, Tag one, Tag other, Tag me);
  void note_read(const Accessor& who, uint64_t address, uint64_t bytes, Tag me);
  void check_overwritten(const Accessor& who, uint64_t address, uint64_t bytes);

  // ---- the grid in front, which may still be running (launches.cpp)
  bool dependents_launched_ = false;  // by this grid
  GlobalShadow in_front_;             // what the grid in front used, if it let this one start early
  Records in_front_records_;          // for its tags
  std::map<int32_t, SourceLine> in_front_lines_;  // by Program source: the program may be gone
  void keep_for_dependents();
  void check_grid_dependency(const Accessor& who, uint64_t address, uint64_t bytes, bool write);

  // ---- tensor maps in global memory (tensor_maps.cpp)
  std::map<uint64_t, MapState> maps_;
  std::vector<MapRelease> map_releases_;
  uint64_t map_in_use_ = 0;  // by the copy that is about to be issued, at map_used_by_
  const Inst* map_used_by_ = nullptr;
  std::vector<Tag> map_writers(uint64_t address);
  uint64_t map_contents(uint64_t address);  // tells who wrote it from who did before
  bool covers(const MapRelease& r, Tag write) const;
  void drop_map_users();
  void drop_map_fences();
  void map_released(Warp& w, uint32_t mask);
  void map_acquired(Warp& w, int lane, uint64_t address);
  void check_map_edit(const Accessor& who, uint64_t address, uint64_t bytes);

  // ---- registers of wgmma (registers.cpp)
  enum class Role : uint8_t { unknown, move, wgmma, other };
  std::vector<Role> roles_;  // by Program source
  Role role_of(const Inst& in);
  void registers_issued(AsyncOp& op, WarpState& state, const Accessor& who);
  static WarpState::Register& register_at(WarpState& state, size_t offset);
  void wrote_register(WarpState& state, WarpState::Register& reg, const Inst& in);
  void moved(WarpState& state, const Inst& in, uint32_t base);
  void check_fragment_written(const Accessor& who, const WarpState::Register& reg);
  void register_finding(const Accessor& who, Id id, const std::string& title, const std::string& why,
                        const std::string& hint, int32_t other, Severity severity = Severity::error);

  // ---- findings (findings.cpp)
  void conflict(const Accessor& who, bool write, Tag prior, bool prior_is_write, uint64_t address,
                Space space);
  void unfenced(const Accessor& who, Tag prior, bool relayed, uint64_t address, Space space);
  void unwritten(const Accessor& who, uint64_t address);
  void report(Finding f, const Accessor& who, int32_t other_source);
  bool counting() const { return machine_->findings.counting(); }
  bool told(uint32_t what, int32_t source);
  static void set_place(Finding& f, const Cta& cta, int warp = -1);
  SourceLine line_at(int32_t source) const;
  std::string barrier_name(const OpState& op) const;
  std::string describe(Tag tag) const;
  void completed_early(BarrierState& b, const OpState& op);
  bool wrong_parity(Finding& f, const BarrierState& b, uint64_t needed, const Cta& cta, int warp,
                    int lane) const;
  void unannounced(BarrierState& b, const OpState& op, const Accessor& who);
  void initialised_again(Warp& w, const Inst& in, int lane, Mbarrier& bar, BarrierState& b);
  void check_initialised(Warp& w, const Inst& in, uint32_t mask, BarrierState& b);
  void check_arrive_scope(const Accessor& who, Tag prior, uint64_t address);
  void check_cluster_exit(CtaState& cta);
  void store_left_behind(int32_t source, Warp& w);
  void copy_left_behind(const OpState& op, Cta& cta);
};

}  // namespace emu::check
