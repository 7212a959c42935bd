"""Tools for agents: files into records, and the results folder, by the Model Context Protocol."""
