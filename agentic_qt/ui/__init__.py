"""What people see: the dock, the transcript, the cards and the approval. Decides nothing by itself."""
