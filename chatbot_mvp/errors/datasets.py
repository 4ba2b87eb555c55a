"""Errors of data sets and of the S3 server that may hold them."""

from __future__ import annotations

from chatbot_mvp.errors.base import ChatbotError


class DatasetError(ChatbotError):
    exit_code = 2
    texts = {
        "dataset_not_found": "There is no data set {name!r}. Give a folder with corpus, queries and qrels, or one of: "
        "{legal}.",
        "dataset_changed": "The data set {name!r} is no longer the one that the run {run_id!r} used. Restore it, or "
        "launch a new run.",
        "dataset_file_missing": "The data set has no file {path!r}. Add it, or give another folder.",
        "dataset_file_unreadable": "{path!r} cannot be read: {reason}. Restore the file or export it again.",
        "missing_column": "{path!r} has no column {column!r}; found: {found}. Add the column or rename the one that "
        "holds it.",
        "duplicate_id": "The id {id!r} appears more than once in {path!r}. Ids must be unique; remove the repeated "
        "row.",
        "unknown_qrel_document": "No document that the qrels name is in the corpus ({count} rows): those of query "
        "{query_id!r} name {doc_id!r}. Give the qrels of this corpus.",
        "unknown_qrel_query": "The qrels name the query {query_id!r}, which is not among the queries ({count} rows "
        "with this problem). Add the query or remove the rows.",
        "split_unknown": "The data set {name!r} has no split {split!r}; its splits: {legal}. Name one of them with "
        "--split, or after '#' in the name of the data set.",
        "split_needed": "The data set {name!r} has several splits and none of them is called test: {legal}. Name one "
        "of them with --split, or after '#' in the name of the data set.",
        "dataset_name_unusable": "{name!r} cannot be the name of a data set. Use up to 60 letters without accents, "
        "digits, '-', '_' and '.', beginning with a letter, a digit or '_'.",
        "dataset_name_taken": "There is already a data set {name!r}, at {place!r}. Choose another name, or delete "
        "that one first.",
        "dataset_not_own": "{name!r} is not a data set that was added here. Only those in {folder!r} can be deleted.",
        "dataset_upload_too_large": "{name!r} is {size_mb} MB, and the maximum is {limit_mb} MB "
        "(DATASET_MAX_UPLOAD_MB). Put it in a folder on the server and add the folder.",
        "dataset_upload_damaged": "{name!r} cannot be unpacked: {reason}. Compress it again as a zip without a "
        "password.",
        "dataset_upload_incomplete": "{name!r} is not a data set; it contains: {found}. A zip needs corpus.jsonl, "
        "queries.jsonl and qrels/*.tsv (BEIR and MTEB, .jsonl.gz and Parquet too), or corpus.parquet, queries.parquet "
        "and qrels.parquet; these three can also be uploaded without a zip.",
        "dataset_upload_unsafe": "{name!r} was not unpacked: the entry {entry!r} leads out of its folder, is a link, "
        "or appears twice. Compress it again from the data set's own folder.",
        "dataset_upload_expands": "{name!r} was not unpacked: it would take {size_mb} MB, most of it {entry!r}, and "
        "the maximum is {limit_mb} MB. Put it in a folder on the server and add the folder.",
        "dataset_upload_too_steep": "{name!r} was not unpacked: {entry!r} would be {ratio} times as large when "
        "unpacked, and the maximum is {limit}, which no normal data set reaches. Put it in a folder on the server and "
        "add the folder.",
        "dataset_upload_too_many_entries": "{name!r} was not unpacked: it has {entries} files, and the maximum is "
        "{limit}. Compress only the data set's own folder.",
        "dataset_upload_too_demanding": "{name!r} could not be read in {seconds} s with {memory_mb} MB of memory. "
        "Upload only a part of it, or put it in a folder on the server and add the folder.",
    }


class EmptyDataset(DatasetError):
    texts = {"empty_dataset": "{path!r} has no rows. A data set needs at least one document and one query."}


class DatasetNotReceived(DatasetError):
    """A place that data sets come from gave none."""

    exit_code = 1
    texts = {
        "download_failed": "{url!r} could not be downloaded: {reason}. Check the address and try again; a "
        "download whose connection broke continues.",
        "dataset_source_failed": "The source of data sets {source!r} gave nothing for {found!r}: {reason}. Check its "
        "settings; an earlier copy of the data set is unchanged.",
    }


class StorageError(ChatbotError):
    """The S3 server of the data sets could not serve a request."""


class StorageRefused(StorageError):
    """No request is answered until the settings, the key or the server have been changed."""

    exit_code = 2
    texts = {
        "storage_not_configured": "{reference!r} can only be on S3 or MinIO, which is not fully configured; missing: "
        "{missing}. Add it to .env, or choose a data set on this machine.",
        "storage_package_missing": "The S3 server at {endpoint!r} cannot be used, because the package {package!r} is "
        "not installed. Install it with: {command}",
        "storage_key_unknown": "The S3 server at {endpoint!r} does not know the access key. Check MINIO_ACCESS_KEY. "
        "If it worked before, it was deleted or has expired: set a new MINIO_ACCESS_KEY and MINIO_SECRET_KEY.",
        "storage_secret_wrong": "The S3 server at {endpoint!r} knows the access key but rejects its secret. Check "  # nosec B105
        "MINIO_SECRET_KEY.",
        "storage_denied": "The S3 server at {endpoint!r} does not allow this access key to {action} {place!r}. Grant "
        "the permission, or use another MINIO_ACCESS_KEY. If it worked before, it may have expired.",
        "storage_bucket_missing": "The S3 server at {endpoint!r} has no bucket {bucket!r}. Create it, or check "
        "MINIO_BUCKET_NAME or the address.",
        "storage_address_wrong": "The server at {endpoint!r} does not speak S3: {reason}. Check MINIO_ENDPOINT; it "
        "needs the port of the S3 API, which with MinIO is 9000, not that of its console.",
        "storage_key_expired": "The S3 server at {endpoint!r} says that the access key has expired. Set a new "
        "MINIO_ACCESS_KEY and MINIO_SECRET_KEY.",
    }


class StorageUnreachable(StorageError):
    texts = {
        "storage_unreachable": "The S3 server at {endpoint!r} cannot be reached: {reason}. Check MINIO_ENDPOINT and "
        "that the server is running.",
    }


class StorageUnavailable(StorageUnreachable):
    texts = {
        "storage_unavailable": "The S3 server at {endpoint!r} answered {status}: {reason}. Try again later, or check "
        "the server and what stands before it.",
        "storage_write_unavailable": "The S3 server at {endpoint!r} answered {status} when {place!r} was written: "
        "{reason}. If it can be read, the server's disk or the bucket's quota may be full: free space or raise the "
        "quota, and try again. Nothing is lost on this machine.",
    }


class StorageFailed(StorageError):
    texts = {"storage_failed": "The S3 server at {endpoint!r} failed to {action} {place!r}: {reason}. Try again."}


class StorageChanged(StorageFailed):
    """An object is not in the version that the request named."""

    texts = {"storage_changed": StorageFailed.texts["storage_failed"]}


class StorageDamaged(StorageFailed):
    """The content of an object is not what was sent."""

    texts = {
        "storage_damaged": "{place!r} on the S3 server at {endpoint!r} is damaged: its content does not have the "
        "SHA-256 that was stored with it, or not its size. Nothing of it was taken. Restore the object from a backup "
        "of the bucket, or delete it there: a server that has the file sends it again.",
    }


class StorageFull(StorageFailed):
    texts = {
        "storage_full": "The S3 server at {endpoint!r} has no room to {action} {place!r}: {reason}. Nothing is lost "
        "on this machine; free space on the server or raise its quota, and try again.",
    }
