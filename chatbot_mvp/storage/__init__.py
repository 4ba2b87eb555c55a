"""Store data on disk and in memory; used by all other packages.

``files``         files and folders written in one step    ``sqlite_cache``  a cache in one SQLite file
``json_object``   one small JSON object, changed in place   ``file_cache``    parsed files, until the file changes
``jsonl``         JSON Lines: append, read past damage      ``lru``           a bounded cache in memory
``clock``         the current time, as it is written to files
"""
