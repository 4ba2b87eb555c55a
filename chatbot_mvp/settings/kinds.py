"""What the type of a setting says of it: a secret, an address, of one provider, and what the program does with it."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import pairwise
from typing import Annotated, Any, Literal, get_args
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, Field, PlainSerializer, SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

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

_HOST = re.compile(r"(?=.{1,253}$)[\w-]{1,63}(\.[\w-]{1,63})*\.?", re.ASCII)
_FOUR_NUMBERS = re.compile(r"\d+(\.\d+){3}")
_LONGEST_ADDRESS = 2_000


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
    value = value.strip()
    if not value.isprintable() or " " in value:
        raise ValueError("an address has no spaces and no control characters")
    return value


def _of_the_web(value: str) -> str:
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and _is_host(parts) and parts.port != 0
    except ValueError:  # no port has this number, or no machine this address
        usable = False
    if value and (not usable or len(value) > _LONGEST_ADDRESS):
        raise ValueError("legal is http:// or https:// with a host, for example http://127.0.0.1:11434/v1")
    return value


def _is_host(parts: SplitResult) -> bool:
    """Return whether HTTP clients can ask for this host; the others raise errors of many kinds, all of them late.

    Raises:
        ValueError: it looks like an IP address and is none.
    """
    host = parts.hostname or ""
    if not host.isascii() or "xn--" in host:
        import httpx

        try:
            url = httpx.URL(f"http://{host}")
            return bool(_HOST.fullmatch(url.raw_host.decode()) and url.host)
        except httpx.InvalidURL:
            return False
    if "[" in parts.netloc or _FOUR_NUMBERS.fullmatch(host):
        ip_address(host)
        return True
    return bool(_HOST.fullmatch(host))


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

Group = Literal["general", "kb", "chat", "provider", "vectors", "retrieval", "reranking", "data", "answers"]
"""A group of settings in Admin and in the reference. Also a translation key."""
GROUPS: tuple[Group, ...] = get_args(Group)
RunGroup = Literal["search", "context", "reranking", "vectors", "answers", "judge", "data", "requests", "other"]
"""A group of settings where a run shows its configuration. Also a translation key."""
RUN_GROUPS: tuple[RunGroup, ...] = get_args(RunGroup)

Decides = Literal["index", "ranking", "selection", "pipeline", "sample", "language", ""]
"""What another value of a setting changes.

index: what is indexed of a corpus, and so the ranking. ranking: what is found in the same index. selection: which
passages of a ranking reach an answer; it may differ from question to question. pipeline: how a pipeline works; in the
ranking it counts only through a value derived from it, such as ``Settings.reranker``. sample: which questions and
documents a run takes. language: the words of a run; a knowledge base has its own language. "": nothing of these."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What a search for a better configuration tries of a setting."""

    place: int
    """Among all that is tried: 10, 20, 30, … It decides which random combinations a seed gives."""
    values: tuple[Any, ...]
    """A mapping is several settings that only make sense together. Empty: the strategies that need no model."""
    runs: tuple[Literal["benchmark", "kb"], ...] = ("benchmark", "kb")
    """Kinds of runs whose metrics it can change. The ranking of a data set is scored before the selection of the
    context; in a knowledge base, paragraphs are scored in place of the fusion of lists."""
    name: str = ""
    """"" for the setting's own."""
    with_model: bool = False
    """Whether it asks a language model; it is then tried beside the best of what asks none."""


@dataclass(frozen=True, slots=True)
class Row:
    """What the program does with a setting, beside its type, range, default and description: a mark in its type."""

    decides: Decides = ""
    group: Group | Literal[""] = ""
    """"" for the group of its section (``SettingsSection.group``)."""
    run_group: RunGroup | Literal[""] = ""
    """"" for that of its section."""
    chat: Literal["search", "reranker", "expansion", "embedder", "system", ""] = ""
    """How the chat takes the setting over from a run or a system: with every search, with the reranker, with the
    model's words for a question, with the embedding model, or from a system alone; "" if it does not."""
    form: int = 0
    """Its place in its group of the form of a run: 10, 20, 30, …; 0 if the form does not have it."""
    tried: Tried | None = None


class Fields(BaseSettings):
    """A section of settings at the top of a module; the text below a field is its description, without line breaks."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        # Pydantic's own option for this, ``use_attribute_docstrings``, adds 50 ms to each start, and this 10 ms.
        lacking = {name: field for name, field in cls.model_fields.items() if field.description is None}
        if not lacking:
            return
        module = ast.parse(inspect.getsource(sys.modules[cls.__module__]))
        [section] = [found for found in module.body if isinstance(found, ast.ClassDef) and found.name == cls.__name__]
        for statement, below in pairwise(section.body):
            match statement, below:
                case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))) if name in lacking:
                    lacking[name].description = " ".join(text.split())


Secret = Annotated[SecretStr, PlainSerializer(_masked, when_used="json")]
"""A setting whose value is never logged, saved or shown."""
Key = Annotated[Secret, AfterValidator(_usable_key)]
"""A secret that is sent in an HTTP header."""
ServerAddress = Annotated[str, IS_ADDRESS]
"""An address in the form of some server's own clients."""
Address = Annotated[ServerAddress, AfterValidator(_of_the_web)]
"""An address that HTTP requests are sent to."""
NoneOrContextChars = Annotated[int, AfterValidator(_room_for_a_passage)]
"""A length of a context in characters; 0 for a length that is derived."""
NoneOrSeveral = Annotated[int, AfterValidator(_none_or_several)]
"""A number of questions per chunk: 0, or 3 and more."""


PresetName = Literal["", "kb_chat", "rag_v2", "rag_p_simple_vector", "rag_p_contextual_hybrid"]
"""A name of ``retrieval.systems.SYSTEMS``, "" for the default."""

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


def option_of(provider: str, default: Any, description: str | None = None, **constraints: Any) -> Any:
    """Return a field that only the provider's own code reads; constraints as in ``pydantic.Field``."""
    return _field(OfProvider(provider, "other"), default, description, **constraints)


def marked(field: FieldInfo) -> OfProvider | None:
    """Return the provider that a field belongs to; None if it belongs to none."""
    return next((mark for mark in field.metadata if isinstance(mark, OfProvider)), None)


def _field(mark: OfProvider, default: Any, description: str | None, **constraints: Any) -> Any:
    field = Field(default, description=description, **constraints)
    field.metadata.append(mark)
    return field


def names_of(text: str) -> list[str]:
    """Split names separated by commas; repeated and empty ones are dropped."""
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
