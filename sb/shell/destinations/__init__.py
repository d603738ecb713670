"""What lands where: copies, downloads, archives, patches, and changes of guarded places."""
