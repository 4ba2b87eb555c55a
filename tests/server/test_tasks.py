"""Prompts that chat clients send by themselves are told from questions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chatbot_mvp.server.request import is_client_task
from chatbot_mvp.settings.model import PROJECT_ROOT

TASKS = {
    "open-webui title": "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n"
    "### Guidelines:\n- The title should clearly represent the main theme.\n### Output:\nJSON format: "
    '{ "title": "your concise title here" }\n### Chat History:\n<chat_history>\nUSER: ¿Cuántos días?\n</chat_history>',
    "open-webui tags": "### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history, along "
    "with 1-3 more specific subtopic tags.\n\n### Chat History:\n<chat_history>\nUSER: x\n</chat_history>",
    "open-webui follow-ups": "### Task:\nSuggest 3-5 relevant follow-up questions or prompts that the user might "
    "naturally ask next in this conversation as a **user**, based on the chat history.",
    "open-webui queries": "### Task:\nAnalyze the chat history to determine the necessity of generating search "
    "queries, in the given language. By default, prioritize generating 1-3 broad and relevant search queries.",
    "open-webui autocomplete": "### Task:\nYou are an autocompletion system. Continue the text in `<text>` based on "
    "the completion type.\n<chat_history>\n</chat_history>",
    "open-webui emoji": "Your task is to reflect the speaker's likely facial expression through a fitting emoji. "
    "Interpret emotions from the message and reflect their facial expression.",
    "librechat": "Provide a concise, 5-word-or-less title for the conversation, using its same language, with no "
    "punctuation. Apply title case conventions appropriate for the language. Never directly mention the language name "
    'or the word "title"\n\nConversation:\nUser: ¿Cuántos días?\nAI: 23',
    "librechat old": "Detect user language and write in the same language an extremely concise title for this "
    "conversation, which you must accurately detect.",
    "nextchat title": "Please generate a four to five word title summarizing our conversation without any lead-in, "
    "punctuation, quotation marks, periods, symbols, bold text, or additional text.",
    "nextchat summary": "Summarize the discussion briefly in 200 words or less to use as a prompt for future context.",
    "n8n": "Generate a concise, descriptive title for this conversation based on the user's message.\n\nRequirements:\n"
    "- 3 to 5 words\n- Only output the title, nothing else",
    "lobechat": "You are a professional conversation summarizer. Generate a concise title that captures the essence of "
    "the conversation.",
    "role": "You are a title generator. Read the first message from the user and create a short title.",
    "chatbox": "Based on the chat history, give this conversation a name.\nKeep it short. Name the conversation with a "
    "title of 10 characters.",
    "max words": "Generate a very short title (max 6 words) for a conversation that starts with this exchange. Return "
    "only the title.\n\nUser: hola\nAssistant: hola",
    "spanish": "Genera un título corto para esta conversación. Responde solo con el título.",
    "spanish follow-ups": "Sugiere tres preguntas de seguimiento según el historial de la conversación.",
}
QUESTIONS = [
    "¿Cuántos días de vacaciones hay?",
    "¿Qué título lleva la sección sobre conversaciones con clientes?",
    "Resume el capítulo de seguridad.",
    "Write a summary of chapter 3",
    "Summarize the vacation policy in 200 words.",
    "¿Cómo genero etiquetas para un mensaje?",
    "How do I generate tags for a chat message?",
    "Escribe el título de la ley que regula las vacaciones",
    "Give me the title of the document",
    "Name the person who approves the request",
    "Dame el resumen de gastos de 2024",
    "Create a ticket when a user sends a message",
    "What does the chat system do with old messages?",
    "Tell me about the title field of the message form.",
    "Please provide the steps to rename a conversation.",
    "Analyze the search query log format",
    "¿Se puede resumir una conversación?",
    "You are a helpful assistant. Answer briefly.",
    "",
    "?",
]


@pytest.mark.parametrize("name", TASKS)
def test_the_prompts_of_chat_clients_are_recognised(name: str) -> None:
    assert is_client_task(TASKS[name])


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_no_task_of_a_client(question: str) -> None:
    assert not is_client_task(question)


def test_an_order_at_either_end_of_a_long_conversation_is_recognised() -> None:
    talk = "USER: ¿Cuántos días?\nAI: Son 23.\n" * 20_000
    assert is_client_task(f"{TASKS['librechat']}\n{talk}")
    assert is_client_task(f"{talk}\n{TASKS['nextchat title']}")
    assert not is_client_task(talk)


def test_no_question_of_the_samples_and_benchmarks_is_taken_for_a_task() -> None:
    files = [*(PROJECT_ROOT / "data" / "samples").rglob("*.jsonl"), *(PROJECT_ROOT / "benchmarks").rglob("*.jsonl")]
    asked = [question for path in files for question in _questions(path)]
    assert len(asked) > 300
    assert [question for question in asked if is_client_task(question)] == []


def _questions(path: Path) -> list[str]:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    found = [row.get("question") or row.get("user_input") for row in rows if isinstance(row, dict)]
    return [question for question in found if isinstance(question, str)]
