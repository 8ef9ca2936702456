"""A release for people who open it in a browser: a page, a report, a card."""
