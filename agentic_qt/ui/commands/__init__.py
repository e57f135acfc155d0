"""What people see of commands: what earlier sessions left, and what happened to one. Needs the extra `commands`."""
