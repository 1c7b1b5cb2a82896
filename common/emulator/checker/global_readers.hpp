// Global memory that is read and then written. Most of what is read is never written, so its readers are kept by words,
// and of many only two: a reader takes the place of those that it is ordered after; of others that nothing orders, the
// lowest and the highest stay, by cluster, CTA, warp and lane. So what is found does not depend on the schedule, and a
// writer that has read the word itself meets another reader if there is one.
#pragma once

#include "emulator/checker/conflicts.hpp"

namespace emu::check {

class GlobalReaders {
 public:
  GlobalReaders(Past& past, Conflicts& conflicts) : past_(past), conflicts_(conflicts) {}
  GlobalShadow& shadow() { return shadow_; }
  void start() {  // another access
    for (Seen& r : seen_) r.record = 0;
    good_readers_ = 0;
  }
  void note_read(const Accessor& who, uint64_t address, uint64_t bytes, Tag me);
  void note_words(const Accessor& who, Readers& page, size_t first, size_t end, Tag me);  // tags of the page
  void check_write(const Accessor& who, uint64_t address, uint64_t bytes, bool strong);
  void forget(uint64_t address, uint64_t bytes);  // whoever used the memory before has freed it

 private:
  Past& past_;
  Conflicts& conflicts_;
  GlobalShadow shadow_;
  Tag good_readers_ = 0;  // that the accessor at hand is ordered after

  // What the accessor has to do with the readers of a tag's record; kept while neighbouring words meet the same record.
  struct Seen {
    uint32_t record = 0;
    uint32_t before = 0;  // lanes whose read all lanes of the instruction are ordered after
    uint64_t place = 0;   // in the order of the grid, but for the lane
    bool mine = false;    // threads of the accessor's own warp
    bool open = false;    // of lanes that are not in `before` there is more to be said
  };
  Seen seen_[3];  // by the access at hand: of the one reader, of the other, of itself
  const Seen& look(const Accessor& who, Seen& seen, Tag tag);
  bool stands_for(const Accessor& who, const Seen& r, Tag earlier, Tag me) const;
  bool landed_somewhere(const Accessor& who, Tag read) const;
  std::pair<Tag, Tag> two_readers(const Accessor& who, Tag one, Tag other, Tag me);
};

}  // namespace emu::check
