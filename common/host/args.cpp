#include "host/args.hpp"

#include <charconv>
#include <limits>

namespace lab {
namespace {

// `text` as a whole number in [least, most]; the sentence of a failure names `option`.
template <class T>
T number(const std::string& option, const std::string& text, T least, T most) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = end == text.data() + text.size() && error != std::errc::invalid_argument;
  if (!whole) throw UsageError(option + " takes a whole number, not \"" + text + "\"");
  if (error == std::errc::result_out_of_range || value < least || value > most) {
    throw UsageError(option + " " + text + " is out of range: it takes " + std::to_string(least) + " to " +
                     std::to_string(most));
  }
  return value;
}

// 16 hexadecimal digits, as matrix_hash writes them.
std::string hash(const std::string& option, const std::string& text) {
  if (text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos) return text;
  throw UsageError(option + " takes the 16 hexadecimal digits of a result_hash, not \"" + text + "\"");
}

std::string one_of(const std::string& option, const std::string& text,
                   const std::vector<std::string>& choices) {
  std::string list;
  for (const std::string& choice : choices) {
    if (text == choice) return text;
    list += (list.empty() ? "" : ", ") + choice;
  }
  throw UsageError(option + " takes one of " + list + ", not \"" + text + "\"");
}

void check_matrix(const char* name, const char* sizes, int rows, int cols) {
  const long long elements = static_cast<long long>(rows) * cols;
  if (elements > std::numeric_limits<int>::max()) {
    throw UsageError(
        std::string("matrix ") + name + " (" + sizes + " = " + std::to_string(rows) + " x " +
        std::to_string(cols) + ") has " + std::to_string(elements) +
        " elements; the kernels' 32-bit offsets allow fewer than 2147483648: choose smaller sizes");
  }
}

void check_multiple(const char* option, int value) {
  if (value % 8 == 0) return;
  const long long below = value / 8 * 8LL, above = below + 8;
  throw UsageError(std::string(option) + " " + std::to_string(value) +
                   " is not a multiple of 8: rows of bf16 must be multiples of 16 bytes; try " +
                   (below > 0 ? std::to_string(below) + " or " : "") + std::to_string(above));
}

}  // namespace

Options parse_options(const std::vector<std::string>& arguments, const std::vector<ExtraOption>& extra) {
  constexpr int kMax = std::numeric_limits<int>::max();
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& option = arguments[i];
    const auto value = [&]() -> const std::string& {
      if (i + 1 >= arguments.size()) throw UsageError(option + " needs a value after it");
      return arguments[++i];
    };
    bool known = false;
    std::vector<std::string> choices;  // of an extra option with a value
    for (const ExtraOption& candidate : extra) {
      if (option == candidate.name) options.variant = option, known = true;
      if (candidate.name.rfind(option + " ", 0) == 0)
        choices.push_back(candidate.name.substr(option.size() + 1));
    }
    if (!choices.empty()) options.variant = option + " " + one_of(option, value(), choices), known = true;
    if (known) continue;
    if (option == "--m") {
      options.m = number(option, value(), 1, kMax);
    } else if (option == "--n") {
      options.n = number(option, value(), 1, kMax);
    } else if (option == "--k") {
      options.k = number(option, value(), 1, kMax);
    } else if (option == "--seed") {
      options.seed = number<uint64_t>(option, value(), 0, std::numeric_limits<uint64_t>::max());
    } else if (option == "--sms") {
      options.sms = number(option, value(), 2, kMax);
    } else if (option == "--repeat") {
      options.repeat = number(option, value(), 1, 100000);
    } else if (option == "--json") {
      options.json = value();
      if (options.json.empty()) throw UsageError("--json takes a file name, or - for the standard output");
    } else if (option == "--data") {
      options.data = one_of(option, value(), {"bell", "integers"}) == "bell" ? Data::kBell : Data::kIntegers;
    } else if (option == "--impostor") {
      options.impostor = one_of(option, value(), {"none", "zeros", "nan"});
    } else if (option == "--cublas") {
      options.cublas = true;
    } else if (option == "--state") {
      options.cool = one_of(option, value(), {"sustained", "cool"}) == "cool";
    } else if (option == "--known") {
      options.known = hash(option, value());
    } else if (option == "--help" || option == "-h") {
      options.help = true;
    } else {
      throw UsageError("unknown option \"" + option + "\"");
    }
  }
  return options;
}

void check_sizes(int m, int n, int k) {
  check_multiple("--n", n);
  check_multiple("--k", k);
  check_matrix("A", "m x k", m, k);
  check_matrix("B", "n x k", n, k);
  check_matrix("C", "m x n", m, n);
}

std::string usage(const std::string& program, const std::string& title,
                  const std::vector<ExtraOption>& extra) {
  std::string text =
      program + ": " + title +
      "\n\n"
      "Computes C = A * B^T (A: M x K, B: N x K, C: M x N; bf16 in and out, float sums), checks every\n"
      "element against a reference of higher precision, and reports the time.\n\n"
      "  --m M --n N --k K  sizes; N and K multiples of 8 (default: 256 emulated, 4096 on a GPU)\n"
      "  --data KIND        bell: bell-shaped in [-1, 1] (default); integers: the result must be exact\n"
      "  --seed S           seed of the inputs (default 1)\n"
      "  --repeat R         timing samples (default: 1 emulated, 20 on a GPU)\n"
      "  --sms N            use N multiprocessors, at least 2, instead of all (lessons 10, 11)\n"
      "  --cublas           time cuBLASLt's best algorithm in turns with the kernel (GPU only)\n"
      "  --state STATE      with --cublas: sustained (default): no pause between samples, after warming up;\n"
      "                     cool: short samples, each after a pause\n"
      "  --known HASH       result_hash of a run with the same sizes, seed and data that was compared with "
      "the\n"
      "                     reference: an equal result is not compared again\n"
      "  --json FILE        also write the results as one JSON object; - for the standard output\n"
      "  --help             this text\n";
  for (const ExtraOption& option : extra) {
    text += "  " + option.name + std::string(option.name.size() < 17 ? 19 - option.name.size() : 2, ' ') +
            option.help + "\n";
  }
  text +=
      "\nExit code: 0 right, 1 wrong or a finding of the emulator, 2 bad arguments or environment,\n"
      "3 a TODO is still open, 77 skipped because there is no usable device.\n";
  return text;
}

}  // namespace lab
