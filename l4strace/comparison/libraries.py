"""scipy and statsmodels, which only `compare` needs: an extra of the package."""

from __future__ import annotations

from l4strace.errors import UsageError


def check() -> None:
    """Raises UsageError with the remedy where one of them cannot be imported.

    Call it before `statistics` is imported, which takes them for granted.
    """
    try:
        import scipy.stats  # noqa: F401
        import statsmodels.stats.power  # noqa: F401
    except ImportError as error:
        missing = (error.name or "scipy").partition(".")[0]
        raise UsageError(
            f"compare needs {missing}, which is not installed",
            "Install it with: pip install 'l4strace[compare]'",
        ) from error
