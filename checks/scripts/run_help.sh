#!/bin/sh
# What `make` prints: the commands, in the order a newcomer needs them. NN is a lesson's number or name.
cat <<'END'
The TMA workbook: from thread copies to a Hopper GEMM fed by the copy engine.

  make run              run every lesson's worked program on the best device; one table
  make run-NN           one lesson's worked program
  make status           which TODOs are open in your files
  make next             what to do now
  make check-NN         check your file lessons/NN_name/NN_name.cu
  make hint-NN          the first open TODO of that file, and what its answer is made of
  make diff-NN          what lesson NN changes in the kernel of the lesson before
  make reset-NN         start that file again (asks; keeps a copy)
  make check            check all your files
  make break-NN         the deliberate bugs of lesson NN        make break-NN BUG=name   show one and run it

  make test             the project's own tests
  make doctor           what this machine has and lacks
  make bench-emulator   how fast the emulator is
  make fuzz             random pipelines and mistakes in them (ARGS="--count N --seed S")
  make record           record hardware answers anew (Hopper GPU)
  make format           lay out the C++ and CUDA files      make format-check   only compare
  make clean            remove the build folder             make distclean      and .venv

  DEVICE=gpu|emu        instead of the best device          JOBS=N   parallel jobs
  BUILD_DIR=folder      instead of build                   ARGS="--m 1024"   for run and run-NN
END
