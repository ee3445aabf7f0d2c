"""From a ledger to verdicts, tables, charts and pages. Imports only the plan's types.

`reports.build.build_report` turns inputs into a report's content, and `reports.build.write_report` the
content into HTML, PDF, CSV and JSON. Importing this package loads neither matplotlib nor typst.
"""
