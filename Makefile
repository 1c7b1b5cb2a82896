# The front door: `make` prints the commands. The work is done by CMake and by the scripts in checks/scripts.
BUILD_DIR ?= build
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

.DEFAULT_GOAL := help
.PHONY: help build clean
help:
	@echo "make build    compile everything"

build:
	@cmake -S . -B '$(BUILD_DIR)' -DCMAKE_BUILD_TYPE=Release
	@cmake --build '$(BUILD_DIR)' -j$(JOBS)

clean:
	rm -rf '$(BUILD_DIR)'
