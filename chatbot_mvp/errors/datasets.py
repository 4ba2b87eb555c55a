"""Errors of data sets and of the S3 server that may hold them."""

from __future__ import annotations

from chatbot_mvp.errors.base import ChatbotError


class DatasetError(ChatbotError):
    exit_code = 2


class DatasetNotFound(DatasetError):
    code = "dataset_not_found"
    template = "There is no data set {name!r}. Give a folder with corpus, queries and qrels, or one of: {legal}."


class DatasetChanged(DatasetError):
    code = "dataset_changed"
    template = (
        "The data set {name!r} is no longer the one that the run {run_id!r} used. Restore it, or launch a new run."
    )


class DatasetFileMissing(DatasetError):
    code = "dataset_file_missing"
    template = "The data set has no file {path!r}. Add it, or give another folder."


class DatasetFileUnreadable(DatasetError):
    code = "dataset_file_unreadable"
    template = "{path!r} cannot be read: {reason}. Restore the file or export it again."


class MissingColumn(DatasetError):
    code = "missing_column"
    template = "{path!r} has no column {column!r}; found: {found}. Add the column or rename the one that holds it."


class DuplicateId(DatasetError):
    code = "duplicate_id"
    template = "The id {id!r} appears more than once in {path!r}. Ids must be unique; remove the repeated row."


class EmptyDataset(DatasetError):
    code = "empty_dataset"
    template = "{path!r} has no rows. A data set needs at least one document and one query."


class UnknownQrelDocument(DatasetError):
    code = "unknown_qrel_document"
    template = (
        "The qrels of query {query_id!r} name the document {doc_id!r}, which is not in the corpus ({count} rows with "
        "this problem). Add the document or remove the rows."
    )


class UnknownQrelQuery(DatasetError):
    code = "unknown_qrel_query"
    template = (
        "The qrels name the query {query_id!r}, which is not among the queries ({count} rows with this problem). Add "
        "the query or remove the rows."
    )


class SplitUnknown(DatasetError):
    code = "split_unknown"
    template = (
        "The data set {name!r} has no split {split!r}; its splits: {legal}. Name one of them with --split, or "
        "after '#' in the name of the data set."
    )


class SplitNeeded(DatasetError):
    code = "split_needed"
    template = (
        "The data set {name!r} has several splits and none of them is called test: {legal}. Name one of them with "
        "--split, or after '#' in the name of the data set."
    )


class DatasetNameUnusable(DatasetError):
    code = "dataset_name_unusable"
    template = (
        "{name!r} cannot be the name of a data set. Use up to 60 letters without accents, digits, '-', '_' and '.', "
        "beginning with a letter, a digit or '_'."
    )


class DatasetNameTaken(DatasetError):
    code = "dataset_name_taken"
    template = "There is already a data set {name!r}, at {place!r}. Choose another name, or delete that one first."


class DatasetNotOwn(DatasetError):
    code = "dataset_not_own"
    template = "{name!r} is not a data set that was added here. Only those in {folder!r} can be deleted."


class DatasetUploadError(DatasetError):
    """An upload cannot become a data set; existing data sets are left unchanged."""


class DatasetUploadTooLarge(DatasetUploadError):
    code = "dataset_upload_too_large"
    template = (
        "{name!r} is {size_mb} MB, and the maximum is {limit_mb} MB (DATASET_MAX_UPLOAD_MB). Put it in a folder on "
        "the server and add the folder."
    )


class DatasetUploadDamaged(DatasetUploadError):
    code = "dataset_upload_damaged"
    template = "{name!r} cannot be unpacked: {reason}. Compress it again as a zip without a password."


class DatasetUploadIncomplete(DatasetUploadError):
    code = "dataset_upload_incomplete"
    template = (
        "{name!r} is not a data set; it contains: {found}. A zip needs corpus.jsonl, queries.jsonl and qrels/*.tsv "
        "(BEIR and MTEB, .jsonl.gz and Parquet too), or corpus.parquet, queries.parquet and qrels.parquet; these three "
        "can also be uploaded without a zip."
    )


class DatasetUploadUnsafe(DatasetUploadError):
    code = "dataset_upload_unsafe"
    template = (
        "{name!r} was not unpacked: the entry {entry!r} leads out of its folder, is a link, or appears twice. "
        "Compress it again from the data set's own folder."
    )


class DatasetUploadExpands(DatasetUploadError):
    code = "dataset_upload_expands"
    template = (
        "{name!r} was not unpacked: it would take {size_mb} MB, most of it {entry!r}, and the maximum is {limit_mb} "
        "MB. Put it in a folder on the server and add the folder."
    )


class DatasetUploadTooSteep(DatasetUploadError):
    code = "dataset_upload_too_steep"
    template = (
        "{name!r} was not unpacked: {entry!r} would be {ratio} times as large when unpacked, and the maximum is "
        "{limit}, which no normal data set reaches. Put it in a folder on the server and add the folder."
    )


class DatasetUploadTooManyEntries(DatasetUploadError):
    code = "dataset_upload_too_many_entries"
    template = (
        "{name!r} was not unpacked: it has {entries} files, and the maximum is {limit}. Compress only the data set's "
        "own folder."
    )


class DatasetUploadTooDemanding(DatasetUploadError):
    code = "dataset_upload_too_demanding"
    template = (
        "{name!r} could not be read in {seconds} s with {memory_mb} MB of memory. Upload only a part of it, or put it "
        "in a folder on the server and add the folder."
    )


class DownloadFailed(DatasetError):
    code = "download_failed"
    template = (
        "{url!r} could not be downloaded: {reason}. Check the address and try again; what has already arrived is kept."
    )
    exit_code = 1


class DatasetSourceFailed(DatasetError):
    code = "dataset_source_failed"
    template = (
        "The source of data sets {source!r} gave nothing for {found!r}: {reason}. Check its settings; an earlier copy "
        "of the data set is unchanged."
    )
    exit_code = 1


class StorageError(ChatbotError):
    """The S3 server of the data sets could not serve a request."""


class StorageNotConfigured(StorageError):
    code = "storage_not_configured"
    template = (
        "{reference!r} can only be on S3 or MinIO, which is not fully configured; missing: {missing}. Add it to .env, "
        "or choose a data set on this machine."
    )
    exit_code = 2


class StoragePackageMissing(StorageError):
    code = "storage_package_missing"
    template = (
        "The S3 server at {endpoint!r} cannot be used, because the package {package!r} is not installed. Install it "
        "with: {command}"
    )
    exit_code = 2


class StorageKeyUnknown(StorageError):
    code = "storage_key_unknown"
    template = (
        "The S3 server at {endpoint!r} does not know the access key. Check MINIO_ACCESS_KEY. If it worked before, it "
        "was deleted or has expired: set a new MINIO_ACCESS_KEY and MINIO_SECRET_KEY."
    )
    exit_code = 2


class StorageSecretWrong(StorageError):
    code = "storage_secret_wrong"
    template = "The S3 server at {endpoint!r} knows the access key but rejects its secret. Check MINIO_SECRET_KEY."
    exit_code = 2


class StorageDenied(StorageError):
    code = "storage_denied"
    template = (
        "The S3 server at {endpoint!r} does not allow this access key to {action} {place!r}. Grant the permission, or "
        "use another MINIO_ACCESS_KEY. If it worked before, it may have expired."
    )
    exit_code = 2


class StorageBucketMissing(StorageError):
    code = "storage_bucket_missing"
    template = (
        "The S3 server at {endpoint!r} has no bucket {bucket!r}. Create it, or check MINIO_BUCKET_NAME or the address."
    )
    exit_code = 2


class StorageUnreachable(StorageError):
    code = "storage_unreachable"
    template = (
        "The S3 server at {endpoint!r} cannot be reached: {reason}. Check MINIO_ENDPOINT and that the server is "
        "running."
    )


class StorageUnavailable(StorageUnreachable):
    code = "storage_unavailable"
    template = (
        "The S3 server at {endpoint!r} answered {status}: {reason}. Try again later, or check the server and what "
        "stands before it."
    )


class StorageWriteUnavailable(StorageUnavailable):
    """The server failed to write, which SeaweedFS also says if its disk or the bucket's quota is full."""

    code = "storage_write_unavailable"
    template = (
        "The S3 server at {endpoint!r} answered {status} when {place!r} was written: {reason}. If it can be read, the "
        "server's disk or the bucket's quota may be full: free space or raise the quota, and try again. Nothing is "
        "lost on this machine."
    )


class StorageAddressWrong(StorageError):
    code = "storage_address_wrong"
    template = (
        "The server at {endpoint!r} does not speak S3: {reason}. Check MINIO_ENDPOINT; it needs the port of the S3 "
        "API, which with MinIO is 9000, not that of its console."
    )
    exit_code = 2


class StorageFailed(StorageError):
    code = "storage_failed"
    template = "The S3 server at {endpoint!r} failed to {action} {place!r}: {reason}. Try again."


class StorageChanged(StorageFailed):
    """An object is not in the version that the request named."""

    code = "storage_changed"


class StorageDamaged(StorageFailed):
    """The content of an object is not what was sent."""

    code = "storage_damaged"
    template = (
        "{place!r} on the S3 server at {endpoint!r} is damaged: its content does not have the SHA-256 that was stored "
        "with it, or not its size. Nothing of it was taken. Restore the object from a backup of the bucket, or delete "
        "it there: a server that has the file sends it again."
    )


class StorageKeyExpired(StorageError):
    code = "storage_key_expired"
    template = (
        "The S3 server at {endpoint!r} says that the access key has expired. Set a new MINIO_ACCESS_KEY and "
        "MINIO_SECRET_KEY."
    )
    exit_code = 2


class StorageFull(StorageFailed):
    code = "storage_full"
    template = (
        "The S3 server at {endpoint!r} has no room to {action} {place!r}: {reason}. Nothing is lost on this machine; "
        "free space on the server or raise its quota, and try again."
    )
