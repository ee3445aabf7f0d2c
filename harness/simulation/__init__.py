"""Studies rehearsed from a declared truth: a ledger in the real format, made without training."""
