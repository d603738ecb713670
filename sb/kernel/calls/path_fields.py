"""The arguments in which tools of hosts name a file."""

# Hosts name the same field differently, and take further ones without a word. A name too many is looked at for
# nothing; one too few leads to a file that nobody has judged.
PATH_FIELDS = ("file_path", "filePath", "path", "absolute_path", "target_file", "notebook_path", "dirPath")
