"""Why a row is decided as it is."""
