"""The page of the service as a widget of Jupyter, without a server."""
