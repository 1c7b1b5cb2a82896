#include "model.hpp"

#include <cstring>
#include <map>
#include <stdexcept>

namespace fuzz {

using emu::Swizzle;

namespace {

// Bytes from one index of dimension i of the input tensor to the next.
uint64_t stride(const Pipeline& p, unsigned i) {
  if (i == 0) return p.element_bytes();
  const uint64_t row = Pipeline::round_up(p.size[0] * p.element_bytes(), 16) + 16 * p.row_padding;
  return i == 1 ? row : row * p.size[1];
}

uint64_t input_bytes(const Pipeline& p) {
  if (p.load != Load::tensor)
    return uint64_t{p.all_boxes() + 2} * p.boxes * p.box_bytes();  // and some to go astray
  return stride(p, 2) * p.size[2] + 256;
}

// The byte of the input that byte `at` of box `number` is a copy of; -1: it lies outside of the tensor and is zero.
int64_t source(const Pipeline& p, unsigned number, uint32_t at) {
  if (p.load != Load::tensor) return int64_t{number} * p.box_bytes() + at;
  const uint32_t row = at / p.inner();
  const int64_t index[3] = {at % p.inner() / p.element_bytes(), row % p.box[1], row / p.box[1]};
  int64_t byte = at % p.element_bytes();
  for (unsigned i = 0; i < 3; ++i) {
    const int64_t here = index[i] + p.offset[i] + (i + 1 == p.rank ? int64_t{number} * p.box[i] : 0);
    if (here < 0 || here >= p.size[i]) return -1;
    byte += here * static_cast<int64_t>(stride(p, i));
  }
  return byte;
}

// The words of the tile that a CTA uses in a round.
std::vector<uint32_t> tile(const Pipeline& p, const std::vector<uint8_t>& input, unsigned cta,
                           unsigned round) {
  std::vector<uint32_t> words(p.tile_bytes() / 4);
  auto* bytes = reinterpret_cast<uint8_t*>(words.data());
  const unsigned first = ((p.cluster ? 0 : cta * p.rounds) + round) * p.boxes;
  for (uint32_t at = 0; at < p.tile_bytes(); ++at) {
    const int64_t from = source(p, first + at / p.box_bytes(), at % p.box_bytes());
    bytes[at] = from < 0 ? 0 : input[static_cast<size_t>(from)];
  }
  return words;
}

std::vector<uint8_t> encode(int type, uint32_t rank, uint64_t address, const uint64_t* size,
                            const uint64_t* strides, const uint32_t* box, Swizzle swizzle, std::string* why) {
  alignas(64) uint8_t bytes[emu::kTensorMapBytes];
  rules::TensorMapArguments a;
  a.type = type;
  a.rank = rank;
  a.address = address;
  std::copy_n(size, rank, a.size);
  std::copy_n(strides, rank - 1, a.stride_bytes);
  std::copy_n(box, rank, a.box);
  a.swizzle = static_cast<int>(swizzle);
  if (emu::encode_tensor_map(bytes, a, why) != emu::kTensorMapSuccess) return {};
  return std::vector<uint8_t>(bytes, bytes + sizeof bytes);
}

std::vector<uint8_t> encode_input(const Pipeline& p, uint64_t address, Swizzle swizzle, std::string* why) {
  const uint64_t size[3] = {p.size[0], p.size[1], p.size[2]}, strides[2] = {stride(p, 1), stride(p, 2)};
  return encode(static_cast<int>(p.type), p.rank, address, size, strides, p.box, swizzle, why);
}

}  // namespace

std::vector<uint8_t> input_of(const Pipeline& p) {
  std::vector<uint8_t> bytes(input_bytes(p));
  std::mt19937_64 random(p.seed ^ 0x5EED);
  if (p.multiplies()) {  // -4 .. 4 as bf16: all sums are exact
    static const uint16_t kValues[] = {0xC080, 0xC040, 0xC000, 0xBF80, 0, 0x3F80, 0x4000, 0x4040, 0x4080};
    for (size_t i = 0; i + 1 < bytes.size(); i += 2)
      std::memcpy(&bytes[i], &kValues[(random() >> 24) % 9], 2);
    return bytes;
  }
  for (auto& b : bytes) b = static_cast<uint8_t>(random() >> 24);
  return bytes;
}

namespace {

float from_bf16(uint16_t bits) {
  const uint32_t word = uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

// Each thread's four accumulators (PTX ISA 9.7.15.5.1.1): rows lane / 4 and + 8 of its warp's 16, columns
// 2 * (lane % 4) and + 1.
std::vector<uint8_t> products(const Pipeline& p, const std::vector<uint8_t>& input) {
  std::vector<float> out(size_t{p.ctas} * p.consumer_threads() * 4);
  const unsigned depth = p.inner() / 2;
  for (unsigned cta = 0; cta < p.ctas; ++cta)
    for (unsigned round = 0; round < p.rounds; ++round) {
      const auto words = tile(p, input, cta, round);
      const auto* elements = reinterpret_cast<const uint8_t*>(words.data());
      auto at = [&](unsigned row, unsigned k) {
        uint16_t bits;
        std::memcpy(&bits, elements + 2 * (row * depth + k), 2);
        return from_bf16(bits);
      };
      for (unsigned thread = 0; thread < p.consumer_threads(); ++thread)
        for (unsigned block = thread / 128; block < p.blocks(); block += p.warpgroups())
          for (unsigned i = 0; i < 4; ++i) {
            const unsigned row = 64 * block + thread % 128 / 32 * 16 + thread % 32 / 4 + i / 2 * 8;
            const unsigned column = thread % 4 * 2 + i % 2;
            float& sum = out[(size_t{cta} * p.consumer_threads() + thread) * 4 + i];
            for (unsigned k = 0; k < depth; ++k) sum += at(row, k) * at(column, k);
          }
    }
  std::vector<uint8_t> bytes(out.size() * 4);
  std::memcpy(bytes.data(), out.data(), bytes.size());
  return bytes;
}

}  // namespace

std::vector<uint8_t> expected(const Pipeline& p, const std::vector<uint8_t>& input) {
  if (p.multiplies()) return products(p, input);
  const unsigned words = p.tile_bytes() / 4, threads = p.consumer_threads(), per_read = p.read_unit / 4;
  std::vector<uint32_t> out(p.consume == Consume::sum ? p.ctas * threads
                                                      : size_t{p.ctas} * (p.adds() ? 1 : p.rounds) * words);
  for (unsigned cta = 0; cta < p.ctas; ++cta)
    for (unsigned round = 0; round < p.rounds; ++round) {
      const auto in = tile(p, input, cta, round);
      const size_t to = (p.adds() ? cta : size_t{cta} * p.rounds + round) * words;
      for (unsigned w = 0; w < words; ++w) {
        uint32_t& user = out[p.consume == Consume::sum ? cta * threads + w / per_read % threads : to + w];
        if (p.consume == Consume::sum)
          user = user * 31 + in[w];
        else
          user = (p.adds() ? user : 0) + (p.consume == Consume::copy ? in[w] : in[w] * 3 + w);
      }
    }
  std::vector<uint8_t> bytes(out.size() * 4);
  std::memcpy(bytes.data(), out.data(), bytes.size());
  return bytes;
}

std::vector<uint8_t> input_map(const Pipeline& p, uint64_t address, Swizzle swizzle) {
  if (p.load != Load::tensor) return std::vector<uint8_t>(emu::kTensorMapBytes);
  std::string why;
  auto map = encode_input(p, address, swizzle, &why);
  if (map.empty())
    throw std::runtime_error("the generator made a tensor that has no map: " + why + "\n" + describe(p));
  return map;
}

bool can_encode(const Pipeline& p, Swizzle swizzle) {
  std::string why;
  return p.load == Load::tensor && !encode_input(p, 4096, swizzle, &why).empty();
}

std::vector<uint8_t> output_map(const Pipeline& p, uint64_t address) {
  if (!p.stores_out() || p.store == Store::bulk || p.store == Store::bulk_add)
    return std::vector<uint8_t>(emu::kTensorMapBytes);
  const uint64_t size[2] = {p.inner() / 4, uint64_t{p.ctas} * (p.adds() ? 1 : p.rounds) * p.boxes * p.rows()};
  const uint64_t strides[1] = {p.inner()};
  const uint32_t box[2] = {p.inner() / 4, p.rows()};
  std::string why;
  auto map = encode(static_cast<int>(emu::ElementType::u32), 2, address, size, strides, box,
                    p.consume == Consume::staged ? p.out_swizzle : p.swizzle, &why);
  if (map.empty())
    throw std::runtime_error("the generator made an output that has no map: " + why + "\n" + describe(p));
  return map;
}

bool reads_differ(const Pipeline& p, Swizzle written, Swizzle read, uint32_t shift) {
  const auto input = input_of(p);
  for (unsigned cta = 0; cta < p.ctas; ++cta)
    for (unsigned round = 0; round < p.rounds; ++round) {
      const auto words = tile(p, input, cta, round);
      // From the first stage's start: the shared memory of the tiles is aligned to every period.
      const uint32_t base = round % p.stages * p.stage_stride() + shift;
      auto place = [&](uint32_t word, Swizzle s, unsigned pitch, bool relative) {
        const uint32_t box = 4 * word / p.box_bytes(), at = 4 * word % p.box_bytes();
        const uint32_t start = base + box * p.box_stride(), offset = at / p.inner() * pitch + at % p.inner();
        return relative ? start + emu::swizzled(s, offset) : emu::swizzled(s, start + offset);
      };
      std::map<uint32_t, uint32_t> shared;
      const bool by_hand = !p.engine();
      for (uint32_t w = 0; w < words.size(); ++w)
        shared[place(w, written, Pipeline::pitch(written, p.inner()), by_hand && p.relative)] = words[w];
      for (uint32_t w = 0; w < words.size(); ++w) {
        auto found = shared.find(place(w, read, p.pitch(), p.relative));
        if (found == shared.end() || found->second != words[w]) return true;
      }
    }
  return false;
}

bool boxes_differ(const Pipeline& p) {
  const auto input = input_of(p);
  auto byte = [&](unsigned number, uint32_t at) {
    const int64_t from = source(p, number, at);
    return from < 0 ? 0 : input[static_cast<size_t>(from)];
  };
  for (unsigned n = 0; n < p.all_boxes(); ++n)
    for (uint32_t at = 0; at < p.box_bytes(); ++at)
      if (byte(n, at) != byte(n + 1, at)) return true;
  return false;
}

}  // namespace fuzz
