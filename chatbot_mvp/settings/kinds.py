"""Kinds of settings, for annotations of fields: a secret, a key, an address, a setting of one provider."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PlainSerializer, SecretStr
from pydantic.fields import FieldInfo

MASK = "***"
"""What stands for a secret wherever settings are written down."""


def _masked(value: SecretStr) -> str:
    return MASK if value.get_secret_value() else ""


def _usable_key(value: SecretStr) -> SecretStr:
    key = value.get_secret_value().strip()
    # It goes into a header: libraries that cannot put it there would repeat it in their error.
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError("a key has no spaces, control characters or letters outside of ASCII")
    return SecretStr(key)


def _no_password(value: str) -> str:
    if "@" in value:
        raise ValueError("an address is written down with every run and must hold no name or password")
    return value


IS_ADDRESS = AfterValidator(_no_password)

Secret = Annotated[SecretStr, PlainSerializer(_masked, when_used="json")]
"""Never written down."""
Key = Annotated[Secret, AfterValidator(_usable_key)]
"""A secret that is sent in a header."""
Address = Annotated[str, IS_ADDRESS]
"""Where requests go to."""


@dataclass(frozen=True, slots=True)
class OfProvider:
    """Says that a setting belongs to one provider of language models."""

    provider: str
    """By its name in ``llm.registry``."""
    role: Literal["key", "model", "address", "other"]
    """What the setting holds; "other" is read by the provider's own code alone."""


def key_of(provider: str, description: str) -> Any:
    """A field for a provider's key, empty unless it is set; its type is ``Key``."""
    return _field(OfProvider(provider, "key"), SecretStr(""), description)


def model_of(provider: str, default: str, description: str) -> Any:
    """A field for the name of a provider's model, which may be empty only if the default is."""
    return _field(OfProvider(provider, "model"), default, description, min_length=1 if default else 0)


def address_of(provider: str, default: str, description: str) -> Any:
    """A field for a provider's address; its type is ``Address``."""
    return _field(OfProvider(provider, "address"), default, description)


def option_of(provider: str, default: Any, description: str, **constraints: Any) -> Any:
    """A field for anything else that only the provider's own code reads; constraints as of ``pydantic.Field``."""
    return _field(OfProvider(provider, "other"), default, description, **constraints)


def marked(field: FieldInfo) -> OfProvider | None:
    """Whose setting a field is; None for a setting that belongs to no provider."""
    extra = field.json_schema_extra
    return OfProvider(**extra) if isinstance(extra, dict) else None  # type: ignore[arg-type]


def _field(mark: OfProvider, default: Any, description: str, **constraints: Any) -> Any:
    return Field(default, description=description, json_schema_extra=asdict(mark), **constraints)
