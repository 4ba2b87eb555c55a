"""Defines the settings of the application: files, access, knowledge bases, chat and endpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, field_validator, model_validator

from chatbot_mvp.settings.installation import INSTALLATION
from chatbot_mvp.settings.kinds import (
    IN_ADMIN,
    LEAST_CONTEXT_CHARS,
    Fields,
    Key,
    PresetName,
    Row,
    Secret,
    Tried,
)
from chatbot_mvp.settings.password import reason_against

_LEAST_TOKEN = 16
_CONTEXTS = Tried(
    50,
    tuple({"kb_max_context_chars": size, "kb_large_context_chars": size} for size in (4_000, 6_000, 9_000)),
    ("kb",),
    "context",
)


class ApplicationFields(Fields):
    """Settings of files, access, knowledge bases, chat and endpoint."""

    data_dir: Path = INSTALLATION.data_dir
    """Folder where the application writes all its files; of an installed package, ~/.local/share/chatbot-mvp."""
    ui_language: Annotated[Literal["es", "en"], IN_ADMIN] = "es"
    """Language of the pages on the first visit."""

    default_preset: Annotated[PresetName, IN_ADMIN] = ""
    """System whose settings stand in place of the defaults for everybody, in chat, `serve` and runs; what is set
    explicitly wins. Empty: none."""
    admin_password: Secret = SecretStr("")
    """Password to enter Admin and to delete, or its hash from `chatbot-mvp hash-password`; empty: none."""
    admin_emails: str = ""
    """Who may open Admin after signing in with OIDC (`[auth]` in `.streamlit/secrets.toml`), separated by commas:
    addresses that the provider calls verified, or `ISSUER#SUBJECT`; empty: nobody that way."""
    kb_max_chars: Annotated[int, IN_ADMIN, Row(group="kb")] = Field(5_000_000, ge=1_000, le=200_000_000)
    """Maximum length of a knowledge base; longer texts are cut at a paragraph (characters). 1 million characters need
    about 270 MB of memory and 1 s to index, without the time of an embedding model."""
    kb_max_upload_mb: Annotated[int, IN_ADMIN, Row(group="kb")] = Field(50, ge=1, le=1_000)
    """Maximum size of a file for a knowledge base (MB)."""
    kb_max_pages: Annotated[int, IN_ADMIN, Row(group="kb")] = Field(3_000, ge=1, le=10_000)
    """Maximum length of a PDF (pages)."""
    kb_quota_mb: Annotated[int, IN_ADMIN, Row(group="kb")] = Field(1_000, ge=1, le=1_000_000)
    """Maximum size of a knowledge base on disk: the files and texts of all its kept versions (MB)."""
    kb_top_k: Annotated[
        int, IN_ADMIN, Row("selection", "kb", "context", chat="search", form=130, tried=Tried(40, (3, 5, 8), ("kb",)))
    ] = Field(5, ge=1, le=1_000)
    """Maximum number of chunks that reach an answer."""
    kb_min_score: Annotated[
        float,
        IN_ADMIN,
        Row("selection", "kb", "context", chat="search", form=140, tried=Tried(60, (0.0, 0.3, 0.5), ("kb",))),
    ] = Field(0.0, ge=0.0, le=1.0)
    """Minimum score of a chunk relative to the best one (0-1); chunks with a lower score are dropped. With
    RETRIEVAL_STRATEGY=KB_CHAT it is compared with the score itself."""
    kb_max_context_chars: Annotated[
        int, IN_ADMIN, Row("selection", "kb", "context", chat="search", tried=_CONTEXTS)
    ] = Field(4_000, ge=LEAST_CONTEXT_CHARS)
    """Maximum context sent to the model (characters)."""
    kb_large_context_chars: Annotated[int, IN_ADMIN, Row("selection", "kb", "context", chat="search")] = Field(
        6_000, ge=LEAST_CONTEXT_CHARS
    )
    """Maximum context for sources over 40,000 characters (characters). If only KB_MAX_CONTEXT_CHARS is set, it applies
    to all sources."""
    kb_filter: Annotated[str, Row("selection", "kb", "context", chat="search")] = ""
    """Documents of a knowledge base that a question is asked of, where it names none itself: JSON with folders, tags,
    documents, since, until and dated; empty: all."""
    kb_min_evidence: Annotated[float, IN_ADMIN, Row(group="kb", chat="system")] = Field(0.5, ge=0.0, le=1.0)
    """Minimum evidence score for strict mode to answer (0-1)."""
    kb_doubt_evidence: Annotated[float, IN_ADMIN, Row(group="kb", chat="system")] = Field(0.05, ge=0.0, le=1.0)
    """From this evidence score up to KB_SURE_EVIDENCE, strict mode asks the provider's model whether the passages are
    relevant (0-1; if not below KB_MIN_EVIDENCE: never)."""
    kb_sure_evidence: Annotated[float, IN_ADMIN, Row(group="kb", chat="system")] = Field(0.0, ge=0.0, le=1.0)
    """From this evidence score on, strict mode answers without asking the model whether the passages are relevant (0-1;
    0: halfway between KB_MIN_EVIDENCE and 1; 1: it always asks)."""
    kb_min_proof: Annotated[float, IN_ADMIN, Row(group="kb")] = Field(1.0, ge=1.0, le=2.0)
    """Minimum proof of a quote for an answer without a model to have the tick (1-2); a promise may ask for more."""
    chat_max_tokens: Annotated[int, IN_ADMIN, Row(group="chat")] = Field(0, ge=0, le=32_000)
    """Maximum chat answer (tokens); 0: 700 with groq and a knowledge base, otherwise LLM_MAX_TOKENS."""
    chat_rewrite_followups: Annotated[bool, IN_ADMIN, Row(group="chat")] = False
    """Let the model rewrite each follow-up question so that it stands alone."""
    chat_withholds: Annotated[bool, IN_ADMIN, Row(group="chat", chat="system")] = True
    """In strict mode, do not show an answer of which the passages support no sentence."""
    chat_asks_back: Annotated[bool, IN_ADMIN, Row(group="chat", chat="system")] = True
    """In strict mode, ask which one is meant if a question could mean several things."""
    log_queries: bool = False
    """Include the text of questions in logs/retrieval_metrics.jsonl."""
    serve_token: Key = SecretStr("")
    """Bearer token that `chatbot-mvp serve` requires, of 16 characters or more; empty: a new one per start."""
    serve_cors_origins: str = ""
    """Web pages that may call `chatbot-mvp serve` from a browser, as origins separated by commas
    (https://chat.example.org); empty: none."""
    serve_max_connections: int = Field(200, ge=1, le=10_000)
    """Maximum number of connections to `chatbot-mvp serve`; further requests get status 503."""
    allowed_hosts: str = ""
    """Names, separated by commas, under which the pages and `chatbot-mvp serve` may be opened, besides localhost and
    the address that they listen on."""
    trusted_proxies: str = ""
    """Addresses of reverse proxies, separated by commas, whose `X-Forwarded-For` names the client; empty: the header is
    not believed."""

    @field_validator("admin_password")
    @classmethod
    def _usable_password(cls, value: SecretStr) -> SecretStr:
        if reason := reason_against(value.get_secret_value()):
            raise ValueError(reason)
        return value

    @field_validator("serve_token")
    @classmethod
    def _token_that_nobody_guesses(cls, value: SecretStr) -> SecretStr:
        # Nothing slows down guessing at the endpoint, so the token alone has to be long enough.
        if 0 < len(value.get_secret_value()) < _LEAST_TOKEN:
            raise ValueError(
                f"it must have {_LEAST_TOKEN} characters or more, as `openssl rand -hex 24` prints, or be empty"
            )
        return value

    @model_validator(mode="before")
    @classmethod
    def _one_budget_for_all(cls, values: Any) -> Any:
        if isinstance(values, dict) and "kb_max_context_chars" in values:
            values.setdefault("kb_large_context_chars", values["kb_max_context_chars"])
        return values
