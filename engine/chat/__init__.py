"""Models that answer requests of a chat: the requests and their events, and the models behind them."""
