"""A form is filled: its layout and state, the step that commits values, the record written and repaired."""
