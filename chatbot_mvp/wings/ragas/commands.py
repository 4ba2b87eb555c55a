"""The commands ``ragas run``, ``ragas agreement``, ``ragas prompts save`` and ``ragas prompts adapt``."""

from chatbot_mvp.cli.lazy import Commands, LazyGroup, lazy

COMMANDS = Commands(
    [
        LazyGroup(
            "ragas",
            "Score answers of any RAG system with the metrics of Ragas.",
            *lazy(
                "chatbot_mvp.wings.ragas.cli:ragas",
                {
                    "run": "Score a file of answers. "
                    "To continue a stopped evaluation: chatbot-mvp benchmark resume RUN.",
                    "agreement": "Measure how well the judge agrees with people on faithfulness: "
                    "accuracy and Cohen's kappa on labelled rows.",
                },
            ),
            LazyGroup(
                "prompts",
                "Save the judge's prompts as Ragas does, or make them in another language.",
                *lazy(
                    "chatbot_mvp.wings.ragas.cli:prompts",
                    {
                        "save": "Write the prompts as Ragas' save_prompts() does: <metric>_<prompt>_<language>.json.",
                        "adapt": "Make the prompts that a folder lacks in a language, with the judge, "
                        "and keep them there for review.",
                    },
                ),
            ),
        )
    ]
)
