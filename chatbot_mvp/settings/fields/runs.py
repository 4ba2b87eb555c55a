"""Defines the settings of benchmark runs: data sets, their store, samples, answers and judges."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, SecretStr, field_validator

from chatbot_mvp.metrics.registry import JUDGE_METRICS, OWN
from chatbot_mvp.plugins.finding import names_added
from chatbot_mvp.settings.kinds import (
    IN_ADMIN,
    OF_THE_MACHINE,
    Fields,
    Key,
    NoneOrContextChars,
    Row,
    ServerAddress,
    names_of,
)

if TYPE_CHECKING:
    RunEngineName = str
else:
    RunEngineName = Literal["local", *names_added("run_engine")]

DEFAULT_JUDGE_METRICS = ",".join(spec.name for spec in OWN if spec.judged_by_default)


class RunFields(Fields):
    """Settings of data sets, their store, samples, answers and judges."""

    mteb_dataset_name: Annotated[str, IN_ADMIN, Row("sample")] = "valle_multihop"
    """Data set of a run: a name, a folder, or s3://bucket/…/name; a name is also looked up under S3_DATASETS_PREFIX."""
    eval_max_queries: Annotated[int, IN_ADMIN, Row("sample", form=10)] = Field(0, ge=0)
    """Maximum queries of a run, in file order; 0: all."""
    eval_max_corpus: Annotated[int, IN_ADMIN, Row("sample", form=50)] = Field(0, ge=0)
    """Maximum documents of a run, chosen as EVAL_CORPUS_SLICE says; 0: all."""
    eval_corpus_slice: Annotated[Literal["gold_first", "blind"], IN_ADMIN, Row("sample", form=60)] = "gold_first"
    """Documents that EVAL_MAX_CORPUS keeps. `gold_first`: those that the queries need, then random others; `blind`:
    random ones, so that gold documents are lost, which then count as not found."""
    corpus_shuffle_seed: Annotated[int, IN_ADMIN, Row("sample", form=70)] = Field(42, ge=-1)
    """Random seed for EVAL_MAX_CORPUS and DEV_MODE; -1: no shuffle, the files' order."""
    dev_mode: Annotated[bool, IN_ADMIN, Row("sample", form=20)] = False
    """Run on a sample: DEV_QUERIES random queries, all their gold documents, and others up to DEV_CORPUS_SIZE.
    EVAL_MAX_QUERIES and EVAL_MAX_CORPUS are then ignored."""
    dev_queries: Annotated[int, IN_ADMIN, Row("sample", form=30)] = Field(200, ge=1)
    """Queries in the sample of DEV_MODE."""
    dev_corpus_size: Annotated[int, IN_ADMIN, Row("sample", form=40)] = Field(4_000, ge=1)
    """Documents in the sample of DEV_MODE, gold ones and others."""
    dataset_max_upload_mb: Annotated[int, IN_ADMIN, Row(run_group="other")] = Field(200, ge=1, le=2_000)
    """Maximum size of a data set uploaded in Admin, all its files together (MB); unpacked, eight times that."""

    minio_endpoint: ServerAddress = ""
    """Address of a MinIO or other S3 server with data sets, e.g. http://host:9000; empty: none."""
    minio_access_key: Key = SecretStr("")
    """Access key for the S3 server."""
    minio_secret_key: Key = SecretStr("")
    """Secret of the access key for the S3 server."""
    minio_bucket_name: str = ""
    """Bucket with the data sets, e.g. lakehouse."""
    minio_region: str = Field("us-east-1", min_length=1)
    """Region used to sign requests to S3."""
    s3_datasets_prefix: str = "datasets/evaluation"
    """Prefix of the data sets in the bucket: <prefix>/<name>/corpus.parquet, …"""
    generation_enabled: Annotated[bool, IN_ADMIN, Row(group="answers", run_group="answers", form=10)] = True
    """Generate answers in runs, with PROVIDER's model."""
    generation_max_context_chars: Annotated[
        NoneOrContextChars, IN_ADMIN, Row(group="answers", run_group="answers", form=40)
    ] = Field(0, ge=0)
    """Maximum context of an answer in runs (characters); 0: as GENERATION_CONTEXT says, but no more than the model can
    read if its server reports it."""
    generation_context: Annotated[
        Literal["chat", "retrieved"], IN_ADMIN, Row(group="answers", run_group="answers", form=30)
    ] = "chat"
    """Context of an answer in runs. `chat`: KB_TOP_K documents within the chat's number of characters; `retrieved`:
    RETRIEVAL_K documents, with a reranker RERANKER_TOP_N, as many characters as the model reads."""
    judge_metrics: Annotated[str, IN_ADMIN, Row(group="answers", run_group="judge", form=10)] = DEFAULT_JUDGE_METRICS
    """Metrics of the answers of a run that a judge scores, separated by commas; empty: none."""
    judge_provider: Annotated[str, IN_ADMIN, Row(group="answers", run_group="judge", form=20)] = ""
    """Provider that judges the answers of runs; empty: PROVIDER."""
    judge_model_name: Annotated[str, IN_ADMIN, Row(group="answers", run_group="judge", form=30)] = ""
    """Model of the judge; empty: that of its provider's own setting."""
    eval_engine: Annotated[RunEngineName, OF_THE_MACHINE] = "local"
    """Where benchmark runs work: `local`, this process; any other, the workers of a cluster of that name, one per
    CPU."""
    log_format: Annotated[Literal["text", "jsonl"], OF_THE_MACHINE, Row(group="general", run_group="other")] = "text"
    """Format of the log: `text`, or `jsonl` (JSON objects, including the events of a run)."""

    @field_validator("judge_metrics")
    @classmethod
    def _known_judge_metrics(cls, value: str) -> str:
        names = names_of(value)
        if unknown := [name for name in names if name not in JUDGE_METRICS]:
            raise ValueError(f"{unknown[0]!r} is not a judge metric; legal: {', '.join(JUDGE_METRICS)}")
        return ",".join(names)

    @field_validator("judge_provider")
    @classmethod
    def _known_judge(cls, value: str) -> str:
        from chatbot_mvp.settings.fields import PROVIDER_NAMES  # it is made from all settings, these among them

        if value not in ("", *PROVIDER_NAMES):
            raise ValueError(f"there is no such provider; legal: {', '.join(PROVIDER_NAMES)}")
        return value

    @field_validator("minio_endpoint")
    @classmethod
    def _whole_address(cls, value: str) -> str:
        if value and not re.fullmatch(r"https?://[^/\s]+/?", value):
            raise ValueError("it must begin with http:// or https:// and have no path, as in http://host:9000")
        return value.rstrip("/")

    @field_validator("s3_datasets_prefix")
    @classmethod
    def _bare_prefix(cls, value: str) -> str:
        return value.strip("/")
