#include <fmt/core.h>
#include <spex/core/cpu.h>
#include <spex/data/generators.h>
#include <spex/data/native.h>
#include <spex/data/splits.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <sstream>

#include "cli/program.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

TEST(Usage, HelpOfEveryCommandFitsAScreenAndShowsAnExample) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{},
                                             {"train"},
                                             {"estimate"},
                                             {"predict"},
                                             {"report"},
                                             {"models"},
                                             {"compare"},
                                             {"tune"},
                                             {"study"},
                                             {"help"},
                                             {"data"},
                                             {"data", "info"},
                                             {"data", "convert"},
                                             {"data", "generate"}}) {
    Outcome help = spex(command + "--help");
    SCOPED_TRACE(help.out);
    EXPECT_EQ(help.code, 0);
    EXPECT_EQ(help.err, "");
    EXPECT_NE(help.out.find("Example"), std::string::npos);
    EXPECT_NE(help.out.find("\n  spex "), std::string::npos);
    std::stringstream lines(help.out);
    size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 100U) << line;
    EXPECT_LE(count, 40U);
  }
}

TEST(Usage, VersionIsPrinted) {
  Outcome version = spex({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.out.substr(0, 5), "spex ");
  EXPECT_NE(version.out.find("\ninstruction set " + describe_isa()), std::string::npos)
      << version.out;
  EXPECT_NE(version.out.find("\nthreads "), std::string::npos) << version.out;
}

TEST(Usage, WrongCommandLinesExitWithTwo) {
  expect_fails(spex({}), 2, "(see spex --help)");
  expect_fails(spex({"data"}), 2, "(see spex data --help)");
  expect_fails(spex({"train"}), 2, "DATA is required (see spex train --help)");
  expect_fails(spex({"train", "minesweeper", "--seed", "x"}), 2, "--seed");
  expect_fails(spex({"train", "minesweeper", "--checkpoint-seconds", "-1"}), 2,
               "--checkpoint-seconds");
  for (const char* option : {"--threads", "--seed", "--seeds", "--split"})
    expect_fails(spex({"train", "minesweeper", option, "-1"}), 2, option);
  expect_fails(spex({"train", "minesweeper", "--seeds", "0"}), 2,
               "a number from 1 to 1000000, got 0");
  expect_fails(spex({"train", "minesweeper", "--checkpoint-seconds", "nan"}), 2, "got nan");
  expect_fails(spex({"predict", "run", "--samples", "0"}), 2, "--samples");
  expect_fails(spex({"predict", "run", "--batch", "-1"}), 2, "--batch");
  expect_fails(spex({"predict", "run", "--nodes", ""}), 1, "--nodes names no node");
  expect_fails(spex({"data", "generate", "sbm", "--nodes", "-1", "--out", "x"}), 2, "--nodes");
  expect_fails(spex({"train", "minesweeper", "--resume", "--force"}), 1, "exclude each other");
  expect_fails(spex({"train", "nothing.npz", "--memory", "2XB"}), 1, "\"2XB\" is not a size");
  for (const char* command : {"compare", "tune"}) {
    expect_fails(spex({command, "minesweeper", "--models", "mlp", "--seeds", "0"}), 2, "--seeds");
    expect_fails(spex({command, "minesweeper", "--models", "mlp,mlp"}), 1, "names mlp twice");
    expect_fails(spex({command, "minesweeper", "--models", "mlp", "--splits", "0,0"}), 1,
                 "names 0 twice");
    expect_fails(spex({command, "minesweeper", "--models", "mlp", "--splits", "1000000"}), 1,
                 "there is no split");
  }
  for (const char* budget : {"0s", "-5m", "", "1d", "nan"})
    expect_fails(spex({"tune", "minesweeper", "--budget", budget}), 1, "--budget");
  for (const char* widths : {"0", "4,-8", "x", ""})
    expect_fails(spex({"study", "energy", "minesweeper", "--widths", widths}), 2, "--widths");
}

TEST(Usage, HelpWorksAsACommandToo) {
  EXPECT_EQ(spex({"help", "train"}).out, spex({"train", "--help"}).out);
  EXPECT_EQ(spex({"help", "data", "convert"}).out, spex({"data", "convert", "--help"}).out);
  EXPECT_EQ(spex({"help"}).out, spex({"--help"}).out);
  expect_fails(spex({"help", "trian"}), 1, "did you mean train?");
}

TEST(Usage, SettingsAreCheckedBeforeTheDataIsRead) {
  for (const char* command : {"train", "estimate"})
    expect_fails(spex({command, "nothing.npz", "--out", "x", "--set", "spexphormer.width=0"}), 1,
                 "spexphormer.width must be from 1 to 1024, not 0");
  for (const char* command : {"compare", "tune"}) {
    expect_fails(spex({command, "nothing.npz", "--models", "gnc"}), 1, "did you mean gcn?");
    expect_fails(spex({command, "nothing.npz", "--models", "gcn", "--set", "gcn.width=0"}), 1,
                 "gcn.width must be");
  }
  expect_fails(spex({"study", "energy", "nothing.npz", "--set", "estimator.width=0"}), 1,
               "estimator.width must be");
}

TEST(Usage, ProgressOnAnotherSplitBeginsAnew) {
  TemporaryFolder folder;
  Dataset data = generate("minesweeper", {0, 900});
  for (uint64_t seed : {1U, 2U, 3U}) data.splits.push_back(random_split(data.labels, {}, seed));
  std::string file = folder / "mines.safetensors";
  save_native(data, file);
  Outcome outcome = spex({"compare", file, "--models", "mlp", "--splits", "all", "--set",
                          "mlp.epochs=1", "--out", folder / "compared"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::regex shown("val ([0-9.]+%) \\(best ([0-9.]+%)\\)");
  std::sregex_iterator each(outcome.err.begin(), outcome.err.end(), shown), end;
  EXPECT_GE(std::distance(each, end), 3);
  for (; each != end; ++each) EXPECT_EQ((*each)[1], (*each)[2]);
}

TEST(Usage, AStudyKeepsItsWholeCommand) {
  TemporaryFolder folder;
  std::string file = folder / "mines.safetensors", out = folder / "studies";
  save_native(generate("minesweeper", {0, 400}), file);
  Outcome outcome = spex({"study", "mixing", file, "--set", "expander.degree=4", "--out", out});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::string command = "spex study mixing " + file + " --set expander.degree=4 --out " + out;
  EXPECT_NE(read_text(folder / "studies/mixing.study.json").find(command), std::string::npos);
}

TEST(Usage, InputsAreNotOverwritten) {
  TemporaryFolder folder;
  std::string data = folder / "bridge.safetensors", link = folder / "link";
  save_native(generate("bridge", {0, 400, 5}), data);
  std::filesystem::create_symlink("bridge.safetensors", link);
  std::string before = read_text(data);
  expect_fails(spex({"data", "convert", data, data}), 1, "is part of the input");
  expect_fails(spex({"data", "convert", data, link}), 1, "is part of the input");
  expect_fails(spex({"estimate", data, "--out", data}), 1, "is part of the input");
  EXPECT_EQ(read_text(data), before);
  std::string tables = folder / "tables", inner = folder / "tables/raw/edge.csv.gz";
  std::filesystem::create_directories(folder / "tables/raw");
  write_text(inner, "0,1\n");
  expect_fails(spex({"data", "convert", tables, inner}), 1, "is part of the input");
}

TEST(Usage, OutputsThatCannotBeAreRefusedBeforeAnyWork) {
  TemporaryFolder folder;
  for (const std::string& out : {folder.path.string(), (folder / "nowhere/x").string()})
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{{"estimate", "nothing.npz"},
                                               {"predict", "nothing"},
                                               {"report", "nothing", "nothing"},
                                               {"data", "generate", "nothing"}})
      expect_fails(spex(command + "--out" + out), 1, "cannot write " + out);
}

// Of predict and report, whose inputs are runs.
TEST(Usage, FilesOfARunAreNotOverwritten) {
  TemporaryFolder folder;
  std::string data = folder / "bridge.safetensors", run = folder / "run";
  std::string nodes = folder / "nodes.txt", model = folder / "run/model.safetensors";
  save_native(generate("bridge", {0, 400, 5}), data);
  ASSERT_EQ(spex({"train", data, "--model", "mlp", "--set", "mlp.epochs=2", "--out", run}).code, 0);
  write_text(nodes, "0\n1\n");
  expect_fails(spex({"predict", run, "--nodes", nodes, "--out", nodes}), 1, "is part of the input");
  expect_fails(spex({"predict", run, "--out", model}), 1, "is part of the input");
  expect_fails(spex({"report", run, run, "--out", model}), 1, "is part of the input");
  EXPECT_EQ(read_text(nodes), "0\n1\n");
  EXPECT_EQ(spex({"predict", run, "--nodes", nodes, "--out", folder / "out.csv"}).code, 0);
}

// SPEX_ISA as the program finds it; gone when this object goes.
class IsaByHand {
 public:
  explicit IsaByHand(const std::string& isa) {
    if (const char* outer = std::getenv("SPEX_ISA")) outer_ = outer;
    ::setenv("SPEX_ISA", isa.c_str(), 1);
  }
  IsaByHand(const IsaByHand&) = delete;
  IsaByHand& operator=(const IsaByHand&) = delete;
  ~IsaByHand() { ::setenv("SPEX_ISA", outer_.c_str(), 1); }

 private:
  std::string outer_;
};

TEST(Usage, TheInstructionSetCanBeChosenByHand) {
  for (Isa each : supported_isas()) {
    IsaByHand by_hand{std::string(name(each))};
    Outcome version = spex({"--version"});
    EXPECT_EQ(version.code, 0);
    EXPECT_NE(version.out.find(fmt::format("instruction set {} (", name(each))), std::string::npos)
        << version.out;
  }
}

TEST(Usage, AnInstructionSetThatIsNotThereIsRefused) {
  auto has = supported_isas();
  for (Isa each : {Isa::plain, Isa::avx2, Isa::avx512, Isa::neon}) {
    if (std::find(has.begin(), has.end(), each) != has.end()) continue;
    IsaByHand by_hand{std::string(name(each))};
    expect_fails(spex({"--version"}), 2,
                 fmt::format("cannot run the instruction set {}", name(each)));
  }
  IsaByHand by_hand("mmx");
  expect_fails(spex({"data", "info", "minesweeper"}), 2, "SPEX_ISA=mmx: no such instruction set");
}

TEST(Usage, ASplitThatIsNotStoredIsRefused) {
  expect_fails(spex({"train", "minesweeper", "--split", "30", "--dry-run"}), 1,
               "so there is no split 30");
}

TEST(Usage, MistypedCommandsAndOptionsSuggestTheRightOnes) {
  expect_fails(spex({"trian", "x"}), 2, "there is no command trian; did you mean train?");
  expect_fails(spex({"data", "generat", "x"}), 2, "did you mean generate? (see spex data --help)");
  expect_fails(spex({"train", "minesweeper", "--ouut", "x"}), 2,
               "there is no option --ouut; did you mean --out? (see spex train --help)");
  expect_fails(spex({"predict", "run", "--node=3"}), 2, "did you mean --nodes?");
}

TEST(Usage, MistypedKeysPresetsAndGeneratorsSuggestTheRightOnes) {
  TemporaryFolder folder;
  std::string out = folder / "run";
  expect_fails(spex({"train", "minesweeper", "--set", "spexphormer.widht=3", "--out", out}), 1,
               "there is no setting called spexphormer.widht; did you mean spexphormer.width?");
  expect_fails(spex({"train", "minesweeper", "--set", "spexphormer.width=x", "--out", out}), 1,
               "spexphormer.width needs a whole number");
  expect_fails(spex({"train", "minesweeper", "--preset", "toloker", "--out", out}), 1,
               "did you mean tolokers?");
  expect_fails(spex({"train", "minesweper", "--out", out}), 1,
               "minesweper does not exist; did you mean the generator minesweeper?");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(Usage, FilesThatAreNotThereOrNotWhatTheyShouldBeAreASentence) {
  TemporaryFolder folder;
  std::string nothing = folder / "nothing.npz", text = folder / "text.npz";
  write_text(text, std::string("PK\3\4\0\1\2", 7));
  expect_fails(spex({"train", nothing}), 1, "does not exist");
  expect_fails(spex({"train", text}), 1, text);
  expect_fails(spex({"data", "info", nothing}), 1, "does not exist");
  expect_fails(spex({"report", folder.path}), 1, "not the directory of a finished run");
  expect_fails(spex({"predict", folder.path}), 1, "holds no finished run");
  expect_fails(spex({"train", "minesweeper", "--config", nothing}), 1, "cannot open");
}

TEST(Usage, OptionsThatWouldHelpAreNamedWithTheirCommand) {
  TemporaryFolder folder;
  write_text(folder / "edges.csv", "source,target\na,b\nb,c\n");
  write_text(folder / "nodes.csv", "id,size,price\na,1,10.5\nb,2,20.5\nc,3,31\n");
  expect_fails(spex({"train", folder.path, "--out", folder / "run"}), 1,
               "--label-column: id, size, price (options of spex data convert");
  expect_fails(spex({"data", "info", folder.path}), 1, "--label-column: id, size, price\n");
}

TEST(Usage, OutputOnAFullDiskIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  Surroundings full;
  full.out = "/dev/full";
  TemporaryFolder folder;
  save_native(generate("bridge", {0, 400, 5}), folder / "bridge.safetensors");
  Outcome outcome = spex({"data", "info", folder / "bridge.safetensors"}, full);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("No space left on device"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace spex
