"""A form for the lint of classes."""

from PySide6.QtWidgets import QLineEdit, QPushButton, QVBoxLayout, QWidget


class Sample(QWidget):
    def __init__(self):
        super().__init__()
        self.setProperty("toolName", "sample.send")
        self.setProperty("toolDescription", "Send a sample.")
        layout = QVBoxLayout(self)
        edit = QLineEdit()
        edit.setObjectName("word")
        layout.addWidget(edit)
        layout.addWidget(QPushButton("Send"))
