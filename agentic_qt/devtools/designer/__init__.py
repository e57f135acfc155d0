"""The plugin of Qt Designer: the widgets in its box, and "Expose to the assistant..." in its menus."""
