"""Programs: their rules, records, options and arguments."""
