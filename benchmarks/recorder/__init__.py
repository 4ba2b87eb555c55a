"""What the product gives, as facts by name: recorded, and compared after a change. See docs/develop/recorder.md."""
