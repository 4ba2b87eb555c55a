"""The build's one step beyond ``pyproject.toml``: what lies beside the packages goes into the wheel as well."""

from __future__ import annotations

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
COPIES = {
    "data/samples": "chatbot_mvp/data/samples",
    "data/env.example": "chatbot_mvp/data/env.example",
    "data/ragas_config.example.yaml": "chatbot_mvp/data/ragas_config.example.yaml",
    # RAG_P's command, which has no place at the top level of a checkout.
    "chatbot_mvp/cli/rag_p.py": "sandbox_mteb/run.py",
    # Beside the script that Streamlit runs, where it reads it in every working directory.
    ".streamlit/config.toml": "streamlit_app/.streamlit/config.toml",
}
"""File or folder of the checkout -> where an installed package has it."""


class BuildWithCopies(build_py):
    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for source, target in COPIES.items():
            found = [ROOT / source] if (ROOT / source).is_file() else sorted((ROOT / source).rglob("*"))
            for path in filter(Path.is_file, found):
                to = Path(self.build_lib) / target / path.relative_to(ROOT / source)
                self.mkpath(str(to.parent))
                self.copy_file(str(path), str(to))


setup(cmdclass={"build_py": BuildWithCopies})
