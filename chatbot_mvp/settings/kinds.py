"""Kinds of settings, for annotations of fields: a secret, a key, an address, a setting of one provider."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, Field, PlainSerializer, SecretStr
from pydantic.fields import FieldInfo

from chatbot_mvp.settings.early import MASK

LOCAL_EMBEDDER = "local/multilingual-e5-small"
ONNX_PREFIX, CT2_PREFIX, FASTEMBED_PREFIX, HUGGINGFACE_PREFIX = "onnx:", "ct2:", "fastembed/", "huggingface:"
"""Beginnings of the names of other embedding models that run in this process."""


def embeds_in_process(name: str) -> bool:
    """Return whether the embedding model ``name`` runs in this process, whatever EMBEDDING_BASE_URL is."""
    return name == LOCAL_EMBEDDER or name.startswith((ONNX_PREFIX, CT2_PREFIX, FASTEMBED_PREFIX, HUGGINGFACE_PREFIX))


AUTO = "auto"
"""Value of PROVIDER that selects the provider automatically: the one chosen in Admin, else nim if LLM_BASE_URL is set,
gemini if it has a key, or demo."""

LEAST_CONTEXT_CHARS = 500
"""Minimum legal length of a context, in characters."""


def _masked(value: SecretStr) -> str:
    return MASK if value.get_secret_value() else ""


def _usable_key(value: SecretStr) -> SecretStr:
    key = value.get_secret_value().strip()
    # The key goes into an HTTP header: a library that cannot encode it would repeat it in its error message.
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError("a key has no spaces, control characters or letters outside of ASCII")
    return SecretStr(key)


def _no_password(value: str) -> str:
    if "@" in value:
        raise ValueError("an address is recorded with every run and must not contain a user name or password")
    return value


def _room_for_a_passage(value: int) -> int:
    if 0 < value < LEAST_CONTEXT_CHARS:
        raise ValueError(f"legal: 0, or {LEAST_CONTEXT_CHARS} and more")
    return value


def _none_or_several(value: int) -> int:
    if value in (1, 2):
        raise ValueError("legal: 0, or 3 to 5")
    return value


IS_ADDRESS = AfterValidator(_no_password)


@dataclass(frozen=True, slots=True)
class OfTheMachine:
    """Marks a setting that changes no result, such as a number of threads: a resumed run uses the current value."""


OF_THE_MACHINE = OfTheMachine()


@dataclass(frozen=True, slots=True)
class InAdmin:
    """Marks a setting that Admin may change while the App is running."""


IN_ADMIN = InAdmin()

Secret = Annotated[SecretStr, PlainSerializer(_masked, when_used="json")]
"""A setting whose value is never logged, saved or shown."""
Key = Annotated[Secret, AfterValidator(_usable_key)]
"""A secret that is sent in an HTTP header."""
Address = Annotated[str, IS_ADDRESS]
"""An address that requests are sent to."""
NoneOrContextChars = Annotated[int, AfterValidator(_room_for_a_passage)]
"""A length of a context in characters; 0 for a length that is derived."""
NoneOrSeveral = Annotated[int, AfterValidator(_none_or_several)]
"""A number of questions per chunk: 0, or 3 and more."""


# fmt: off
CorpusLanguage = Literal[
    "", "es", "en", "ar", "ca", "cs", "da", "de", "el", "eo", "et", "eu", "fa", "fi", "fr", "ga", "hi", "hu",
    "hy", "id", "it", "lt", "ne", "nl", "no", "pl", "pt", "ro", "ru", "sr", "st", "sv", "ta", "tr", "yi",
]
# fmt: on
"""A language that words can be stemmed in: "es", "en" or a key of ``languages.STEMMERS``; "" to detect it."""


@dataclass(frozen=True, slots=True)
class OfProvider:
    """Marks a setting as belonging to one provider of language models."""

    provider: str
    """Name of the provider in ``llm.registry``."""
    role: Literal["key", "model", "address", "other"]
    """What the setting holds; "other" is read only by the provider's own code."""


def key_of(provider: str, description: str) -> Any:
    """Return a field for a provider's key, empty by default. Annotate it with ``Key``."""
    return _field(OfProvider(provider, "key"), SecretStr(""), description)


def model_of(provider: str, default: str, description: str) -> Any:
    """Return a field for the name of a provider's model. It may be empty only if the default is."""
    return _field(OfProvider(provider, "model"), default, description, min_length=1 if default else 0)


def address_of(provider: str, default: str, description: str) -> Any:
    """Return a field for a provider's address. Annotate it with ``Address``."""
    return _field(OfProvider(provider, "address"), default, description)


def option_of(provider: str, default: Any, description: str, **constraints: Any) -> Any:
    """Return a field that only the provider's own code reads; constraints as in ``pydantic.Field``."""
    return _field(OfProvider(provider, "other"), default, description, **constraints)


def marked(field: FieldInfo) -> OfProvider | None:
    """Return the provider that a field belongs to; None if it belongs to none."""
    extra = field.json_schema_extra
    # pydantic types the values as any JSON; those of a marked field were written by ``_field`` from an ``OfProvider``.
    found = isinstance(extra, dict) and extra.keys() == {"provider", "role"}
    return OfProvider(**cast("dict[str, Any]", extra)) if found else None


def _field(mark: OfProvider, default: Any, description: str, **constraints: Any) -> Any:
    return Field(default, description=description, json_schema_extra=asdict(mark), **constraints)


def names_of(text: str) -> list[str]:
    """Split names separated by commas; repeated and empty ones are dropped."""
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
