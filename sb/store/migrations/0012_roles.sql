-- What a speaker is in a conversation: 'user', 'assistant', or '' while housekeeping has not told them apart.
ALTER TABLE speakers ADD COLUMN role TEXT NOT NULL DEFAULT '';
