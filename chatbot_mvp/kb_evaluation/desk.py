"""Evaluations of a knowledge base for pages and commands: question sets, runs over them, both in the background."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from chatbot_mvp.benchmark.kb_evaluation import KbQuestion, ask_questions, load_questions, parse_questions
from chatbot_mvp.chat.citations import Source, quoted_sources
from chatbot_mvp.errors import (
    ChatbotError,
    EmptyDataset,
    NoQuestionsKept,
    NothingProposed,
    ProviderError,
    RunBusy,
    RunStopped,
)
from chatbot_mvp.jobs.manager import JobManager, JobStatus
from chatbot_mvp.kb.store import KbStore
from chatbot_mvp.kb.suggestions import suggest_questions
from chatbot_mvp.kb_evaluation.by_model import ModelProposer
from chatbot_mvp.kb_evaluation.question_sets import (
    Origin,
    QuestionSet,
    QuestionSetStore,
    SetCheck,
    SetQuestion,
    check_set,
    new_question_id,
    now,
)
from chatbot_mvp.kb_evaluation.results import KbResult, KbResultStore, ResultRow, result_of
from chatbot_mvp.kb_evaluation.rules import (
    answerable_by_rules,
    far_by_rules,
    near_by_rules,
    renumbered,
    split_count,
)
from chatbot_mvp.llm.base import ChatModel, ChatRequest, Grounding
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.retrieval.pipeline import Pipeline, fingerprint
from chatbot_mvp.settings import Settings
from chatbot_mvp.types import Chunk, ProgressCallback, ignore_progress

PROPOSE, RUN = "propose", "run"
_KEPT = 20  # ended jobs whose states stay on disk
_OTHER_KBS, _OF_EACH = 5, 4


@dataclass(frozen=True)
class EvaluationJob:
    """A piece of work over a knowledge base's questions."""

    status: JobStatus
    kind: str
    """"propose" or "run"."""
    kb_id: str
    made: str
    """Id of the set or the result that it makes, once it has ended well."""


class KbEvaluationDesk:
    """Safe to share between sessions; holds nothing of one user."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        store: KbStore,
        pipeline: Callable[[str, ProgressCallback], Pipeline],
        model: Callable[[], ChatModel],
    ) -> None:
        """
        Args:
            settings: as they are now.
            pipeline: that of a knowledge base, as the chat has it.
            model: the provider's, for proposals.
        """
        self._settings = settings
        self._store = store
        self._pipeline = pipeline
        self._model = model
        self._sets = QuestionSetStore(settings().kb_dir)
        self._results = KbResultStore(settings().kb_dir)
        self._folder = settings().kb_evaluation_jobs_dir
        # Its own queue: a question set does not wait for an hour's benchmark.
        self._jobs = JobManager(self._folder)

    # --- proposals

    def proposer(self) -> str:
        """Names the model that would propose questions; "" where there is none and rules do."""
        model = self._model()
        return "" if model.needs_evidence else model.name

    def propose(self, kb_id: str, name: str, count: int, use_model: bool = True) -> str:
        """Make a set of proposals in the background; the job's id. A stop keeps what was found until then.

        Raises:
            KbNotFound, KbUnreadable
        """
        self._store.record(kb_id)
        return self._submit(
            PROPOSE, kb_id, name, lambda made, progress: self._make_set(kb_id, name, count, use_model, made, progress)
        )

    def propose_now(
        self, kb_id: str, count: int, use_model: bool = True, progress: ProgressCallback = ignore_progress
    ) -> QuestionSet:
        """Proposals in this thread; nothing is saved.

        Raises:
            KbNotFound, KbUnreadable, NothingProposed
            ProviderError: one that no request would survive.
            RunStopped: and nothing was found until then.
        """
        found, _ = self._proposals(kb_id, "", count, use_model, progress)
        return found

    # --- sets

    def sets(self, kb_id: str) -> list[QuestionSet]:
        """Those of a knowledge base, the newest first."""
        return self._sets.all(kb_id)

    def question_set(self, kb_id: str, set_id: str) -> QuestionSet:
        """
        Raises:
            QuestionSetNotFound
        """
        return self._sets.load(kb_id, set_id)

    def check(self, questions: QuestionSet) -> SetCheck:
        """How a set fits its knowledge base as it is now.

        Raises:
            KbNotFound, KbUnreadable
        """
        record = self._store.record(questions.kb_id)
        return check_set(questions, self._store.document(questions.kb_id).text, record.sha256)

    def save(self, questions: QuestionSet) -> QuestionSet:
        """Write a set; one without an id becomes a new one.

        Raises:
            KbNotFound, KbUnreadable
        """
        self._store.record(questions.kb_id)
        return self._sets.save(replace(questions, questions=_unique_ids(questions.questions)))

    def empty_set(self, kb_id: str, name: str) -> QuestionSet:
        """A new set without questions, saved.

        Raises:
            KbNotFound, KbUnreadable
        """
        return self._sets.save(QuestionSet("", kb_id, name, self._store.record(kb_id).sha256))

    def import_set(self, kb_id: str, name: str, content: bytes) -> QuestionSet:
        """A new set of a question file's content, saved.

        Raises:
            KbNotFound, KbUnreadable, EmptyDataset, DatasetFileUnreadable
        """
        record = self._store.record(kb_id)
        questions = _of(parse_questions(name, content), "file")
        return self.save(QuestionSet("", kb_id, Path(name).stem, record.sha256, questions=questions))

    def copy_set(self, from_kb: str, set_id: str, kb_id: str) -> QuestionSet:
        """A set of another knowledge base, such as an earlier version, for this one; it remembers whose it was.

        Raises:
            KbNotFound, KbUnreadable, QuestionSetNotFound
        """
        return self.save(replace(self._sets.load(from_kb, set_id), kb_id=kb_id, set_id=""))

    def accept_kb(self, questions: QuestionSet) -> QuestionSet:
        """Say that a set has been reviewed for its knowledge base as it is now.

        Raises:
            KbNotFound, KbUnreadable
        """
        return self.save(replace(questions, kb_sha256=self._store.record(questions.kb_id).sha256))

    def chat_questions(self, kb_id: str) -> tuple[SetQuestion, ...]:
        """What readers of the chat have marked as questions for the evaluation; empty where there are none.

        Raises:
            DatasetFileUnreadable
        """
        path = self._settings().kb_dir / kb_id / "questions.jsonl"
        try:
            return _of(load_questions(path), "chat") if path.is_file() else ()
        except EmptyDataset:
            return ()

    def export(self, questions: QuestionSet) -> str:
        """The kept questions as a question file, which ``kb evaluate`` reads."""
        return "".join(f"{question.as_line()}\n" for question in questions.kept)

    def delete_set(self, kb_id: str, set_id: str) -> None:
        """Delete a set; its results stay.

        Raises:
            QuestionSetNotFound
        """
        self._sets.delete(kb_id, set_id)

    # --- runs

    def start(self, kb_id: str, set_id: str) -> str:
        """Ask a set's kept questions in the background; the job's id.

        Raises:
            KbNotFound, KbUnreadable, QuestionSetNotFound, NoQuestionsKept
        """
        self._store.record(kb_id)
        questions = self._sets.load(kb_id, set_id)
        if not questions.kept:
            raise NoQuestionsKept(name=questions.name)
        return self._submit(RUN, kb_id, questions.name, lambda made, progress: self._run(questions, made, progress))

    def results(self, kb_id: str) -> list[KbResult]:
        """Those of a knowledge base, the newest first."""
        return self._results.all(kb_id)

    def result(self, kb_id: str, result_id: str) -> KbResult:
        """
        Raises:
            KbResultNotFound
        """
        return self._results.load(kb_id, result_id)

    def delete_result(self, kb_id: str, result_id: str) -> None:
        """
        Raises:
            KbResultNotFound
        """
        self._results.delete(kb_id, result_id)

    def found(self, result: KbResult, row: ResultRow) -> tuple[Source, ...]:
        """The passages found for a question, best first, marked as an answer without a model would quote them.

        Empty where the knowledge base's text is not the one that was asked.

        Raises:
            KbNotFound, KbUnreadable
        """
        record = self._store.record(result.kb_id)
        if record.sha256 != result.kb_sha256:
            return ()
        text = self._store.document(result.kb_id).text
        passages = tuple(
            Chunk(one.chunk_id, result.kb_id, one.section, text[one.start : one.end], one.start, one.end)
            for one in row.found
        )
        reply = DemoModel().complete(
            ChatRequest((), grounding=Grounding(row.question.question, passages, record.language))
        )
        quoted = {source.number: source for source in quoted_sources(reply.quotes or (), passages)}
        return tuple(quoted.get(number, Source(number, chunk, ())) for number, chunk in enumerate(passages, 1))

    def expected(self, result: KbResult, row: ResultRow) -> tuple[Source, ...]:
        """The passage that a question expects, with what is around it; empty where there is none in the text.

        Raises:
            KbNotFound, KbUnreadable
        """
        record = self._store.record(result.kb_id)
        if record.sha256 != result.kb_sha256 or not row.places:
            return ()
        text = self._store.document(result.kb_id).text
        start, end = row.places[0]
        begin, stop = text.rfind("\n\n", 0, start) + 1, text.find("\n\n", end)
        begin, stop = max(begin, start - 600), min(len(text) if stop < 0 else stop, end + 600)
        chunk = Chunk("", result.kb_id, row.question.heading or "", text[begin:stop], begin, stop)
        return (Source(1, chunk, ((start, end),)),)

    # --- jobs

    def jobs(self, kb_id: str) -> list[EvaluationJob]:
        """Those of a knowledge base, the newest first; also after a restart."""
        found = [_job(status) for status in self._jobs.statuses()]
        return [job for job in found if job is not None and job.kb_id == kb_id]

    def stop(self, job_id: str) -> None:
        """Ask a job to stop at its next clean place."""
        self._jobs.stop(job_id)

    # --- the work itself

    def _make_set(
        self, kb_id: str, name: str, count: int, use_model: bool, set_id: str, progress: ProgressCallback
    ) -> None:
        found, ended_by = self._proposals(kb_id, name, count, use_model, progress)
        self._sets.save(replace(found, set_id=set_id))
        if ended_by is not None:
            raise ended_by

    def _proposals(
        self, kb_id: str, name: str, count: int, use_model: bool, progress: ProgressCallback
    ) -> tuple[QuestionSet, ChatbotError | None]:
        """(what was proposed, the stop or the provider's failure that ended it early)."""
        record, document = self._store.record(kb_id), self._store.document(kb_id)
        answerable, near, far = split_count(count)
        model = self._model()
        ended_by: ChatbotError | None = None
        dropped: dict[str, int] = {}
        trouble = ""
        if use_model and not model.needs_evidence:
            pipeline = self._pipeline(kb_id, progress)
            proposer = ModelProposer(model, pipeline.index.chunks, record.language, lambda q: _passages(pipeline, q))
            try:
                proposer.run(answerable, near, progress)
            except (RunStopped, ProviderError) as error:
                ended_by = error
            questions = [*proposer.answerable, *proposer.near]
            dropped, trouble = dict(proposer.dropped), proposer.trouble
        else:
            questions = answerable_by_rules(document, record.language, answerable)
            questions += near_by_rules(document, record.language, near) if questions else []
        if not questions and ended_by is not None:
            raise ended_by
        if not questions:
            raise NothingProposed(kb_id=kb_id, reason=trouble or "its text has no headings, definitions or names")
        questions += far_by_rules(document, record.language, far, self._questions_elsewhere(kb_id, record.language))
        made = QuestionSet("", kb_id, name, record.sha256, now(), tuple(renumbered(questions)), dropped)
        return made, ended_by

    def _questions_elsewhere(self, kb_id: str, language: str) -> list[str]:
        """What other knowledge bases of this language would answer."""
        others = [one for one in self._store.records() if one.kb_id != kb_id and one.language == language]
        found: list[str] = []
        for record in others[:_OTHER_KBS]:
            found += suggest_questions(self._store.document(record.kb_id), language, _OF_EACH)
        return found

    def _run(self, questions: QuestionSet, result_id: str, progress: ProgressCallback) -> None:
        started_at = now()
        kb_id = questions.kb_id
        pipeline = self._pipeline(kb_id, progress)
        pipeline.embed_queries([question.question for question in questions.kept], progress)
        record, document = self._store.record(kb_id), self._store.document(kb_id)
        asked = ask_questions(pipeline, document, questions.kept, progress)
        config = pipeline.config
        self._results.save(
            result_of(
                result_id,
                questions,
                record.sha256,
                asked,
                started_at,
                fingerprint(config),
                config.retrieval_strategy,
                self._settings().kb_min_evidence,
            )
        )

    def _submit(self, kind: str, kb_id: str, title: str, work: Callable[[str, ProgressCallback], None]) -> str:
        active = next((job for job in self.jobs(kb_id) if job.status.active), None)
        if active is not None:
            raise RunBusy(run_id=active.status.job_id)
        made = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        job_id = f"{made}-{kind}-{kb_id}"
        self._prune()
        self._jobs.submit(job_id, title, lambda progress: work(made, progress))
        return job_id

    def _prune(self) -> None:
        old = sorted((status for status in self._jobs.statuses() if not status.active), key=lambda s: s.job_id)
        for status in old[: -_KEPT or None]:
            for path in self._folder.glob(f"{status.job_id}.*"):
                path.unlink(missing_ok=True)


def _job(status: JobStatus) -> EvaluationJob | None:
    made, kind, kb_id = (*status.job_id.split("-", 2), "", "")[:3]
    return EvaluationJob(status, kind, kb_id, made) if kind in (PROPOSE, RUN) else None


def _passages(pipeline: Pipeline, question: str) -> tuple[Chunk, ...]:
    [trace] = pipeline.retrieve([question])
    return tuple(hit.chunk for hit in trace.chunks_final)


def _of(questions: Sequence[KbQuestion], origin: Origin) -> tuple[SetQuestion, ...]:
    return tuple(SetQuestion(question, origin=origin) for question in questions)


def _unique_ids(questions: Sequence[SetQuestion]) -> tuple[SetQuestion, ...]:
    """A question without an id, or whose id another has, gets one of its own: a result's rows are known by them."""
    seen: dict[str, int] = {}
    found = []
    for each in questions:
        name = each.question.question_id or new_question_id()
        each = replace(each, question=replace(each.question, question_id=name))
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            each = replace(each, question=replace(each.question, question_id=f"{name}-{seen[name]}"))
        found.append(each)
    return tuple(found)
