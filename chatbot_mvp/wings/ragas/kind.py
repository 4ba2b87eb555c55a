"""The evaluation of given answers, as a kind of run."""

from __future__ import annotations

from chatbot_mvp.runs.kinds import RunKind
from chatbot_mvp.wings.ragas.phases import phases_of_manifest

RAGAS = "ragas"

KIND = RunKind(
    RAGAS,
    phases=phases_of_manifest,
    resume="chatbot_mvp.wings.ragas.service:resume",
    prints="chatbot_mvp.wings.ragas.cli:print_evaluation",
    retrieves=False,
    same_data_by_content=True,
    main_metrics={RAGAS: ()},
    so_far="chatbot_mvp.wings.ragas.service:so_far",
)
