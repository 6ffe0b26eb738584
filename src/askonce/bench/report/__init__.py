"""From a store to a report: tables, figures, HTML and Markdown."""
