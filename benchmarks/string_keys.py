"""Counts accesses to results of runs by a string key: ``result["metrics"]``, ``row.get("cause")``.

    python benchmarks/string_keys.py [CHECKOUT] [-v]

Counted are subscripts and calls of ``get`` and ``pop`` in chatbot_mvp/ and streamlit_app/ whose key is the name of a
field of a result, a row or a line, and whose receiver has a name that the code gives to one of these, or is a subscript
of such a receiver. Rows of tables that are no results have such names too, so that the count is a little too high; -v
lists every place. Also counted are type aliases of ``Mapping[str, Any]``.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

KEYS = frozenset(
    "run_id kind dataset dataset_sha256 strategy fingerprint queries documents started_at finished_at generator judge "
    "language repeats metrics scored readings intervals splits causes reranker_rescue_count damaged_records failures "
    "rerank_failures abstentions not_scored spread agreement imported seconds usage peak_rss_mb per_query query_id "
    "question answer answer_type question_type level retrieved gold generation_doc_ids reranked failed error response "
    "abstained judge_reasons judge_failed cause status details failed_metrics candidates calls cached prompt_tokens "
    "completion_tokens cost_usd unpriced phases mean total deviation low high value".split()
)
NAMES = frozenset("result row rows run runs base other line item newest shown usage spent cell found agreement".split())


def accesses(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, code) of every access."""
    for node in ast.walk(tree):
        receiver, key = _access(node)
        if isinstance(key, str) and key in KEYS and receiver is not None and _name(receiver) in NAMES:
            yield getattr(node, "lineno", 0), ast.unparse(node)


def _access(node: ast.AST) -> tuple[ast.expr | None, object]:
    match node:
        case ast.Subscript(value=receiver, slice=ast.Constant(value=key)):
            return receiver, key
        case ast.Call(func=ast.Attribute(value=receiver, attr="get" | "pop"), args=[ast.Constant(value=key), *_]):
            return receiver, key
    return None, None


def _name(receiver: ast.expr) -> str:
    while isinstance(receiver, ast.Subscript):
        receiver = receiver.value
    return receiver.attr if isinstance(receiver, ast.Attribute) else getattr(receiver, "id", "")


def aliases(tree: ast.Module) -> Iterator[str]:
    """Names of a module's type aliases of ``Mapping[str, Any]``."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.value) in ("Mapping[str, Any]", "dict[str, Any]"):
            yield ast.unparse(node.targets[0])


def main() -> None:
    arguments = [argument for argument in sys.argv[1:] if argument != "-v"]
    root = Path(arguments[0] if arguments else __file__).resolve()
    root = root if arguments else root.parent.parent
    total, files, named = 0, 0, 0
    for path in sorted(path for part in ("chatbot_mvp", "streamlit_app") for path in (root / part).rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        found, alias = list(accesses(tree)), list(aliases(tree))
        total, files, named = total + len(found), files + bool(found), named + len(alias)
        if "-v" in sys.argv:
            lines = [*(f"{line}: {code}" for line, code in found), *(f"alias {name}" for name in alias)]
            print("".join(f"{path.relative_to(root)}:{line}\n" for line in lines), end="")
    print(f"{total} accesses by a string key in {files} modules, {named} aliases of Mapping[str, Any]")


if __name__ == "__main__":
    main()
