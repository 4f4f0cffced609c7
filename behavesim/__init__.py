"""Search for algorithms with language models, and know them by what they do."""
