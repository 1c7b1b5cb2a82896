# The front door: `make` prints the commands. The work is done by CMake and by the scripts in checks/scripts.
#   BUILD_DIR=build   where everything is built      DEVICE=gpu|emu   instead of the best device
#   JOBS=N            parallel compilations and tests    ARGS="--m 1024"   for the programs of run and run-NN
BUILD_DIR ?= build
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
DEVICE ?=
override SCRIPTS := checks/scripts
export BUILD_DIR JOBS DEVICE

.DEFAULT_GOAL := help
.SUFFIXES:

# Every recipe below runs with the tools that setup found.
override TOOLS = . '$(BUILD_DIR)/tools.env' &&
override PY = $(TOOLS) "$$PYTHON" -B $(SCRIPTS)
override COMPILE = @sh $(SCRIPTS)/run_build.sh '$(BUILD_DIR)' '$(JOBS)'

.PHONY: help setup build run test check status next doctor bench plots bench-emulator fuzz record record-bugs format format-check clean distclean
help:
	@sh $(SCRIPTS)/run_help.sh

setup:
	@sh $(SCRIPTS)/setup.sh '$(BUILD_DIR)'

build: setup
	$(COMPILE)

run: setup
	$(COMPILE) ladder
	@$(PY)/run_ladder.py $(ARGS)

run-%: setup
	$(COMPILE) ladder
	@$(PY)/run_ladder.py --lesson '$*' $(ARGS)

test: setup
	@$(PY)/run_device.py --default emu
	$(COMPILE) all $(if $(filter gpu,$(DEVICE)),programs_gpu)
	@$(PY)/run_tests.py

check: setup
	@$(PY)/run_check.py

check-%: setup
	@$(PY)/run_check.py --lesson '$*'

hint-%: setup
	@$(PY)/run_student.py hint '$*'

diff-%: setup
	@$(PY)/run_student.py diff '$*'

reset-%: setup
	@$(PY)/run_student.py reset '$*' $(if $(filter yes,$(CONFIRM)),--yes)

# BUG=name shows and runs one deliberate bug of the lesson; without it they are listed.
break-%: setup
	$(if $(BUG),$(COMPILE) ladder)
	@$(PY)/run_bugs.py $(if $(BUG),show '$*' '$(BUG)',list '$*')

record-bugs: setup
	@$(TOOLS) DEVICE=gpu "$$PYTHON" -B $(SCRIPTS)/run_device.py
	$(COMPILE) lab_host
	@$(PY)/run_bugs.py record --jobs '$(JOBS)' $(ARGS)
	@$(PY)/run_bugs.py merge '$(BUILD_DIR)/bugs/record.json'
	@$(PY)/run_bugs.py readme

status: setup
	@$(PY)/run_student.py status

next: setup
	@$(PY)/run_student.py next

# doctor judges the machine as it is, so it installs nothing.
doctor:
	@sh $(SCRIPTS)/doctor.sh

# bench: on a Hopper GPU only; writes plots/data/<gpu>-<part>-<date>.csv. plots: draws from the newest data, anywhere.
bench: setup
	$(COMPILE) ladder bench.copy_bandwidth.gpu
	@$(TOOLS) "$$PYTHON" -B plots/bench.py --build '$(BUILD_DIR)' $(ARGS)

plots: setup
	@$(TOOLS) "$$PYTHON" -B plots/draw.py
	@$(TOOLS) "$$PYTHON" -B plots/measured.py --write

bench-emulator: setup
	$(COMPILE) ladder bench.emulator_rates.emu
	@$(PY)/run_bench_emulator.py $(ARGS)

fuzz: setup
	$(COMPILE) check.fuzz
	@'$(BUILD_DIR)/checks/fuzz' --count 20000 $(ARGS)

record: setup
	@$(TOOLS) DEVICE=gpu "$$PYTHON" -B $(SCRIPTS)/run_device.py
	$(COMPILE) recorded_gpu
	@$(PY)/run_record.py record

format: setup
	@$(PY)/run_format.py --write

format-check: setup
	@$(PY)/run_format.py

clean:
	@rm -rf '$(BUILD_DIR)' && echo "removed $(BUILD_DIR)"

distclean: clean
	@rm -rf .venv build-asan && echo "removed .venv and build-asan"
