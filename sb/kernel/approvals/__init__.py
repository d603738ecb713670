"""Approval requests: open, show, decide, expire, use once."""
