"""A plan as registries and archives ask for it: pure functions of the study and its lock."""
