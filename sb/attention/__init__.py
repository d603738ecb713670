"""What needs a person: listing it, watching for it, and handing it to notifications."""
