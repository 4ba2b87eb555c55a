"""Errors of knowledge bases: uploaded files, stored data and evaluation questions."""

from __future__ import annotations

from chatbot_mvp.errors.base import ChatbotError
from chatbot_mvp.errors.configuration import ConfigurationError


class UploadError(ChatbotError):
    exit_code = 2
    texts = {
        "upload_empty": "{name!r} has no text. Choose a file with content.",
        "upload_binary": "{name!r} is not a text file. Save it as plain text or Markdown in UTF-8.",
        "upload_too_large": "{name!r} is {size_mb} MB, and the maximum is {limit_mb} MB. Split it or upload a shorter "
        "version.",
        "upload_type_unsupported": "{name!r} is not of a supported type. Use one of: {legal}.",
        "upload_save_as": "{name!r} is a {found} file, which is not read here. Open it in its program or LibreOffice, "
        "save it as {kind}, and upload that.",
        "upload_wrong_suffix": "{name!r} has an extension that does not match its content, that of a {found} file. "
        "Change the extension to {found}.",
        "upload_damaged": "{name!r} cannot be read as {kind}: it is damaged or incomplete ({reason}). Open it in the "
        "program that created it and save it again.",
        "upload_encrypted": "{name!r} is protected by a password. Save a copy without a password and upload it.",
        "upload_too_many_pages": "{name!r} has {pages} pages, and the maximum is {limit} (KB_MAX_PAGES). Split it or "
        "remove pages.",
        "upload_expands": "{name!r} would take more than {limit_mb} MB when unpacked, which is not normal for a "
        "document. Save it again or upload its text.",
        "upload_too_steep": "The part {part!r} of {name!r} would be {ratio} times as large when unpacked, and the "
        "maximum is {limit}: documents that people write have 5 to 30. Nothing was unpacked. Save it again or upload "
        "its text.",
        "upload_too_many_parts": "{name!r} is packed in {parts} parts, and the maximum is {limit}. Nothing was "
        "unpacked. Save it again without pictures and embedded files, or upload its text.",
        "upload_too_deep": "{name!r} has {depth} elements inside each other, and the maximum is {limit}. Save it "
        "again with a simpler layout, or upload its text.",
        "upload_too_many_rows": "The tables of {name!r} have {rows} rows, and the maximum is {limit}. Split it into "
        "several files.",
        "upload_too_many_elements": "{name!r} has {elements} elements, such as paragraphs and table cells, and the "
        "maximum is {limit}. Split it, or upload its text.",
        "upload_too_many_headings": "{name!r} has {headings} headings, and the maximum is {limit}. Split it into "
        "several files.",
        "upload_too_slow": "{name!r} could not be read within {seconds} seconds. Split it, or upload its text.",
        "upload_no_room": "There is no room for {name!r}: the previous files fill the {limit} characters that a "
        "knowledge base can hold (KB_MAX_CHARS). Remove other documents, or upload it as a separate knowledge base.",
        "upload_needs_memory": "A knowledge base of up to {chars} characters needs about {needed_mb} MB of memory, "
        "and {available_mb} MB are available. Upload fewer files, lower KB_MAX_CHARS, or give the server more memory.",
        "upload_queue_full": "{files} files of {mb} MB in total would be waiting, and a session can have {most_files} "
        "files of {most_mb} MB in total. Wait until the previous ones are read, or upload fewer.",
        "document_source_failed": "The source {source!r} gave no document for {found!r}: {reason}. Check the name "
        "behind {source!r} and the colon; `chatbot-mvp plugins` lists the sources that are added.",
        "upload_not_found": "There is no {name!r}: it is neither a file nor a folder, and names no source. Check the "
        "path; sources: {legal}.",
        "upload_not_readable": "{name!r} cannot be read: {reason}. Check that it is there and that you may read it.",
        "upload_link": "{name!r} is a link, and links in a folder are not followed. Put the file or folder itself "
        "there, or name what it leads to as well.",
        "upload_same_path": "{name!r} would be the document {path!r}, as {other!r} would. Add it into another folder, "
        "or under another name.",
        "upload_folder_empty": "The folder {name!r} has no document. Its files have to be of one of: {legal}.",
        "upload_none_usable": "None of the files ({count}) can be used. The first: {reason}",
    }


class UploadScanned(UploadError):
    texts = {
        "upload_scanned": "{name!r} has no text on its pages ({pages}): they are images. Run text recognition (OCR), "
        "save it as a PDF with text and upload it.",
    }


class ReaderFailed(ChatbotError):
    """A reader of documents cannot work on this machine; no file is at fault."""

    texts = {
        "reader_failed": "{name!r} was not read: the reader of {kind} files failed on this machine, not because of the "
        "document ({reason}). Run `chatbot-mvp doctor`, which reads a small file of each format, and repair the "
        "installation.",
    }


class ReaderUnfenced(ChatbotError):
    """A fence around the readers of uploaded files does not hold."""

    texts = {
        "reader_unfenced": "Uploaded files are read without {missing}; what holds: {held}. Where system calls are "
        "filtered (systemd, containers), allow landlock_create_ruleset, landlock_add_rule and landlock_restrict_self; "
        "else use a kernel with Landlock, from 5.13 on.",
    }


class KbNotFound(ChatbotError):
    exit_code = 2
    texts = {"kb_not_found": "There is no knowledge base {kb_id!r}. Available: {legal}."}


class KbPassageChanged(ChatbotError):
    exit_code = 2
    texts = {
        "kb_passage_changed": "The documents changed, and {id!r} names no passage of theirs any more. Search again, "
        "and use an id of that search.",
    }


class KbUnreadable(ChatbotError):
    texts = {
        "kb_unreadable": "The knowledge base {kb_id!r} cannot be read: {reason}. Add the documents that are damaged "
        "again under the same paths, or restore an earlier version or a backup.",
    }


class KbNotWritten(ChatbotError):
    texts = {
        "kb_not_written": "{name!r} cannot be saved in {path!r}: {reason}. The knowledge bases are as they were "
        "before. Free up space or grant write permission, then try again.",
    }


class KbChangeError(ChatbotError):
    """A change to the documents of a knowledge base that cannot be made, or something of them that is not there;
    nothing has changed."""

    exit_code = 2
    texts = {
        "kb_document_not_found": "The knowledge base {kb_id!r} has no document {path!r}. It has: {legal}.",
        "kb_path_taken": "The knowledge base {kb_id!r} already has a document {path!r}. Choose another path, or remove "
        "that document first.",
        "kb_would_be_empty": "The knowledge base {kb_id!r} would have no document left. Add one in the same step, or "
        "delete the knowledge base.",
        "kb_changed_meanwhile": "Somebody else changed {path!r} of the knowledge base {kb_id!r} in the meantime. "
        "Nothing was written. Look at the new version, then make your change again.",
        "kb_version_not_found": "The knowledge base {kb_id!r} has no version {version!r} that is kept. Kept are: "
        "{legal}.",
        "kb_version_incomplete": "The new version of the knowledge base {kb_id!r} cannot become the current one, "
        "because its file {path!r} is missing. The version before stays. Make the change again; if it is missing "
        "still, add the document again.",
        "kb_document_purged": "{path!r} with this text was purged from the knowledge base {kb_id!r}, so it does not "
        "come back. If it shall, add it under another path.",
        "kb_nothing_staged": "The knowledge base {kb_id!r} has no draft. Make one with `kb add --stage`.",
        "kb_quota_exceeded": "The files and texts of the knowledge base {kb_id!r} would take {needed_mb} MB, and the "
        "maximum is {limit_mb} MB (KB_QUOTA_MB). Remove documents, or raise the limit.",
        "kb_name_ambiguous": "Several knowledge bases are called {name!r}. Name one by its id: {legal}.",
        "kb_name_taken": "There is already a knowledge base called {name!r}, {kb_id!r}. Change that one, or choose "
        "another name.",
        "kb_same_documents": "The knowledge base {kb_id!r}, called {name!r}, has exactly these documents. Use that "
        "one, or rename it.",
        "kb_date_invalid": "{date!r} is not a day. Write it as YYYY-MM-DD.",
        "kb_original_not_kept": "The knowledge base {kb_id!r} keeps only the text of {path!r}, not its file. Add the "
        "file again to keep it.",
        "kb_page_not_found": "{path!r} has no page {page}. Legal: {legal}.",
        "kb_page_not_drawn": "Page {page} of {path!r} cannot be drawn: the file is damaged, or the page takes more "
        "than {seconds} seconds or too much memory. Read its text instead, or download the file.",
        "kb_passage_not_found": "{path!r} has no characters {start} to {end} in version {version!r}. Legal: {legal}.",
        "kb_sync_removes_most": "There is no file for {removed} of the {count} documents of the knowledge base "
        "{kb_id!r}, more than half. Nothing was changed. Check the files; if those documents shall go, confirm it with "
        "--yes, over HTTP with yes=true.",
    }


class KbPurgeUnfinished(ChatbotError):
    texts = {
        "kb_purge_unfinished": "The purge of documents of {kb_id!r} is not finished: {path!r}: {reason}. They are no "
        "longer in the current version, but may still be quoted elsewhere. Remove the cause, then purge them again.",
    }


class FilterError(ConfigurationError):
    """A question limited to some documents that cannot be asked."""

    exit_code = 2
    texts = {
        "filter_illegal": "{found!r} is not valid for {field!r} of a filter of documents. Legal is {legal}.",
        "filter_matches_nothing": "No document of the knowledge base {kb_id!r} meets the filter {filter}, so nothing "
        "was searched. It has {documents} documents; folders: {folders}; tags: {tags}. Change the filter, or ask "
        "without one.",
    }


class ConversationNotFound(ChatbotError):
    exit_code = 2
    texts = {
        "conversation_not_found": "There is no conversation {conversation_id!r}. It may have been deleted; start "
        "another one.",
    }


class KbEvaluationError(ChatbotError):
    """Error in the evaluation questions of a knowledge base, or in their results."""

    exit_code = 2
    texts = {
        "no_questions_kept": "No question of the set {name!r} is marked for use. Mark or add at least one.",
        "nothing_proposed": "No questions could be made from the knowledge base {kb_id!r}: its text has no headings, "
        "definitions, figures or names. Write some by hand or import a file.",
        "proposals_unusable": "None of the questions that the language model wrote for the knowledge base {kb_id!r} "
        "can be used: {reason}. Choose another model, or propose questions without one.",
    }


class QuestionSetNotFound(KbEvaluationError):
    texts = {
        "question_set_not_found": "The knowledge base {kb_id!r} has no question set {set_id!r} that can be read. It "
        "may have been deleted; choose another one or make a new one.",
    }


class QuestionSetChanged(KbEvaluationError):
    texts = {
        "question_set_changed": "The question set {name!r} of the knowledge base {kb_id!r} was changed by someone "
        "else in the meantime. Nothing was written. Reload it, make your changes again and save.",
    }


class KbResultNotFound(KbEvaluationError):
    texts = {
        "kb_result_not_found": "The knowledge base {kb_id!r} has no evaluation {result_id!r} that can be read. It may "
        "have been deleted; choose another one or start a new one.",
    }
