"""A wing: share knowledge bases and finished runs between servers through a bucket on S3."""
