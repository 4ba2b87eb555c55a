"""What the App takes and gives, by name: pages and commands import these from here and nothing of the core below.

What is imported here may be imported from here; a test finds what nobody needs.
"""

from __future__ import annotations

from chatbot_mvp.chat.answer import Answer, Failure
from chatbot_mvp.chat.checking import check_in_base
from chatbot_mvp.chat.citations import Source
from chatbot_mvp.chat.claims.comparison import Difference
from chatbot_mvp.chat.context import MAX_QUESTION_CHARS, MODES, Mode, UserContext
from chatbot_mvp.chat.conversation import FEEDBACK_REASONS, Conversation, Turn
from chatbot_mvp.chat.feedback import KINDS
from chatbot_mvp.chat.inert import outside_code
from chatbot_mvp.chat.nearest import Nearest
from chatbot_mvp.chat.profile import ChatProfile
from chatbot_mvp.chat.records import AnswerRecord
from chatbot_mvp.chat.relevance import OUTCOMES
from chatbot_mvp.chat.sessions import found_in
from chatbot_mvp.chat.transcripts import turn_markdown
from chatbot_mvp.chat.turns import LiveTurn
from chatbot_mvp.datasets.catalogue import Found
from chatbot_mvp.datasets.dataset_service import Listed as ListedDataset
from chatbot_mvp.documents.kb_files import FilePlace
from chatbot_mvp.documents.reading.readers import SUFFIXES
from chatbot_mvp.evaluation.benchmark.plan import RunPlan
from chatbot_mvp.evaluation.benchmark.presets import RUN_PARAMETERS, Preset
from chatbot_mvp.evaluation.kb.jobs import EvaluationJob
from chatbot_mvp.evaluation.kb.own_threshold import (
    LEAST_LABELS,
    LEAST_OF_A_SIDE,
    PROVEN,
    OwnThreshold,
    ThresholdFigures,
    curve,
    few_of,
    figures_at,
    own_threshold,
)
from chatbot_mvp.evaluation.kb.passages import STATES as PASSAGE_STATES
from chatbot_mvp.evaluation.kb.passages import PassageState, PassageUse
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.evaluation.kb.results import KbResult, ResultRow
from chatbot_mvp.evaluation.kb.sets import QuestionSet, SetCheck, SetQuestion
from chatbot_mvp.evaluation.kb.strategies import StrategyFigure, StrategyFigures
from chatbot_mvp.evaluation.kb_map import KbMap
from chatbot_mvp.evaluation.own_questions import ENOUGH_OWN, Proposed, spoken_questions
from chatbot_mvp.evaluation.run_sources import kb_reference
from chatbot_mvp.health import Health
from chatbot_mvp.jobs.manager import JobStatus
from chatbot_mvp.knowledge_base.changes import Change, Describe, Move, Remove
from chatbot_mvp.knowledge_base.changing import Step
from chatbot_mvp.knowledge_base.differences import DocumentDifference, ParagraphDifference
from chatbot_mvp.knowledge_base.filters import ALL_DOCUMENTS, DocumentFilter
from chatbot_mvp.knowledge_base.intake import FileState
from chatbot_mvp.knowledge_base.one_document import Passage
from chatbot_mvp.knowledge_base.places import Whereabouts, purged_on
from chatbot_mvp.knowledge_base.record import KbContents, KbRecord
from chatbot_mvp.knowledge_base.telling import lacks, lost_of
from chatbot_mvp.knowledge_base.uploads import Upload
from chatbot_mvp.knowledge_base.versions import KbDocument
from chatbot_mvp.llm.connections import Connection
from chatbot_mvp.llm.hub import HubFile
from chatbot_mvp.llm.local_models import Offer
from chatbot_mvp.llm.providers import ProviderStatus
from chatbot_mvp.metrics.decisions import FALSE_TICKS, GOOD
from chatbot_mvp.metrics.decisions import Outcome as StrictOutcome
from chatbot_mvp.metrics.registry import JUDGE_METRICS, METRICS
from chatbot_mvp.metrics.spec import shown_in
from chatbot_mvp.metrics.statistics.share import Share
from chatbot_mvp.retrieval.search import OtherSearch
from chatbot_mvp.retrieval.strategies import STRATEGIES
from chatbot_mvp.retrieval.systems import SYSTEMS
from chatbot_mvp.runs.causes import OUTCOMES as FLOW_OUTCOMES
from chatbot_mvp.runs.causes import STAGES as FLOW_STAGES
from chatbot_mvp.runs.causes import Flow, GoldPath
from chatbot_mvp.runs.comparable import why_not_comparable
from chatbot_mvp.runs.comparison import Comparison, MetricDelta, QueryChange, RunDelta, run_labels
from chatbot_mvp.runs.headline import main_share
from chatbot_mvp.runs.kinds import BENCHMARK, run_kind
from chatbot_mvp.runs.line import RunLine
from chatbot_mvp.runs.lists import (
    History,
    RankedRun,
    RunFilter,
    RunGroup,
    Series,
    history_of,
    kind_of,
    leaderboard,
    listed_kinds,
    main_metric,
)
from chatbot_mvp.runs.masking import RunSetting
from chatbot_mvp.runs.notes import NO_NOTE, NOTE_CHARS
from chatbot_mvp.runs.payloads import (
    GENERATE,
    JUDGE,
    RETRIEVE,
    Generated,
    Judged,
    Retrieved,
    generated_of,
    judged_of,
    retrieved_of,
)
from chatbot_mvp.runs.query_views import Distribution, QueryFilter, QueryTable, WordPart, answer_difference
from chatbot_mvp.runs.records import QueryRecord
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.runs.rows import QueryRow, SplitFigure
from chatbot_mvp.runs.usage import Spent
from chatbot_mvp.settings.fields import MODEL_SETTINGS
from chatbot_mvp.settings.forms import SettingForm, form_of
from chatbot_mvp.settings.kinds import GROUPS
from chatbot_mvp.settings.live import SettingRow
from chatbot_mvp.storage.clock import age_of
from chatbot_mvp.text import cells_of
from chatbot_mvp.types import PastTurn
