"""Show what the analysis found: as tables, files, figures and pages."""
