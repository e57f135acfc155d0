"""What a form consists of: frozen values that the walker makes and that synthesis, filling and review read."""




