"""Views of what the analysis found: tables, files, figures."""
