"""Cases that are not met, each with the reason; they are listed in the page of differences."""

EXCEPTIONS: dict[str, str] = {}
