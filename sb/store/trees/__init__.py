"""Trees of projects: all files of a work folder and its repository's refs, stored before a call and compared after it."""
