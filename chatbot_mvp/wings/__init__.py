"""Features in folders of their own: what each adds is in its ``entry_points.txt`` (see ``chatbot_mvp.plugins``)."""
