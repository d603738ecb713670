"""The indexes of records: full text and vectors."""
