"""A user's own encoder: a folder with a model in ONNX or CTranslate2 format and its ``tokenizer.json``."""

from __future__ import annotations

from bisect import bisect_left

from chatbot_mvp.embedding.base import Embedder, InputType
from chatbot_mvp.embedding.engines import CTranslate2Encoder, OnnxEncoder
from chatbot_mvp.embedding.own.files import ModelFiles, ct2_vocabulary_size, find_files
from chatbot_mvp.embedding.own.options import LEAST_TOKENS, Options, read_options, stated_max_tokens
from chatbot_mvp.embedding.own.tokens import LibraryTokens, load_tokenizer
from chatbot_mvp.embedding.transformer import PooledEmbedder, TransformerEmbedder, usable_cores
from chatbot_mvp.errors import ConfigurationError, MissingPackage

_TRIED_TOKENS = 2_048
"""Longest text that is tried when a model is loaded. Longer ones would take seconds and gigabytes."""


def own_embedder(name: str, threads: int) -> Embedder:
    """Load the model ``name``, as in "onnx:/path/to/folder", and check it with a few tokens.

    Args:
        threads: texts that are embedded at the same time; 0: one for each core that this process may use.

    Raises:
        EmbedderFileMissing: the folder or one of its files does not exist.
        ConfigurationError (embedder_file_unreadable): a file has another format.
        ConfigurationError: a key or a value in ``embedding.toml`` is not legal, or does not fit the model.
        ConfigurationError (embedder_tokens_mismatch): the tokenizer has ids that the model does not know.
        MissingPackage: the engine's package is not installed.
    """
    files = find_files(name)
    options = read_options(files.options)
    tokenizer = load_tokenizer(files.tokenizer)
    max_tokens = options.max_tokens or stated_max_tokens(files.tokenizer.parent, tokenizer.truncation)
    highest = max(tokenizer.get_vocab(with_added_tokens=True).values(), default=0)
    prefixes: dict[InputType, str] = {"query": options.query_prefix, "passage": options.passage_prefix}
    tokens = LibraryTokens(tokenizer, prefixes, max_tokens)
    at_once = threads or usable_cores()
    encoder = _load(files, at_once)
    _check_vocabulary(files, encoder, highest)
    _check_max_tokens(files, encoder, max_tokens)
    model_id = files.model_id(options, max_tokens)
    if isinstance(encoder, OnnxEncoder) and encoder.pooled:
        _check_not_pooled_twice(files, options)
        return PooledEmbedder(model_id, tokens, encoder, at_once)
    engine = f"@{encoder.digest()}" if isinstance(encoder, CTranslate2Encoder) and encoder.equal_lengths else ""
    return TransformerEmbedder(model_id, tokens, encoder, at_once, options.pooling or "mean", engine)


def _load(files: ModelFiles, threads: int) -> OnnxEncoder | CTranslate2Encoder:
    package, format_ = ("onnxruntime", "ONNX") if files.engine == "onnx" else ("ctranslate2", "CTranslate2")
    try:
        if files.engine == "onnx":
            return OnnxEncoder(files.model)
        return CTranslate2Encoder(files.model, threads, "default")
    except ImportError as error:
        command = f"pip install {package}"
        raise MissingPackage(
            feature=f"EMBEDDING_MODEL_NAME={files.engine}:", package=package, command=command
        ) from error
    except (RuntimeError, ValueError) as error:
        raise ConfigurationError(
            "embedder_file_unreadable", path=str(files.model), format=format_, reason=str(error)
        ) from error


def _run(encoder: OnnxEncoder | CTranslate2Encoder, ids: list[int]) -> None:
    if isinstance(encoder, OnnxEncoder) and encoder.pooled:
        encoder.text_vectors([ids])
    else:
        encoder.token_states([ids])


def _check_vocabulary(files: ModelFiles, encoder: OnnxEncoder | CTranslate2Encoder, highest: int) -> None:
    """Check that the model knows the tokenizer's highest id.

    Raises:
        ConfigurationError (embedder_tokens_mismatch, embedder_file_unreadable)
    """
    mismatch = ConfigurationError(
        "embedder_tokens_mismatch", tokenizer=str(files.tokenizer), model=str(files.model), highest=highest
    )
    if files.engine == "ct2":
        # CTranslate2 does not check ids: an id behind the end of its table would end the process.
        try:
            known = ct2_vocabulary_size(files.model)
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                "embedder_file_unreadable", path=str(files.model), format="CTranslate2", reason=str(error)
            ) from error
        if highest >= known:
            raise mismatch
        return
    try:
        _run(encoder, [highest])
    except ValueError as error:
        raise mismatch from error


def _check_not_pooled_twice(files: ModelFiles, options: Options) -> None:
    if options.pooling is not None:
        raise ConfigurationError(
            "embedder_option_invalid",
            path=str(files.options),
            found=f"pooling = {options.pooling!r}",
            legal="no value, because the model gives one vector per text",
        )


def _check_max_tokens(files: ModelFiles, encoder: OnnxEncoder | CTranslate2Encoder, max_tokens: int) -> None:
    """Check that the model reads ``max_tokens`` at once; if not, find out how many it reads.

    Raises:
        ConfigurationError (embedder_option_invalid)
    """

    def fails(length: int) -> bool:
        try:
            _run(encoder, [1] * length)
        except (RuntimeError, ValueError):
            return True
        return False

    tried = min(max_tokens, _TRIED_TOKENS)
    if fails(tried):
        most = bisect_left(range(1, tried), True, key=fails)
        legal = f"{LEAST_TOKENS} to {most}, which is what the model reads at once"
        raise ConfigurationError(
            "embedder_option_invalid", path=str(files.options), found=f"max_tokens = {max_tokens}", legal=legal
        )
