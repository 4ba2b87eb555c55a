"""Find, download, load, check, sample and upload data sets of questions, documents and relevance judgements.

``loading``   a folder -> a checked ``Dataset``          ``catalogue``  a reference -> a folder
``model``     the ``Dataset`` itself                     ``sampling``   DEV_MODE and EVAL_MAX_CORPUS
``row_files`` the rows of each format of file            ``mirror``     the local copy of what is on S3
``upload``    what people bring, checked apart           ``details``    what a data set is about
``download``  one file by HTTP, resumed                  ``hotpotqa``   the public hub's files -> schema v2.0
"""

from chatbot_mvp.datasets.loading import load_dataset
from chatbot_mvp.datasets.model import Dataset, Query

__all__ = ["Dataset", "Query", "load_dataset"]
