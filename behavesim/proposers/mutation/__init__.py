"""Changes the text of programs in place, without a model: for tasks that have no grammar."""
