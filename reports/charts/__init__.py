"""Charts as SVG text, the same bytes every time. matplotlib is loaded when the first is drawn."""
