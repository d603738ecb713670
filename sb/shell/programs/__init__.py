"""What is known of programs: their rules, records, options and arguments."""
