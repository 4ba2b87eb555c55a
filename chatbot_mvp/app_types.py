"""What the App takes and gives, by name: pages and commands import these from here and nothing of the core below."""

from __future__ import annotations

from chatbot_mvp.benchmark.causes import GoldPath
from chatbot_mvp.benchmark.comparison import Comparison, MetricDelta, QueryChange, RunDelta
from chatbot_mvp.benchmark.datasets.catalogue import Found
from chatbot_mvp.benchmark.distributions import Distribution
from chatbot_mvp.benchmark.estimate import Estimate
from chatbot_mvp.benchmark.kb_evaluation import KbQuestion
from chatbot_mvp.benchmark.leaderboard import Field, Place
from chatbot_mvp.benchmark.plan import RunPlan
from chatbot_mvp.benchmark.presets import RUN_PARAMETERS, Preset
from chatbot_mvp.benchmark.query_table import QueryFilter, QueryTable
from chatbot_mvp.benchmark.run_configuration import RunSetting
from chatbot_mvp.benchmark.run_list import RUN_KINDS, RunFilter, RunKind, kind_of, main_metric
from chatbot_mvp.benchmark.run_notes import NO_NOTE, NOTE_CHARS, TAG_CHARS, RunNote
from chatbot_mvp.benchmark.word_difference import Part
from chatbot_mvp.chat.answer import Answer, Failure
from chatbot_mvp.chat.citations import Source
from chatbot_mvp.chat.context import MODES, Mode, UserContext
from chatbot_mvp.chat.conversations import Conversation, Turn
from chatbot_mvp.chat.feedback import KINDS
from chatbot_mvp.chat.profile import ChatProfile
from chatbot_mvp.chat.prompting import PastTurn
from chatbot_mvp.chat.records import AnswerRecord
from chatbot_mvp.chat.turns import LiveTurn
from chatbot_mvp.dataset_desk import Listed as ListedDataset
from chatbot_mvp.health import Health
from chatbot_mvp.jobs.manager import JobStatus
from chatbot_mvp.kb.intake import FileState
from chatbot_mvp.kb.parsing import SUFFIXES
from chatbot_mvp.kb.store import KbRecord
from chatbot_mvp.kb_evaluation.desk import EvaluationJob
from chatbot_mvp.kb_evaluation.question_sets import QuestionSet, SetCheck, SetQuestion
from chatbot_mvp.kb_evaluation.results import KbResult, ResultRow
from chatbot_mvp.kb_evaluation.thresholds import Share, ThresholdFigures, curve, few_of, figures_at, suggest
from chatbot_mvp.library import KbContents, Upload
from chatbot_mvp.metrics.registry import METRICS
from chatbot_mvp.past_runs import UnfinishedRun
from chatbot_mvp.providers import ProviderCheck, Providers, ProviderStatus
from chatbot_mvp.ragas.config import RagasConfig
from chatbot_mvp.ragas.rows import InputRow
from chatbot_mvp.setting_forms import GROUPS, SettingForm, form_of
from chatbot_mvp.settings_desk import SettingRow

__all__ = [
    "GROUPS",
    "KINDS",
    "METRICS",
    "MODES",
    "NOTE_CHARS",
    "NO_NOTE",
    "RUN_KINDS",
    "RUN_PARAMETERS",
    "SUFFIXES",
    "TAG_CHARS",
    "Answer",
    "AnswerRecord",
    "ChatProfile",
    "Comparison",
    "Conversation",
    "Distribution",
    "Estimate",
    "EvaluationJob",
    "Failure",
    "Field",
    "FileState",
    "Found",
    "GoldPath",
    "Health",
    "InputRow",
    "JobStatus",
    "KbContents",
    "KbQuestion",
    "KbRecord",
    "KbResult",
    "ListedDataset",
    "LiveTurn",
    "MetricDelta",
    "Mode",
    "Part",
    "PastTurn",
    "Place",
    "Preset",
    "ProviderCheck",
    "ProviderStatus",
    "Providers",
    "QueryChange",
    "QueryFilter",
    "QueryTable",
    "QuestionSet",
    "RagasConfig",
    "ResultRow",
    "RunDelta",
    "RunFilter",
    "RunKind",
    "RunNote",
    "RunPlan",
    "RunSetting",
    "SetCheck",
    "SetQuestion",
    "SettingForm",
    "SettingRow",
    "Share",
    "Source",
    "ThresholdFigures",
    "Turn",
    "UnfinishedRun",
    "Upload",
    "UserContext",
    "curve",
    "few_of",
    "figures_at",
    "form_of",
    "kind_of",
    "main_metric",
    "suggest",
]
