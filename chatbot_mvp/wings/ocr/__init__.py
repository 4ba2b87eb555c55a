"""A wing: read the text of scanned pages (OCR) beside the pages of the same file that have text."""
