"""Guards of a judged call: credentials, attacks, other sessions, advice and memory."""
