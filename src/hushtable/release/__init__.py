"""What leaves the building: the release file, written and opened."""

from hushtable.release.record import Release, Terms, check_output, open_release, write_release

open = open_release  # `hushtable.open`

__all__ = ["Release", "Terms", "check_output", "open", "open_release", "write_release"]
