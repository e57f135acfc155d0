"""The evaluation: what a chat model really gets done in an application, judged by its state and the audit."""
