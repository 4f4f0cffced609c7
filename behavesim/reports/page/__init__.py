"""The pages of runs and of comparisons: HTML files that need no network. A server can send newer documents."""
