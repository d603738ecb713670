"""Incidents and the kill switch."""
