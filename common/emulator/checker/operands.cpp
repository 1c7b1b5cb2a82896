#include "emulator/checker/operands.hpp"

#include <algorithm>
#include <set>

#include "emulator/checker/copied_boxes.hpp"
#include "emulator/machine/wgmma.hpp"

namespace emu::check {

namespace {

// Where a piece is along K: in its box, and in the tensor. In elements.
struct Column {
  int64_t in_box = 0, in_tensor = 0, extent = 0;
};

// Two columns are the same where either says so: heads and batches start elsewhere in the tensor, and a part of a box elsewhere
// in the box.
bool agree(const Column& a, const Column& b, int64_t distance = 0) {
  const int64_t shorter = std::min(a.extent, b.extent), longer = std::max(a.extent, b.extent);
  if (shorter == 0 || longer % shorter) return true;
  return a.in_tensor + distance == b.in_tensor || (a.in_box + distance - b.in_box) % shorter == 0;
}

}  // namespace

// One piece for each 8 rows and each step along K that an offset of the descriptor leads to.
void OperandRule::find_pieces(const Operand& operand, const Cta& cta) {
  pieces_.clear();
  const MatrixDescriptor& d = operand.d;
  const uint32_t span = swizzle_span(d.swizzle), steps = operand.mn_major || !span ? 2 : 1;
  const uint32_t width = !operand.mn_major ? 1 : span ? span / kChunkBytes : 1;  // chunks of 8 rows in a line
  for (int row = operand.first_row; row < operand.first_row + operand.rows; row += 8) {
    const uint32_t group = static_cast<uint32_t>(row) / 8;
    if (group % width && row != operand.first_row) continue;
    for (uint32_t step = 0; step < steps; ++step) {
      Piece p;
      p.row = static_cast<uint32_t>(row);
      uint32_t linear = d.start;
      if (operand.mn_major) {
        p.k = step * 8;
        linear += group % width * kChunkBytes + group / width * (span ? d.leading : d.stride) +
                  step * (span ? d.stride : d.leading);
      } else {
        p.k = step * kChunkBytes;
        linear += group * d.stride + step * d.leading;
      }
      p.address = d.place(linear);
      const Operation* op = past_.operation(accesses_.writer(cta, p.address));
      if (op && op->kind == AsyncOp::Kind::tensor_load && op->dense && op->pitch &&
          op->swizzle == d.swizzle) {
        const uint32_t offset = swizzled(op->swizzle, p.address) - op->tile;
        p.copy = op;
        p.box_row = offset / op->pitch;
        p.box_column = offset % op->pitch;
      }
      pieces_.push_back(p);
    }
  }
}

std::string OperandRule::place_of(const Piece& p) const {
  std::string text_of = tell_.program().shared_name(p.address);
  if (p.copy)
    text_of += text(", row ", p.box_row, " of the box at ", box_text(p.copy->start, p.copy->dimensions),
                    " of ", tell_.line(p.copy->source).brief());
  return text_of;
}

void OperandRule::tell(const Operand& operand, const Accessor& who, const Piece& piece,
                       const std::string& title, const char* why) {
  if (!tell_.wanted(16 + static_cast<uint32_t>(operand.name[0]), who.inst->source)) return;
  Finding f(Id::operand_mismatch);
  f.title = title;
  f.state = text(operand.d.text(), "\n", operand.name, "[", pieces_[0].row, "] starts at ",
                 place_of(pieces_[0]), "\n", operand.name, "[", piece.row, "], k ",
                 operand.mn_major ? piece.k : piece.k / 2, " is at ", place_of(piece));
  f.why = why;
  f.hint =
      operand.mn_major
          ? "where rows are neighbours, the leading offset goes to the next panel of as many rows as the swizzle spans (rows of K in "
            "the box times the span), the stride offset to the next 8 of k"
          : "along K, the stride offset goes to the next 8 rows (8 times the row of the tile: 1024 bytes with the 128-byte "
            "swizzle), and the tile has as many rows as the instruction's M or N";
  tell_.tell(std::move(f), who, piece.copy ? piece.copy->source : -1);
}

// Two variables, or members that the program has named.
const OperandRule::Piece* OperandRule::into_other_object(const Operand&) const {
  const SharedVariable* first = tell_.program().names.object(pieces_[0].address);
  if (!first) return nullptr;
  for (const Piece& p : pieces_) {
    const SharedVariable* object = tell_.program().names.object(p.address);
    if (object && object != first) return &p;
  }
  return nullptr;
}

// Offsets that are not 0 and yet come back to bytes that have been read.
const OperandRule::Piece* OperandRule::read_twice(const Operand& operand) const {
  const MatrixDescriptor& d = operand.d;
  const bool leading_used = operand.mn_major ? true : d.swizzle == Swizzle::none;
  if (d.stride == 0 || (leading_used && d.leading == 0)) return nullptr;
  uint32_t bytes = 0;  // each once
  for (const auto& range : operand_places(d, operand.mn_major, operand.first_row, operand.rows).ranges)
    bytes += range.second;
  if (bytes == static_cast<uint32_t>(operand.rows * kOperandRowBytes)) return nullptr;
  std::set<uint32_t> starts;
  for (const Piece& p : pieces_)
    if (!starts.insert(p.address).second) return &p;
  return &pieces_.back();
}

namespace {

std::optional<Column> column_of(const Operation* copy, uint32_t box_row, uint32_t box_column, bool mn_major) {
  if (!copy || !copy->flat || !copy->element_bytes) return std::nullopt;
  Column c;
  c.in_box = mn_major ? box_row : box_column / copy->element_bytes;
  c.extent = mn_major ? copy->rows : copy->row_bytes / copy->element_bytes;
  c.in_tensor = copy->start[mn_major ? 1 : 0] + c.in_box;
  return c;
}

}  // namespace

const OperandRule::Piece* OperandRule::other_column(const Operand& operand) const {
  const Piece& first = pieces_[0];
  const auto start = column_of(first.copy, first.box_row, first.box_column, operand.mn_major);
  if (!start) return nullptr;
  for (const Piece& p : pieces_) {
    const auto column = column_of(p.copy, p.box_row, p.box_column, operand.mn_major);
    const int64_t distance = operand.mn_major ? p.k : p.k / first.copy->element_bytes;
    if (column && !agree(*start, *column, distance)) return &p;
  }
  return nullptr;
}

// Of one box, rows that are not one behind the other.
const OperandRule::Piece* OperandRule::other_row(const Operand& operand) const {
  if (operand.mn_major) return nullptr;
  const Piece* before = nullptr;
  for (const Piece& p : pieces_) {
    if (p.k) continue;
    if (before && before->copy && before->copy == p.copy && p.box_row != before->box_row + 8) return &p;
    before = &p;
  }
  return nullptr;
}

bool OperandRule::check(const Operand& operand, const Accessor& who) {
  find_pieces(operand, who.cta());
  const std::string name = operand.name;
  if (const Piece* p = into_other_object(operand)) {
    tell(
        operand, who, *p,
        text("wgmma reads ", name, " from '", tell_.program().names.object(pieces_[0].address)->name,
             "' and, past its end, from '", tell_.program().names.object(p->address)->name, "'"),
        "The rows that the instruction takes, and the descriptor's offsets between them, reach beyond the tile at its start.");
  } else if (const Piece* twice = read_twice(operand)) {
    tell(operand, who, *twice, text("wgmma reads the same bytes for several rows of ", name),
         "An offset of the descriptor is smaller than what lies between two steps.");
  } else if (const Piece* column = other_column(operand)) {
    tell(
        operand, who, *column,
        text("the rows of ", name, " that wgmma reads are from different K columns of their tiles"),
        "Every row of an operand brings the same K columns; here an offset of the descriptor leads to another place in the tile.");
  } else if (const Piece* row = other_row(operand)) {
    tell(operand, who, *row,
         text("the rows of ", name, " that wgmma reads are not one behind the other in their tile"),
         "The stride offset leads past rows of the tile, or into another one.");
  } else {
    return true;
  }
  return false;
}

void OperandRule::check_columns(const Operand& a, const Piece& first_a, const Operand& b,
                                const Piece& first_b, const Accessor& who) {
  const auto of_a = column_of(first_a.copy, first_a.box_row, first_a.box_column, a.mn_major);
  const auto of_b = column_of(first_b.copy, first_b.box_row, first_b.box_column, b.mn_major);
  if (!of_a || !of_b || agree(*of_a, *of_b) || !tell_.wanted(16, who.inst->source)) return;
  Finding f(Id::operand_mismatch);
  f.title =
      text("wgmma multiplies K column ", of_a->in_tensor, " of A by K column ", of_b->in_tensor, " of B");
  f.state = text("A starts at ", place_of(first_a), ", column ", of_a->in_box, " of it along K\nB starts at ",
                 place_of(first_b), ", column ", of_b->in_box, " of it along K");
  f.why = "A product sums over k: element k of a row of A belongs to element k of a row of B.";
  f.hint =
      "advance both descriptors by as many elements of K for each wgmma: 32 bytes where K is innermost, 16 rows of the tile "
      "where it is not";
  tell_.tell(std::move(f), who, first_b.copy->source);
}

void OperandRule::wgmma_issued(const AsyncOp& op, const Accessor& who) {
  const auto& mma = static_cast<const WgmmaOp&>(op);
  const Operand b{"B", mma.b, mma.shape.b_mn_major, 0, mma.shape.n};
  const Operand a{"A", mma.a, mma.shape.a_mn_major, mma.quarter * 16, 16};
  bool right = true;
  Piece first_b;
  if (mma.quarter == 0) {  // all four warps read the same B
    right = check(b, who);
    first_b = pieces_[0];
  }
  if (mma.shape.a_in_registers || !check(a, who) || !right) return;
  if (mma.quarter == 0) check_columns(a, Piece(pieces_[0]), b, first_b, who);
}

}  // namespace emu::check
