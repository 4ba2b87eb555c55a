"""The scripts behind the figures: ``python -m benchmarks`` lists them."""
