"""Errors of runs on a Ray cluster."""

from __future__ import annotations

from chatbot_mvp.errors.configuration import ConfigurationError
from chatbot_mvp.errors.runs import RunError


class RayError(ConfigurationError):
    texts = {
        "ray_unreachable": "The Ray cluster at {address!r} cannot be used: {reason}. Check RAY_ADDRESS and that `ray "
        "start` ran on this machine, too; or set EVAL_ENGINE=local.",
        "ray_version_mismatch": "The Ray cluster at {address!r} does not fit this machine: {reason}. Install the same "
        "versions of Python and of chatbot-mvp[ray] on all nodes.",
    }


class RayWorkersLost(RunError):
    texts = {
        "ray_workers_lost": "The run {run_id!r} stopped because no Ray worker is left: {reason}. What was recorded is "
        "kept. When the cluster has free CPUs again, or with EVAL_ENGINE=local: chatbot-mvp benchmark resume {run_id}",
    }
