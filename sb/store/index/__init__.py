"""How is a record found again? By its words, and by its meaning."""
