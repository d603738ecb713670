"""What is stopped, what went wrong, and what is done about it?"""
