"""Errors of settings, arguments, sign-in and caches."""

from __future__ import annotations

from chatbot_mvp.errors.base import ChatbotError


class ConfigurationError(ChatbotError):
    exit_code = 2


class InvalidSetting(ConfigurationError):
    code = "invalid_setting"
    template = "{name}={found!r} is not valid: {reason}. Change it in the environment or in .env."


class UnknownChoice(ConfigurationError):
    code = "unknown_choice"
    template = "There is no {kind} {found!r}. Choose one of: {legal}."


class MissingPackage(ConfigurationError):
    code = "missing_package"
    template = "{feature} needs the package {package!r}. Install it with: {command}"


class QuestionTooLong(ConfigurationError):
    code = "question_too_long"
    template = (
        "The question has {length} characters, and at most {limit} are read. Ask about one thing, or upload the text "
        "as a document and ask about it."
    )


class NeedsLanguageModel(ConfigurationError):
    code = "needs_language_model"
    template = (
        "{feature} needs a language model, and the provider {provider!r} has none or is not configured. Choose a "
        "provider with a model in Admin or with PROVIDER, or do without {feature}."
    )


class ConfigFileInvalid(InvalidSetting):
    code = "config_file_invalid"
    template = "{name}={found!r} is not valid: {reason}. Correct it in {file!r}."


class ConfigKeyUnknown(InvalidSetting):
    code = "config_key_unknown"
    template = "There is no key {name!r} in {file!r}. Correct the file; legal there: {legal}."


class ConfigFileUnreadable(InvalidSetting):
    code = "config_file_unreadable"
    template = (
        "The configuration file {file!r} cannot be read: {reason}. Correct the file, or give the path of another one."
    )


class ChoiceNotKept(ConfigurationError):
    code = "choice_not_kept"
    template = (
        "The choice cannot be saved to {path!r}: {reason}. Grant write permission or free up space, and try again."
    )
    exit_code = 2


class VectorStoreUnavailable(ConfigurationError):
    code = "vector_store_unavailable"
    template = (
        "The vector store at {place!r} cannot be used: {reason}. Check CHROMA_HOST and that the server is running, or "
        "set VECTOR_STORE=exact."
    )


class EmbedderFileMissing(ConfigurationError):
    code = "embedder_file_missing"
    template = (
        "The embedding model {model!r} cannot be loaded: {folder!r} has no file {expected}. Put the file there, or "
        "change EMBEDDING_MODEL_NAME."
    )


class EmbedderFileUnreadable(ConfigurationError):
    code = "embedder_file_unreadable"
    template = "{path!r} cannot be used as {format}: {reason}. Replace it, or change EMBEDDING_MODEL_NAME."


class EmbedderOptionInvalid(ConfigurationError):
    code = "embedder_option_invalid"
    template = "{path!r}: {found} is not valid; legal: {legal}. Correct it or add it there."


class EmbedderTokensMismatch(ConfigurationError):
    code = "embedder_tokens_mismatch"
    template = (
        "The tokenizer {tokenizer!r} and the model {model!r} do not belong together: the tokenizer's highest token id "
        "is {highest}, and the model does not know it. Copy both from the same model."
    )


class EmbedderDownloadFailed(ConfigurationError):
    code = "embedder_download_failed"
    template = (
        "The embedding model {model!r} cannot be downloaded to {folder!r} or loaded from there: {reason}. Check the "
        "connection to the Internet and the free space, and try again."
    )


class SignInError(ChatbotError):
    """Signing in to Admin failed."""


class PasswordWrong(SignInError):
    code = "password_wrong"
    template = "That is not the password of {variable}. Try again, or ask the administrator of this server."


class PasswordTriesExhausted(SignInError):
    code = "password_tries_exhausted"
    template = "Too many wrong passwords. Wait {seconds} s and try again."


class AdminNeeded(SignInError):
    code = "admin_needed"
    template = "Nothing was done: {call} is for administrators. Sign in to Admin and try again."


class CacheUnusable(ChatbotError):
    code = "cache_unusable"
    template = (
        "The cache {path!r} cannot be used: {reason}. Free up space on its disk and try again: its content is kept. "
        "If the file is damaged, delete it; it is computed again."
    )


class AddressUnavailable(ChatbotError):
    code = "address_unavailable"
    template = (
        "Cannot listen on {host}:{port}: {reason}. Stop the program that uses the port, or choose another one with "
        "--port."
    )
