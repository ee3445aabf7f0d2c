"""The parts of a report: each file turns evidence into one section."""
