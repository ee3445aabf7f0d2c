"""Receipts of a lock: what others, or a key, say about the SHA-256 that stands for it. One file each."""
