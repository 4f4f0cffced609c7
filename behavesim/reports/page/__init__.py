"""The page of a run: one HTML file that asks no network, and that a live view can give a newer document."""

from behavesim.reports.page.document import Document, document
from behavesim.reports.page.html import html, page, write_page

__all__ = ["Document", "document", "html", "page", "write_page"]
