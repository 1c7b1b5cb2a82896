// The command line: what is accepted, and that each refusal names the argument and the rule.
#include "host/args.hpp"

#include <doctest/doctest.h>

using lab::Options;
using lab::UsageError;

namespace {

const std::vector<lab::ExtraOption> kExtra = {
    {"--bulk", "another kernel"}, {"--stages 2", "a short ring"}, {"--stages 4", "a long one"}};

Options parse(const std::vector<std::string>& arguments) {
  return lab::parse_options(arguments, kExtra);
}

}  // namespace

TEST_CASE("every option is understood") {
  const Options options =
      parse({"--m",        "128",      "--n",      "256",      "--k",     "64",
             "--seed",     "7",        "--repeat", "3",        "--json",  "-",
             "--data",     "integers", "--bulk",   "--cublas", "--known", "0123456789abcdef",
             "--impostor", "nan"});
  CHECK(options.m == 128);
  CHECK(options.n == 256);
  CHECK(options.k == 64);
  CHECK(options.seed == 7);
  CHECK(options.repeat == 3);
  CHECK(options.json == "-");
  CHECK(options.data == lab::Data::kIntegers);
  CHECK(options.variant == "--bulk");
  CHECK(options.impostor == "nan");
  CHECK(options.cublas);
  CHECK(options.known == "0123456789abcdef");
  CHECK(!options.help);
  CHECK(parse({"--help"}).help);
  CHECK(parse({}).m == 0);
}

TEST_CASE("a number that is none, or out of range, is refused by name") {
  CHECK_THROWS_WITH_AS(parse({"--m", "12x"}), doctest::Contains("--m takes a whole number, not \"12x\""),
                       UsageError);
  CHECK_THROWS_WITH_AS(parse({"--m", ""}), doctest::Contains("--m takes a whole number"), UsageError);
  CHECK_THROWS_WITH_AS(parse({"--k", "0"}), doctest::Contains("--k 0 is out of range"), UsageError);
  CHECK_THROWS_WITH_AS(parse({"--n", "-8"}), doctest::Contains("--n -8 is out of range"), UsageError);
  CHECK_THROWS_WITH_AS(parse({"--m", "99999999999"}),
                       doctest::Contains("out of range: it takes 1 to 2147483647"), UsageError);
  CHECK_THROWS_WITH_AS(parse({"--seed", "1.5"}), doctest::Contains("--seed takes a whole number"),
                       UsageError);
  CHECK_THROWS_WITH_AS(parse({"--sms", "1"}), doctest::Contains("--sms 1 is out of range"), UsageError);
  CHECK_THROWS_WITH_AS(parse({"--repeat", "0"}), doctest::Contains("--repeat 0 is out of range"), UsageError);
}

TEST_CASE("an unknown option, word or a missing value is refused by name") {
  CHECK_THROWS_WITH_AS(parse({"--size", "8"}), doctest::Contains("unknown option \"--size\""), UsageError);
  CHECK_THROWS_WITH_AS(parse({"8"}), doctest::Contains("unknown option \"8\""), UsageError);
  CHECK_THROWS_WITH_AS(parse({"--m"}), doctest::Contains("--m needs a value"), UsageError);
  CHECK_THROWS_WITH_AS(parse({"--data", "zeros"}), doctest::Contains("bell, integers"), UsageError);
  CHECK_THROWS_WITH_AS(parse({"--known", "0123"}),
                       doctest::Contains("--known takes the 16 hexadecimal digits"), UsageError);
  CHECK_THROWS_WITH_AS(parse({"--known", "0123456789ABCDEF"}), doctest::Contains("not \"0123456789ABCDEF\""),
                       UsageError);
  CHECK_THROWS_WITH_AS(parse({"--json", ""}), doctest::Contains("--json takes a file name"), UsageError);
}

TEST_CASE("an option of the lesson takes the values that are built, and no other") {
  CHECK(parse({"--stages", "4"}).variant == "--stages 4");
  CHECK_THROWS_WITH_AS(parse({"--stages", "9"}), doctest::Contains("--stages takes one of 2, 4, not \"9\""),
                       UsageError);
  CHECK_THROWS_WITH_AS(parse({"--stages"}), doctest::Contains("--stages needs a value"), UsageError);
}

TEST_CASE("sizes: n and k are multiples of 8, m is free, no matrix reaches 2^31 elements") {
  CHECK_NOTHROW(lab::check_sizes(1, 8, 8));
  CHECK_NOTHROW(lab::check_sizes(32767, 65528, 32768));
  CHECK_THROWS_WITH_AS(lab::check_sizes(128, 128, 100), doctest::Contains("--k 100 is not a multiple of 8"),
                       UsageError);
  CHECK_THROWS_WITH_AS(lab::check_sizes(128, 100, 64), doctest::Contains("try 96 or 104"), UsageError);
  CHECK_THROWS_WITH_AS(lab::check_sizes(128, 4, 64), doctest::Contains("try 8"), UsageError);
  CHECK_THROWS_WITH_AS(lab::check_sizes(65536, 8, 32768),
                       doctest::Contains("matrix A (m x k = 65536 x 32768)"), UsageError);
  CHECK_THROWS_WITH_AS(lab::check_sizes(8, 65536, 65536), doctest::Contains("matrix B"), UsageError);
  CHECK_THROWS_WITH_AS(lab::check_sizes(2147483647, 2147483640, 8),
                       doctest::Contains("fewer than 2147483648"), UsageError);
}

TEST_CASE("the help text names every option") {
  const std::string text = lab::usage("04_tma_single_stage", "one thread", kExtra);
  for (const char* option : {"--m", "--n", "--k", "--data", "--seed", "--repeat", "--sms", "--cublas",
                             "--known", "--json", "--help", "--bulk"}) {
    CHECK(text.find(option) != std::string::npos);
  }
}
