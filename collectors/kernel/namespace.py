"""Which sockets are of this network namespace: a tracepoint fires for those of all of them."""

import ipaddress
import socket
import struct

from netlink import Sockets, family_of, lookup, request

NO_PORT = 0
"""No socket has it: asking for it shows whether there is an answer at all."""


class Namespace:
    """Answers by inet_diag, which sees its own namespace only, once for each socket.

    It does not find a socket that has closed since, nor one bound to a device: such a one counts
    as ours where its address is ours, and is none that every namespace has.
    """

    def __init__(self):
        """Raises OSError if this kernel has no inet_diag."""
        self.sockets = Sockets()
        self.addresses = {}
        for _ in self.sockets.dump(request(socket.AF_INET, (), [NO_PORT])):
            pass

    def has(self, saddr, daddr, sport, dport, cookie=None):
        found = self.sockets.find(lookup(saddr, daddr, sport, dport, cookie))
        if found and struct.unpack("!H", found[5])[0] == dport:
            return True
        if saddr not in self.addresses:
            self.addresses[saddr] = is_ours_alone(saddr)
        return self.addresses[saddr]


def is_ours_alone(address):
    """Return whether this namespace has an address that is not the loopback of each."""
    if ipaddress.ip_address(address).is_loopback:
        return False
    # What is bound to needs a device where it is local to a link.
    scopes = [0, *(index for index, _ in socket.if_nameindex())]
    return any(can_bind(address, scope) for scope in scopes)


def can_bind(address, scope):
    family = family_of(address)
    place = (address, 0, 0, scope) if family == socket.AF_INET6 else (address, 0)
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(place)
        except OSError:
            return False
    return True
