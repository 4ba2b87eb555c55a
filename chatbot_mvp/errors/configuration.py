"""A setting, an argument or a choice is wrong; who may enter."""

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


class NeedsLanguageModel(ConfigurationError):
    code = "needs_language_model"
    template = (
        "{feature} needs a language model, and the provider {provider!r} has none or is not configured. "
        "Choose a provider with a model in Admin or by PROVIDER, or do without {feature}."
    )


class PromptsUnreadable(ConfigurationError):
    code = "prompts_unreadable"
    template = "The prompts in {path!r} cannot be used: {reason}. Correct it, or remove it to use the built-in ones."


class ChoiceNotKept(ConfigurationError):
    code = "choice_not_kept"
    template = "The choice cannot be kept in {path!r}: {reason}. Make the file writable or make room, and try again."
    exit_code = 2


class VectorStoreUnavailable(ConfigurationError):
    code = "vector_store_unavailable"
    template = (
        "The vector store at {place!r} cannot be used: {reason}. "
        "Check CHROMA_HOST and that the server runs, or set VECTOR_STORE=exact."
    )


class SignInError(ChatbotError):
    """Admin stays closed."""


class PasswordWrong(SignInError):
    code = "password_wrong"
    template = "That is not the password of {variable}. Try again, or ask who runs this server."


class PasswordTriesExhausted(SignInError):
    code = "password_tries_exhausted"
    template = "Too many wrong passwords. Wait {seconds} s and try again."


class CacheUnusable(ChatbotError):
    code = "cache_unusable"
    template = (
        "The cache {path!r} cannot be used: {reason}. Make room on its disk and try again: what is in it stays. If "
        "the file is damaged, delete it; it is computed anew."
    )
