"""Defines the settings of the providers of language models, and what is derived from them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from chatbot_mvp.settings.kinds import (
    AUTO,
    IN_ADMIN,
    OF_THE_MACHINE,
    Address,
    Fields,
    Key,
    Row,
    address_of,
    key_of,
    model_of,
    option_of,
)


class ProviderFields(Fields):
    """Settings of the providers; a setting of one provider is marked with the provider's name."""

    provider: Annotated[str, Row(form=20)] = AUTO
    """Provider that writes the answers, by its name in the table of providers; `auto`: the one chosen in Admin, else
    `nim` if LLM_BASE_URL is set, else `gemini` if it has a key, else `demo`."""
    gemini_api_key: Key = key_of("gemini", "Key for `gemini`.")
    google_api_key: Key = key_of("gemini", "Key for `gemini`, used if GEMINI_API_KEY is empty.")
    gemini_model_name: str = model_of("gemini", "gemini-2.5-flash", "Model of `gemini`.")
    gemini_base_url: Address = address_of("gemini", "https://generativelanguage.googleapis.com", "Address of `gemini`.")
    groq_api_key: Key = key_of("groq", "Key for `groq`.")
    groq_model_name: str = model_of("groq", "llama-3.3-70b-versatile", "Model of `groq`.")
    groq_base_url: Address = address_of("groq", "https://api.groq.com", "Address of `groq`.")
    llm_base_url: Address = address_of(
        "nim", "", "NIM with a language model, e.g. http://host:8000/v1; empty: NVIDIA's own service."
    )
    llm_model_name: str = model_of("nim", "nvidia/nemotron-3-nano", "Model of `nim`.")
    nvidia_api_key: Key = key_of("nim", "Key for NIM; empty if the server needs none.")
    openai_api_key: Key = key_of("openai", "Key for `openai`.")
    openai_model_name: str = model_of("openai", "gpt-4.1-mini", "Model of `openai`.")
    openai_base_url: Address = address_of(
        "openai", "https://api.openai.com/v1", "Address of `openai` or of a compatible API."
    )
    ollama_model_name: str = model_of("ollama", "", "Model of `ollama`, as `ollama list` names it.")
    ollama_base_url: Address = address_of("ollama", "http://127.0.0.1:11434/v1", "Address of `ollama`.")
    local_model_path: str = option_of("local", "")
    """GGUF file of the model that `local` runs inside the process."""
    hf_endpoint: Address = "https://huggingface.co"
    """Hub of Hugging Face that models for `local` are downloaded from, or a mirror of it."""
    local_context_tokens: int = option_of("local", 4_096, ge=256, le=1_048_576)
    """Context size of `local`: prompt and answer together (tokens)."""
    local_threads: Annotated[int, OF_THE_MACHINE] = option_of("local", 0, ge=0, le=1_024)
    """Threads of `local`; 0: half the cores, so that pages stay responsive."""
    huggingface_model_name: str = model_of(
        "huggingface", "", "Model of `huggingface`: a folder of Hugging Face, or a name on its Hub."
    )
    huggingface_options: str = option_of("huggingface", "")
    """Arguments of `transformers.pipeline` for `huggingface`, as a JSON object, e.g. with `device_map`, `dtype` and
    `repetition_penalty`."""

    llm_temperature: Annotated[float, IN_ADMIN, Row(chat="system", form=50)] = Field(0.0, ge=0.0, le=2.0)
    """Temperature of answers; only replies at temperature 0 are cached."""
    llm_max_tokens: Annotated[int, IN_ADMIN, Row(form=60)] = Field(1_024, ge=1)
    """Maximum length of an answer (tokens)."""
    llm_cache_enabled: Annotated[bool, IN_ADMIN, Row(form=70)] = True
    """Save replies at temperature 0 in DATA_DIR/cache/replies.sqlite and reuse them at no cost."""
    nim_max_concurrent_requests: Annotated[int, IN_ADMIN, Row(run_group="requests", form=10)] = Field(
        32, ge=1, le=1_024
    )
    """Maximum concurrent requests to a provider, NIM or any other."""
    nim_max_requests_per_second: Annotated[float, IN_ADMIN, Row(run_group="requests")] = Field(0, ge=0, le=10_000)
    """Maximum rate of requests to a provider, NIM or any other, of all threads and workers of a cluster together (per
    second); 0: learned from the requests that it refuses with 429."""
    nim_request_timeout: Annotated[float, IN_ADMIN, Row(run_group="requests", form=20)] = Field(120, gt=0, le=3_600)
    """Maximum wait for a provider, NIM or any other (seconds)."""
    nim_max_retries: Annotated[int, IN_ADMIN, Row(run_group="requests", form=30)] = Field(3, ge=0, le=20)
    """Retries of a request that failed with 429, 5xx, a time-out or a lost connection."""
