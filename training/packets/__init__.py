"""The recipe of the model that tells where the documents of a packet begin."""
