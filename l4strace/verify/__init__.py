"""The cross-check of decoded packets with Wireshark's dissector."""
