"""The one path for every call: admit, record, call, settle."""
