"""What every part needs to keep data on disk and in memory.

``files``         files and folders written in one step    ``sqlite_cache``  a cache in one SQLite file
``json_object``   one small JSON object, changed in place   ``file_cache``    parsed files, until the file changes
``jsonl``         JSON Lines: append, read past damage      ``lru``           a bounded cache in memory
``clock``         the present moment, as files write it
"""
