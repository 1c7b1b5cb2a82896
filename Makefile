## The TMA workbook: from thread copies to a Hopper GEMM fed by the copy engine. NN is a lesson's number or name.
##
## make run                    run every lesson's worked program on the best device; one table
## make run-NN                 run one of them; ARGS="--m 1024" passes options on
## make predict                what the worked programs would take on an H200, beside what was recorded
## make predict-NN             one of them
## make predict FILE=x.cu TILE=128x256x64 ARGS="{m} {n} {k}"  a matrix product of your own; ARGS says how it is told M, N and K
## make next                   what to do now
## make status                 which of your files are open, right or wrong
## make check-NN               check your file lessons/NN_name/NN_name.cu; ALL=1 does not stop at the first failing case
## make try-NN                 run your file once under the checker; ARGS="--m 1024", SCHEDULE=late
## make trace-NN               make a page that plays your run step by step: build/trace/NN.html
## make trace FILE=my_kernel.cu  the same for any program of one file
## make watch-NN               check your file whenever you save it
## make hint-NN                a hint for the first open TODO of that file; again for one more, three in all
## make diff-NN                what lesson NN changes in the kernel of the lesson before (shows answers)
## make reset-NN               start that file again; asks, and keeps a copy of yours
## make check                  check all your files
## make check FILE=x.cu LESSON=04  check a file elsewhere
## make break-NN               list the deliberate bugs of lesson NN
## make break-NN BUG=name      show one, run it, and what it showed
## make try FILE=my_kernel.cu  run any program of one file once under the checker; FLAGS="-DN=8" for nvcc, ARGS, SCHEDULE
## make try FILE=kernels.ptx  list the kernels of a PTX file; ARGS="--block 128 f32:1024 7" launches one
## make install PREFIX=folder  the emulator for other projects: library, CMake package, nvcc-emu
##
## make grade SUBMISSIONS=folder  judge a class's hand-ins; LESSONS=04,05, OUT=folder, SHARD=i/n (checks/grading/README.md)
## make handout                the course without its answers, into OUT=folder; LESSONS=01,02
## make grade-merge            the results of shards, together: ARGS="folder folder", OUT=folder
##
## make test                   the project's own tests; TESTS=regex runs those it names; ALL=1: every bug, more schedules
## make doctor                 what this machine has and lacks, and what to type
## make bench                  time the ladder beside cuBLASLt, into plots/mine (needs a Hopper GPU)
## make plots                  draw what you have measured beside what is recorded, into plots/mine
## make bench-emulator         the emulator's speed on one core
## make fuzz                   random pipelines, and mistakes in them; ARGS="--count N --seed S"
## make fuzz-isa               random PTX programs against what an H200 computed; ARGS="--seed S --count N": others, on a Hopper GPU and the emulator
## make fuzz-ptx               PTX, fat binaries, tensor maps, the environment and JSON, changed at random, with sanitizers; ARGS="--seconds 60"
## make record                 record the answers of a Hopper GPU anew (needs one)
## make record-bugs            record what a Hopper GPU shows of each bug anew (needs one)
## make record-bench           measure the recorded data of plots/data anew (needs a Hopper GPU)
## make record-plots           draw the recorded figures, and write the documents' numbers, from plots/data
## make format                 lay out the C++ and CUDA files
## make format-check           only compare their layout
## make setup                  bring in what is missing, and no more
## make build                  build everything
## make clean                  remove the build folder
## make distclean              remove it and the local Python environment
##
## DEVICE=gpu or emu: not the best device, but this one     JOBS=N: parallel jobs     BUILD_DIR=folder: not build

# The front door: every command is one of checks/workbook, which reads these from the environment.
export BUILD_DIR JOBS DEVICE ARGS TESTS BUG FILE FLAGS TILE UNIT SCHEDULE ALL CONFIRM SUBMISSIONS LESSONS LESSON OUT SHARD PREFIX
export CALLED_FROM := $(PWD)
override WORKBOOK := @sh checks/workbook/start.sh

.DEFAULT_GOAL := help
.SUFFIXES:
commands := help run predict next status check try trace test grade handout install bench plots fuzz record setup build clean
.PHONY: $(commands) grade-merge doctor bench-emulator fuzz-isa fuzz-ptx record-bugs record-bench record-plots format format-check distclean

$(commands):
	$(WORKBOOK) $@

# A rule for each: of one rule with several patterns make would run the recipe once.
$(foreach c,run predict check try trace watch hint diff reset break,$(eval $(c)-%: ; $$(WORKBOOK) $(c) '$$*'))

# doctor judges the machine as it is, so it installs nothing.
doctor:
	@sh checks/workbook/doctor.sh

grade-merge:
	$(WORKBOOK) $@

bench-emulator:
	$(WORKBOOK) bench-emulator $(ARGS)

fuzz-isa:
	$(WORKBOOK) $@

# A build of its own: the sanitizers are in all of it. Not optimised, since that takes them ten times as long.
fuzz-ptx: export BUILD_DIR := $(or $(BUILD_DIR),build)-asan
fuzz-ptx: export CMAKE_FLAGS := $(CMAKE_FLAGS) -DWORKBOOK_SANITIZE=ON -DCMAKE_CXX_FLAGS_RELEASE=-O0
fuzz-ptx:
	$(WORKBOOK) fuzz-ptx

record-bugs:
	$(WORKBOOK) bugs renew $(ARGS)

record-bench: export ARGS := --record $(ARGS)
record-bench:
	$(WORKBOOK) bench

record-plots:
	$(WORKBOOK) plots --record

format:
	$(WORKBOOK) format

format-check:
	$(WORKBOOK) format --check

distclean:
	$(WORKBOOK) clean --all
