"""How a page's process tells the checker a fact about a cell; both sides import this."""

NOTE = "application/vnd.autograd-ground-rules.note+json"
"""Media type of a display that no reader sees: a warning or a violation."""
