"""For developers of applications: measuring and looking inside."""
