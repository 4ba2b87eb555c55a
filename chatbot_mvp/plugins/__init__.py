"""What wings and installed packages add to the program.

Both add by entry points, one for each thing, under a group that names its kind. An installed package has them in its
``pyproject.toml``:

    [project.entry-points."chatbot_mvp.v1.metric"]
    first_half = "my_package:FIRST_HALF"

A *wing* is a feature of this project in a folder of its own, ``chatbot_mvp/wings/NAME`` and, if people see it,
``streamlit_app/wings/NAME``; a file ``entry_points.txt`` in the folder has the same lines in the form of an INI file.
Nothing else in the program names a wing.

An entry point is loaded when its kind is first read. One that cannot be loaded is left out and becomes a ``Problem``.
"""
