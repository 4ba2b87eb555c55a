#!/usr/bin/env bash
# Ragas evaluation of a data set as a Slurm job, from the folder that holds the data, config.yaml and .env:
#
#     DATASET=data.jsonl sbatch launcher.sh
#     sbatch launcher.sh                      # the data set that config.yaml names, else data.jsonl
#
# A job that was pre-empted or ran out of time is queued again by Slurm (--requeue), or by you with the same line: it
# goes on with the last unfinished run of this data set, and asks only for what has no score yet.
#SBATCH --job-name=ragas
#SBATCH --output=ragas-%j.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --cpus-per-task=4
#SBATCH --mem=16G
#SBATCH --time=08:00:00
# For a judge on a GPU of the node, remove one #:
##SBATCH --gres=gpu:1
# Two minutes before the end of its time the run is asked to stop at a clean place.
#SBATCH --signal=B:TERM@120
set -euo pipefail

cd "${SLURM_SUBMIT_DIR:-$PWD}"
DATASET=${DATASET:-${1:-}}
CONFIG=${CONFIG:-config.yaml}
# shellcheck disable=SC1091
source "${VENV:-.venv}/bin/activate"

if [ -z "$DATASET" ]; then
    # Where the configuration cannot be read, `ragas run` says why.
    DATASET=$(python -c '
import sys
from pathlib import Path
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.wings.ragas.config import load_config
try:
    print(load_config(Path(sys.argv[1])).dataset or "data.jsonl")
except ChatbotError:
    print("data.jsonl")
' "$CONFIG")
fi

RUN=$(chatbot-mvp benchmark list --json | python -c '
import json, re, sys
from pathlib import Path
name = re.sub(r"[^\w-]", "-", Path(sys.argv[1]).stem)
runs = [run["run_id"] for run in json.load(sys.stdin)["unfinished"]]
print(next((run for run in runs if re.search(f"_{re.escape(name)}_RAGAS(-[0-9]+)?$", run)), ""))
' "$DATASET")

if [ -n "$RUN" ]; then
    COMMAND=(chatbot-mvp benchmark resume "$RUN")
else
    COMMAND=(chatbot-mvp ragas run "$DATASET")
    if [ -f "$CONFIG" ]; then COMMAND+=(--config "$CONFIG"); fi
fi
echo "$(date -u +%FT%TZ) ${COMMAND[*]}"

# In the background, so that bash can pass a signal on while it waits; the signal ends the first wait only.
"${COMMAND[@]}" &
CHILD=$!
trap 'kill -TERM "$CHILD" 2>/dev/null || true' TERM INT
CODE=0
wait "$CHILD" || CODE=$?
while kill -0 "$CHILD" 2>/dev/null; do
    CODE=0
    wait "$CHILD" || CODE=$?
done
exit "$CODE"
