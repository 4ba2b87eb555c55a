"""Errors of settings, arguments, sign-in and caches."""

from __future__ import annotations

from chatbot_mvp.errors.base import ChatbotError


class ConfigurationError(ChatbotError):
    exit_code = 2
    texts = {
        "question_too_long": "The question has {length} characters, and at most {limit} are read. Ask about one "
        "thing, or upload the text as a document and ask about it.",
        "passage_changed": "The passage {chunk_id!r} has changed in the knowledge base since it was shown. Ask the "
        "question again.",
        "choice_not_kept": "The choice cannot be saved to {path!r}: {reason}. Grant write permission or free up "
        "space, and try again.",
        "vector_store_unavailable": "The vector store at {place!r} cannot be used: {reason}. Check CHROMA_HOST and "
        "that the server is running, or set VECTOR_STORE=exact.",
        "embedder_file_unreadable": "{path!r} cannot be used as {format}: {reason}. Replace it, or change "
        "EMBEDDING_MODEL_NAME.",
        "embedder_option_invalid": "{path!r}: {found} is not valid; legal: {legal}. Correct it or add it there.",
        "embedder_tokens_mismatch": "The tokenizer {tokenizer!r} and the model {model!r} do not belong together: the "
        "tokenizer's highest token id is {highest}, and the model does not know it. Copy both from the same model.",
        "embedder_download_failed": "The embedding model {model!r} cannot be downloaded to {folder!r} or loaded from "
        "there: {reason}. Check the connection to the Internet and the free space, and try again.",
    }


class InvalidSetting(ConfigurationError):
    texts = {"invalid_setting": "{name}={found!r} is not valid: {reason}. Change it in the environment or in .env."}


class UnknownChoice(ConfigurationError):
    texts = {"unknown_choice": "There is no {kind} {found!r}. Choose one of: {legal}."}


class MissingPackage(ConfigurationError):
    texts = {"missing_package": "{feature} needs the package {package!r}. Install it with: {command}"}


class NeedsLanguageModel(ConfigurationError):
    texts = {
        "needs_language_model": "{feature} needs a language model, and the provider {provider!r} has none or is not "
        "configured. Choose a provider with a model in Admin or with PROVIDER, or do without {feature}.",
    }


class ConfigFileError(InvalidSetting):
    """A configuration file, or what it holds."""

    texts = {
        "config_file_invalid": "{name}={found!r} is not valid: {reason}. Correct it in {file!r}.",
        "config_key_unknown": "There is no key {name!r} in {file!r}. Correct the file; legal there: {legal}.",
        "config_file_unreadable": "The configuration file {file!r} cannot be read: {reason}. Correct the file, or "
        "give the path of another one.",
    }


class EmbedderFileMissing(ConfigurationError):
    texts = {
        "embedder_file_missing": "The embedding model {model!r} cannot be loaded: {folder!r} has no file {expected}. "
        "Put the file there, or change EMBEDDING_MODEL_NAME.",
    }


class SignInError(ChatbotError):
    """Signing in to Admin failed."""

    texts = {
        "password_wrong": "That is not the password of {variable}. Try again, or ask the administrator of this server.",  # nosec B105
        "password_tries_exhausted": "Too many wrong passwords. Wait {seconds} s and try again.",  # nosec B105
        "admin_needed": "Nothing was done: {call} is for administrators. Sign in to Admin and try again.",
    }


class CacheUnusable(ChatbotError):
    texts = {
        "cache_unusable": "The cache {path!r} cannot be used: {reason}. Free up space on its disk and try again: its "
        "content is kept. If the file is damaged, delete it; it is computed again.",
    }


class AddressUnavailable(ChatbotError):
    texts = {
        "address_unavailable": "Cannot listen on {host}:{port}: {reason}. Stop the program that uses the port, or "
        "choose another one with --port.",
    }
