"""The operator console's screens, one file a screen. They show and ask; rules live below."""
