#!/bin/sh
#SBATCH --job-name=grade
#SBATCH --array=1-8
#SBATCH --cpus-per-task=4
#SBATCH --mem=12G
#SBATCH --time=02:00:00
#SBATCH --output=grade-%A-%a.log
# Grades a class as a Slurm job array, each task a shard. From the checkout, on a file system that all nodes see:
#
#   make grade ARGS=--build-only                                           once, so that the tasks find the built tree
#   SUBMISSIONS=/data/class OUT=/data/results sbatch checks/grading/slurm.sh
#   make grade-merge ARGS="$(echo /data/results/shard-*)" OUT=/data/results   when all have ended
#
# GRADE_ARGS has what else goes into ARGS, such as "--roster /data/class.csv"; LESSONS is passed on. A task that was killed goes on
# where it was when it is submitted again: sbatch --array=3-3 needs SHARDS=8, the number of all shards.
set -eu
: "${SUBMISSIONS:?the folder of hand-ins}" "${OUT:?the folder for the results}" "${SLURM_ARRAY_TASK_ID:?this is a task of a job array}"
cd "${SLURM_SUBMIT_DIR:-.}"
exec make grade SUBMISSIONS="$SUBMISSIONS" OUT="$OUT/shard-$SLURM_ARRAY_TASK_ID" \
  SHARD="$SLURM_ARRAY_TASK_ID/${SHARDS:-$SLURM_ARRAY_TASK_COUNT}" JOBS="${SLURM_CPUS_PER_TASK:-1}" ARGS="${GRADE_ARGS:-}"
