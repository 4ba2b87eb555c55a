"""List the scripts of this folder, or run one of them.

python -m benchmarks                  the names, each with what it measures
python -m benchmarks NAME --help      what one of them does, and its options
python -m benchmarks NAME …           run it
"""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def scripts() -> dict[str, str]:
    """Return name -> first line of the description of each module that has a ``main``. Nothing is imported for it."""
    found = {}
    for path in sorted(HERE.glob("[!_]*.py")):
        module = ast.parse(path.read_text("utf-8"))
        if any(isinstance(part, ast.FunctionDef) and part.name == "main" for part in module.body):
            found[path.stem] = (ast.get_docstring(module) or "").partition("\n")[0]
    return found


def main(arguments: list[str]) -> int | None:
    """Run the script that the first argument names; return its exit code."""
    known = scripts()
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        print("\n".join(f"{name:<18} {line}" for name, line in known.items()))
        return 0
    name, *rest = arguments
    if name not in known:
        print(f"There is no script {name!r}; there are: {', '.join(known)}.", file=sys.stderr)
        return 2
    sys.argv = [f"python -m benchmarks {name}", *rest]
    try:
        script = importlib.import_module(f"benchmarks.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] in ("benchmarks", "chatbot_mvp", "tests"):
            raise
        about = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text("utf-8")))
        asked = "-h" in rest or "--help" in rest
        missing = f"{name} needs a package that is not installed: {error.name}."
        print(f"{about}\n\n{missing}" if asked else missing, file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    code: int | None = script.main()
    return code


if __name__ == "__main__":
    # Scripts start each other by the path of this folder, from any working directory.
    sys.path.insert(0, str(HERE.parent))
    sys.exit(main(sys.argv[1:]))
