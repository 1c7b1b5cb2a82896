// The stream-K tile scheduler: which parts of which tiles of C a cluster computes.
#pragma once

namespace lab {

// K tiles begin .. end - 1 of tile number `tile` of C.
struct WorkUnit {
  int tile, begin, end;
};

// [region scheduler]
// The work units of one of `clusters` clusters. It first computes whole tiles: every clusters-th of the tiles split ..
// tiles - 1. The K tiles of the tiles 0 .. split - 1, numbered through, are then divided evenly among the clusters, in their
// order. `split` is 0 or more than `clusters`, so a tile is computed by one cluster, or by two: its beginning by cluster
// i - 1, its end by cluster i.
// A cluster goes through its K tiles from their end. So the beginning of a tile, for which another cluster waits, is the
// first thing it computes there, and the end of a tile, which has to wait for another cluster, the last.
// Matrices below 2^31 elements keep split * k_tiles * clusters below 2^31 on the GPUs there are.
class StreamK {
 public:
  __device__ __forceinline__ StreamK(int cluster, int clusters, int tiles, int split, int k_tiles)
      : clusters_(clusters),
        tiles_(tiles),
        k_tiles_(k_tiles),
        next_(split + cluster),
        begin_(split * k_tiles * cluster / clusters),
        end_(split * k_tiles * (cluster + 1) / clusters) {}

  __device__ __forceinline__ bool done() const { return next_ >= tiles_ && begin_ == end_; }

  // The next work unit; false when none is left.
  __device__ __forceinline__ bool next(WorkUnit& unit) {
    if (done()) return false;
    if (next_ < tiles_) {
      unit = {next_, 0, k_tiles_};
      next_ += clusters_;
    } else {
      const int tile = (end_ - 1) / k_tiles_, first = tile * k_tiles_;
      unit = {tile, max(begin_ - first, 0), end_ - first};
      end_ = first + unit.begin;
    }
    return true;
  }

 private:
  int clusters_, tiles_, k_tiles_;
  int next_;         // whole tile
  int begin_, end_;  // K tiles of the split tiles
};
// [end region]

}  // namespace lab
