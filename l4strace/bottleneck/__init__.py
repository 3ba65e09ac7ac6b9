"""What limits each flow: evidence, the signs that it shows, the kinds that they make."""
