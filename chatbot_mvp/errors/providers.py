"""Errors of model providers."""

from __future__ import annotations

from chatbot_mvp.errors.base import ChatbotError


class ProviderError(ChatbotError):
    """A provider of answers, vectors or rankings could not serve a request."""

    texts = {
        "provider_key_refused": "The provider {provider!r} rejected the key for {model!r}: {reason}. Check "
        "{variable}; the provider's console lists the valid keys.",
        "provider_model_unknown": "The provider {provider!r} has no model {model!r} at {address}: {reason}. Set "
        "{variable} to a model that it offers.",
    }


class ProviderNotConfigured(ProviderError):
    exit_code = 2
    texts = {
        "provider_not_configured": "The provider {provider!r} cannot be used yet; missing: {missing}. Set it in "
        "Admin, the environment, .env or .streamlit/secrets.toml, or choose another provider.",
    }


class ProviderBadRequest(ProviderError):
    texts = {
        "provider_bad_request": "The provider {provider!r} rejected the request to {model!r}: {reason}. Repeating it "
        "would not help; change the options or the model.",
    }


class ProviderPromptTooLong(ProviderError):
    texts = {
        "provider_prompt_too_long": "The prompt is too long for {model!r} from the provider {provider!r}: {reason}. "
        "Lower KB_MAX_CONTEXT_CHARS or KB_TOP_K, or choose a model with a larger context.",
    }


class ProviderRateLimited(ProviderError):
    texts = {
        "provider_rate_limited": "The provider {provider!r} limits the requests to {model!r} and still rejected them "
        "after {tries} tries: {reason}. Wait a moment, or lower NIM_MAX_CONCURRENT_REQUESTS (for every provider).",
    }


class ProviderQuotaExhausted(ProviderError):
    texts = {
        "provider_quota_exhausted": "The quota of the provider {provider!r} for {model!r} is used up: {reason}. Wait "
        "until it is renewed, raise it in the provider's console, or choose another provider.",
    }


class ProviderUnavailable(ProviderError):
    texts = {
        "provider_unavailable": "The provider {provider!r}, with {model!r}, did not answer at {address} (tries: "
        "{tries}): {reason}. Check that it is running and reachable, or raise NIM_REQUEST_TIMEOUT (for every "
        "provider).",
    }


class ProviderReplyUnusable(ProviderError):
    texts = {
        "provider_reply_unusable": "The reply of {model!r} from the provider {provider!r} cannot be used: {reason}. "
        "Ask again; if it happens again, choose another model.",
    }


class ProviderLeft(ProviderError):
    texts = {
        "provider_left": "No request is sent to the provider {provider!r} any more, because {chosen!r} was chosen in "
        "the meantime. Repeat what you did: {chosen!r} is asked then.",
    }


class RequestStopped(ProviderError):
    texts = {
        "request_stopped": "The request to the provider {provider!r} was stopped, because its answer is not wanted "
        "any more. Ask again.",
    }


class LocalModelError(ProviderError):
    """A model for this machine could not be found, downloaded or removed."""

    texts = {
        "hub_unreachable": "The hub at {address} did not answer about {repo!r}: {reason}. Check the connection and "
        "HF_ENDPOINT, and try again.",
        "hub_model_unknown": "The hub at {address} has no model {repo!r} that everybody may download: {reason}. Check "
        "the name, as in Qwen/Qwen2.5-1.5B-Instruct-GGUF.",
        "hub_file_unknown": "{repo!r} has no file {file!r} in one piece. It has: {legal}.",
        "local_model_no_room": "{file!r} needs {needed_gb} GB, and {folder!r} has {free_gb} GB free. Free up space, or "
        "choose a smaller model; what has already arrived is kept.",
        "local_model_not_received": "{file!r} could not be downloaded from {url!r}: {reason}. Try again: what has "
        "already arrived is kept.",
        "local_model_not_here": "There is no downloaded model {file!r}. Downloaded: {legal}.",
    }
