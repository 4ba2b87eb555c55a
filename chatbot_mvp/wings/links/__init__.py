"""A wing: links that show one answer of the chat to other people of the server, to read, until they end."""
