"""What turns the text of an answer into a record of the form: its schema, its reading, its evidence."""
