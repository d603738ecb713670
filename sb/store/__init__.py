"""One database: driver, connections, migrations, backups, kept contents."""
