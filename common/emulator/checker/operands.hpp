// Where the bytes of a wgmma's operands come from: a matrix descriptor with a wrong start, offset or N reads bytes that are there,
// but not those of its tile. Told of are operands that run from one object into the next, read bytes twice, or take rows and
// K columns of boxes that do not belong together.
#pragma once

#include <optional>
#include <vector>

#include "emulator/checker/accesses.hpp"

namespace emu {
struct MatrixDescriptor;
struct WgmmaOp;
}  // namespace emu

namespace emu::check {

class OperandRule {
 public:
  OperandRule(Past& past, AccessRule& accesses, Teller& tell)
      : past_(past), accesses_(accesses), tell_(tell) {}
  void wgmma_issued(const AsyncOp& op, const Accessor& who);

 private:
  Past& past_;
  AccessRule& accesses_;
  Teller& tell_;

  struct Operand {
    const char* name;
    const MatrixDescriptor& d;
    bool mn_major = false;
    int first_row = 0, rows = 0;
  };
  // The first chunk of eight rows that lie one behind the other, and where in a tensor it comes from.
  struct Piece {
    uint32_t address = 0;
    uint32_t row = 0, k = 0;  // in the operand; k in bytes where it is K-major, else in rows of the tile
    const Operation* copy =
        nullptr;  // the tensor copy that brought it, where its box is simple; null: not known
    uint32_t box_row = 0, box_column = 0;  // in its box; the column in bytes
  };
  std::vector<Piece> pieces_;  // of the operand at hand

  void find_pieces(const Operand& operand, const Cta& cta);
  bool check(const Operand& operand, const Accessor& who);
  const Piece* into_other_object(const Operand& operand) const;
  const Piece* read_twice(const Operand& operand) const;
  const Piece* other_column(const Operand& operand) const;
  const Piece* other_row(const Operand& operand) const;
  void check_columns(const Operand& a, const Piece& first_a, const Operand& b, const Piece& first_b,
                     const Accessor& who);
  std::string place_of(const Piece& piece) const;
  void tell(const Operand& operand, const Accessor& who, const Piece& piece, const std::string& title,
            const char* why);
};

}  // namespace emu::check
