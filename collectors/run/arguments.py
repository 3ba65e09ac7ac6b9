"""Options of the collector `record`."""

import argparse

SOURCES = ("bcc", "tracefs", "diag")
"""Kernel state, best first."""


def parse(arguments):
    parser = argparse.ArgumentParser(prog="record", description="Record one run on this host.")
    parser.add_argument("-i", "--interface", action="append", required=True)
    parser.add_argument("-o", "--output", required=True, metavar="STEM")
    parser.add_argument("--kernel", choices=("auto", "none", *SOURCES), default="auto")
    parser.add_argument("--all-namespaces", action="store_true", help="kernel state of all sockets")
    parser.add_argument("--filter", default="", help="pcap filter")
    parser.add_argument("--snaplen", type=int, default=128)
    parser.add_argument("--ring", type=int, metavar="MB", help="keep only the last MB of packets")
    parser.add_argument("--count", type=int, metavar="N", help="stop after N packets")
    parser.add_argument("--backend", default="auto", help="dumpcap, tcpdump, ring or none")
    parser.add_argument("--buffer", type=int, metavar="MB", help="for the packets of an interface")
    parser.add_argument("--kernel-buffer", type=int, metavar="MB", help="for the state of a CPU")
    parser.add_argument("--offloads", choices=("keep", "off"), default="keep")
    parser.add_argument("--duration", type=float)
    parser.add_argument("--interval", type=float, default=10.0, help="ms between polls of diag")
    parser.add_argument("--start-within", type=float, metavar="S", help="for each source")
    parser.add_argument("--plain", action="store_true", help="do not pack the kernel log")
    parser.add_argument("--control", action="store_true", help="obey stdin: clock, start, stop")
    parser.add_argument("--status-fd", type=int, default=2)
    parser.add_argument("--with-parent", action="store_true")
    parser.add_argument("command", nargs="*", help="record while this runs")
    return parser.parse_args(arguments)
