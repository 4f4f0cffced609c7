"""Write the pages of runs and comparisons: HTML files that need no network. A server can send newer documents."""

from behavesim.reports.page.comparison import ComparisonDocument, comparison_document
from behavesim.reports.page.document import Document, document
from behavesim.reports.page.html import comparison_html, html, write_comparison, write_page

__all__ = [
    "ComparisonDocument",
    "Document",
    "comparison_document",
    "comparison_html",
    "document",
    "html",
    "write_comparison",
    "write_page",
]
