"""Find, download, load, check, sample and upload data sets of questions, documents and relevance judgements.

``files``     a folder -> a checked ``Dataset``          ``catalogue``  a reference -> a folder
``model``     the ``Dataset`` itself                     ``sampling``   DEV_MODE and EVAL_MAX_CORPUS
``storage``   S3 or MinIO, its errors in plain words     ``mirror``     the local copy of what is there
``upload``    what people bring, checked               ``trial``      loading it in a process of its own
``placing``   a folder whole or not at all             ``details``    what a data set is about
``download``  one file by HTTP, resumed                  ``hotpotqa``   the public hub's files -> schema v2.0
"""

from chatbot_mvp.datasets.files import load_dataset
from chatbot_mvp.datasets.model import Dataset, Query

__all__ = ["Dataset", "Query", "load_dataset"]
