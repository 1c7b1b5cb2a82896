// Dividing the tiles of C among clusters that stay.
#pragma once

namespace lab {

// K tiles begin .. end - 1 of tile number `tile` of C.
struct Piece {
  int tile, begin, end;
};

// What one of `clusters` clusters computes: every clusters-th of the tiles split .. tiles - 1 whole, then its part of the tiles
// 0 .. split - 1, whose K tiles are dealt out evenly, in the order of the clusters. split is 0 or more than
// clusters; a tile is then computed by one cluster, or by two: its beginning by cluster i - 1, its end by cluster i.
// A part is taken from its end: who computes the beginning of a tile does so first, who computes its end comes to
// it last. Matrices below 2^31 elements keep split * k_tiles * clusters below 2^31 on the GPUs there are.
class Share {
 public:
  __device__ __forceinline__ Share(int cluster, int clusters, int tiles, int split, int k_tiles)
      : clusters_(clusters),
        tiles_(tiles),
        k_tiles_(k_tiles),
        next_(split + cluster),
        begin_(split * k_tiles * cluster / clusters),
        end_(split * k_tiles * (cluster + 1) / clusters) {}

  __device__ __forceinline__ bool empty() const { return next_ >= tiles_ && begin_ == end_; }

  // Takes the next piece; false when nothing is left.
  __device__ __forceinline__ bool take(Piece& piece) {
    if (empty()) return false;
    if (next_ < tiles_) {
      piece = {next_, 0, k_tiles_};
      next_ += clusters_;
    } else {
      const int tile = (end_ - 1) / k_tiles_, first = tile * k_tiles_;
      piece = {tile, max(begin_ - first, 0), end_ - first};
      end_ = first + piece.begin;
    }
    return true;
  }

 private:
  int clusters_, tiles_, k_tiles_;
  int next_;         // whole tile
  int begin_, end_;  // K tiles of the split tiles, numbered through
};

}  // namespace lab
