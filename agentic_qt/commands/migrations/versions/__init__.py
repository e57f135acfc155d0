"""One module a revision; a revision that was released is never edited."""
