#include "emulator/runtime/other_ptx.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>

#include "emulator/findings/report.hpp"

namespace emu {
namespace {

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$';
}

std::set<std::string> entries(const std::string& text) {
  static const std::string kEntry = ".entry";
  std::set<std::string> found;
  for (size_t at = text.find(kEntry); at != std::string::npos; at = text.find(kEntry, at)) {
    at += kEntry.size();
    const auto begin = std::find_if(text.begin() + at, text.end(), is_name);
    found.emplace(begin, std::find_if_not(begin, text.end(), is_name));
  }
  return found;
}

// "47_INTERNAL_cdf61ae4_20_05_tma_multistage_cu_main": a mangled name says its length first. Empty: there is none.
std::string own_prefix(const std::string& text, const std::string& marker) {
  const size_t at = text.find(marker);
  if (at == std::string::npos) return "";
  size_t begin = at;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(text[begin - 1]))) --begin;
  if (begin == at) return "";
  const size_t length = static_cast<size_t>(std::atoi(text.substr(begin, at - begin).c_str()));
  return text.substr(begin, at - begin + length);
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  if (from.empty() || to.empty()) return;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

[[noreturn]] void refuse(const std::string& title, const std::string& why) {
  Finding finding(Id::ptx_file);
  finding.title = title;
  finding.why = why;
  finding.hint =
      "make the file with nvcc -ptx from a source that differs in its device code alone, or run without "
      "EMU_PTX";
  throw Fault(finding);
}

}  // namespace

OtherPtx::OtherPtx(std::string path, std::string text) : path_(std::move(path)), text_(std::move(text)) {}

std::string OtherPtx::in_place_of(const std::string& own, const std::set<std::string>& launched) {
  std::set<std::string> kernels;
  const std::set<std::string> here = entries(own);
  std::set_intersection(launched.begin(), launched.end(), here.begin(), here.end(),
                        std::inserter(kernels, kernels.end()));
  std::string text = text_;
  for (const char* marker : {"_INTERNAL_", "_GLOBAL__N__"})
    replace_all(text, own_prefix(text, marker), own_prefix(own, marker));
  const std::set<std::string> there = entries(text);
  const auto missing =
      std::find_if(kernels.begin(), kernels.end(), [&](const std::string& k) { return !there.count(k); });
  if (missing == kernels.end() && !kernels.empty()) {
    taken_ = true;
    return text;
  }
  const bool none =
      std::none_of(kernels.begin(), kernels.end(), [&](const std::string& k) { return there.count(k) != 0; });
  if (!none)
    refuse("EMU_PTX=" + path_ + " has no kernel " + *missing,
           "the program launches it beside others that the file has");
  return own;
}

void OtherPtx::require_taken() const {
  if (!taken_)
    refuse("EMU_PTX=" + path_ + " has none of the kernels that this program launches",
           "it was made from another program");
}

}  // namespace emu
