#!/bin/bash
#SBATCH --job-name=chatbot-mvp
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --mem=64G
#SBATCH --time=04:00:00
#SBATCH --output=chatbot-mvp-%j.log

# Start a Ray cluster on the nodes of a Slurm job, and carry out one benchmark command on it:
#
#   export DATA_DIR=/shared/chatbot-mvp VENV=/shared/venv
#   sbatch deploy/ray/slurm.sh run --dataset hotpotqa
#   sbatch deploy/ray/slurm.sh resume RUN
#
# DATA_DIR and VENV must be on a file system that all nodes have under the same path. Keys of providers are read from
# the environment of sbatch, or from .env in the folder of the job. Ray ends with the job.

set -euo pipefail

: "${DATA_DIR:?set DATA_DIR to a folder that all nodes share}"
: "${VENV:?set VENV to a virtual environment with chatbot-mvp[ray] that all nodes share}"
export DATA_DIR
PATH="$VENV/bin:$PATH"

port=${RAY_PORT:-6379}
cpus=${SLURM_CPUS_PER_TASK:-1}
export RAY_USAGE_STATS_ENABLED=0
# Ray admits only those who have this token. srun hands it on with the environment.
RAY_AUTH_MODE=token
RAY_AUTH_TOKEN=$(python -c 'import secrets; print(secrets.token_hex(32))')
export RAY_AUTH_MODE RAY_AUTH_TOKEN

mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=${hosts[0]}
head_ip=$(srun --nodes=1 --ntasks=1 --nodelist="$head" python -c \
    'import ray; print(ray.util.get_node_ip_address())')

srun --overlap --nodes=1 --ntasks=1 --nodelist="$head" \
    ray start --block --head --node-ip-address="$head_ip" --port="$port" --num-cpus="$cpus" \
    --include-dashboard=false --disable-usage-stats &
nodes=($!)
until ray health-check --address "$head_ip:$port" > /dev/null 2>&1; do
    kill -0 "${nodes[0]}" # ends the script if the head could not start
    sleep 1
done
if ((${#hosts[@]} > 1)); then
    srun --overlap --nodes=$((${#hosts[@]} - 1)) --ntasks=$((${#hosts[@]} - 1)) --exclude="$head" \
        ray start --block --address="$head_ip:$port" --num-cpus="$cpus" --disable-usage-stats &
    nodes+=($!)
    sleep "${RAY_NODES_S:-20}" # the run counts the CPUs once, when it starts
fi

status=0
srun --overlap --nodes=1 --ntasks=1 --nodelist="$head" \
    env EVAL_ENGINE=ray RAY_ADDRESS="$head_ip:$port" chatbot-mvp benchmark "$@" || status=$?
kill "${nodes[@]}" 2> /dev/null || true
exit "$status"
