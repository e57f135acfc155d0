"""How each kind of input widget is described, read and written: one small adapter a kind."""
