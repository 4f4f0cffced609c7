"""Write the page of a run: one HTML file that needs no network. A server can send it newer documents."""

from behavesim.reports.page.document import Document, document
from behavesim.reports.page.html import html, page, write_page

__all__ = ["Document", "document", "html", "page", "write_page"]
